package service_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"standin/client"
	"standin/internal/jobs/job"
	"standin/internal/server/service"
	"standin/internal/testing/await"
)

// balancer routes requests to nodes in turn.
type balancer struct {
	mu    sync.Mutex
	nodes []*balanced
}

// balanced is a node behind a balancer.
type balanced struct {
	*service.Service
	client   *client.Client
	requests sync.WaitGroup
}

// send sends a request to the next node.
func (b *balancer) send(request func(*client.Client) error) error {
	b.mu.Lock()
	to := b.nodes[0]
	b.nodes = append(b.nodes[1:], to)
	to.requests.Add(1)
	b.mu.Unlock()
	defer to.requests.Done()
	return request(to.client)
}

// replace routes requests to another node instead of one, which may be nil, and waits for the
// requests that it has.
func (b *balancer) replace(leaving, joining *balanced) {
	b.mu.Lock()
	b.nodes = append(slices.DeleteFunc(b.nodes, func(s *balanced) bool { return s == leaving }), joining)
	b.mu.Unlock()
	if leaving != nil {
		leaving.requests.Wait()
	}
}

// runJob creates a job and returns when it has ended.
func (b *balancer) runJob(ctx context.Context, externalID string) error {
	var current client.Job
	err := b.send(func(to *client.Client) (err error) {
		current, _, err = to.CreateJob(ctx, client.NewJob{
			ExternalID: externalID, MeetingURL: "https://meet.google.com/abc-defg-hij",
			Options: client.Options{Simulate: &client.Simulation{Speed: 100}},
		})
		return err
	})
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for err == nil && !job.Status(current.Status).Terminal() {
		<-ticker.C
		err = b.send(func(to *client.Client) (err error) {
			current, err = to.Job(ctx, current.ID)
			return err
		})
	}
	return err
}

// TestRollingUpgrade replaces two nodes one after the other while consumers create jobs, after the
// first new one has migrated the schema to that of the next release. No request fails, and every
// job ends: simulated bots end with their node, and other nodes take their jobs over.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts four services under load")
	}
	address, storage := cluster.Fresh(t), "file://"+t.TempDir()
	routes := new(balancer)
	var secret string
	add := func(leaving *balanced) *balanced {
		settings := contractSettings(t)
		settings.DatabaseURL, settings.StorageURL = address, storage
		started, err := service.Start(t.Context(), settings)
		if err != nil {
			t.Fatal(err)
		}
		if secret == "" {
			if _, secret, err = started.Keys.Issue(t.Context(), "ada", "", job.Test); err != nil {
				t.Fatal(err)
			}
		}
		to, err := client.New(started.BaseURL(), secret)
		if err != nil {
			t.Fatal(err)
		}
		node := &balanced{Service: started, client: to.WithRetries(0)}
		routes.replace(leaving, node)
		return node
	}
	old := []*balanced{add(nil), add(nil)}

	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	var ended atomic.Int64
	for consumer := range 4 {
		load.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if err := routes.runJob(t.Context(), fmt.Sprintf("%d-%d", consumer, i)); err != nil {
					t.Error(err)
					return
				}
				ended.Add(1)
			}
		})
	}
	more := func() {
		t.Helper()
		before := ended.Load()
		await.Until(t, "jobs to end", func() bool { return ended.Load() >= before+8 })
	}
	more()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		`INSERT INTO goose_db_version (version_id, is_applied) VALUES (201, true)`,
		`ALTER TABLE jobs ADD COLUMN of_next_release TEXT NOT NULL DEFAULT ''`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	var nodes []*balanced
	for _, leaving := range old {
		more()
		nodes = append(nodes, add(leaving))
		if err := leaving.Close(); err != nil {
			t.Errorf("close the old node: %v", err)
		}
	}
	more()
	stop()
	load.Wait()
	for _, node := range nodes {
		if err := node.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}
