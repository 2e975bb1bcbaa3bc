package backup_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/backup"
	"standin/internal/job"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// TestMillion backs up and restores STANDIN_TEST_JOBS jobs and reports times and
// sizes.
func TestMillion(t *testing.T) {
	jobs, err := strconv.Atoi(os.Getenv("STANDIN_TEST_JOBS"))
	if err != nil {
		t.Skip("STANDIN_TEST_JOBS is not set")
	}
	for name, address := range map[string]func() (from, to string){
		"SQLite":     func() (string, string) { return "", "" },
		"PostgreSQL": func() (string, string) { return cluster.Fresh(t), cluster.Empty(t) },
	} {
		t.Run(name, func(t *testing.T) {
			database, restored := address()
			dir, target, folder := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "backup")
			if database == "" {
				if err := os.Rename(storetest.FreshSQLite(t), filepath.Join(dir, "standin.db")); err != nil {
					t.Fatal(err)
				}
			}
			fill(t, settingsOf(dir, database, folder, backup.CheckRecordings).Database, jobs)
			made, err := backup.Create(t.Context(), settingsOf(dir, database, folder, backup.CheckRecordings))
			if err != nil {
				t.Fatal(err)
			}
			result, err := backup.Restore(t.Context(), settingsOf(target, restored, folder, backup.CheckRecordings))
			if err != nil {
				t.Fatal(err)
			}
			if made.Rows("jobs") != int64(jobs) {
				t.Errorf("the backup has %d jobs, want %d", made.Rows("jobs"), jobs)
			}
			start := time.Now()
			n := startExisting(t, target, restored)
			started := time.Since(start)
			n.stop()
			t.Logf("%d jobs: backup %.1f s, %.0f MiB; restore %.1f s; start of the service %.1f s", jobs,
				float64(made.DurationMilli)/1000, float64(made.Bytes())/(1<<20), result.Duration.Seconds(), started.Seconds())
		})
	}
}

// startExisting starts a service with a database that has a consumer.
func startExisting(t *testing.T, dir, database string) *node {
	t.Helper()
	return start(t, dir, database, "unused")
}

// fill inserts scheduled jobs, each with a timeline entry.
func fill(t *testing.T, database string, jobs int) {
	t.Helper()
	s, err := store.Open(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Now()
	consumer, err := s.EnsureConsumer(t.Context(), account.Consumer{
		ID: uuid.New(), Name: "ada", WebhookSecret: "whsec_c2VjcmV0", WebhookVersion: 2, CreatedAt: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	const batch = 1000
	for first := 0; first < jobs; first += batch {
		err := s.Write(t.Context(), func(q *store.Queries) error {
			for i := first; i < min(first+batch, jobs); i++ {
				if err := insert(t, q, consumer.ID, i, now); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func insert(t *testing.T, q *store.Queries, consumer uuid.UUID, i int, now time.Time) error {
	id := uuid.Must(uuid.NewV7())
	joinAt := now.Add(24*time.Hour + time.Duration(i)*time.Second)
	_, err := q.InsertJob(t.Context(), job.Record{
		Job: job.Job{
			ID: id, ConsumerID: consumer, Mode: job.Live, ExternalID: fmt.Sprintf("meeting-%d", i),
			MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet, DisplayName: job.DefaultDisplayName,
			JoinAt: joinAt, CreatedAt: now, Metadata: json.RawMessage(`{"team":"research","room":"42"}`), AutoLeave: job.DefaultAutoLeave(), State: job.New(),
		},
		StatusSince: now, WakeAt: joinAt,
	})
	if err != nil {
		return err
	}
	return q.InsertEntry(t.Context(), job.TimelineEntry{
		ID: uuid.Must(uuid.NewV7()), JobID: id, Source: job.SourceService, Kind: "updated", EmittedAt: now, ReceivedAt: now,
		Applied: true, From: job.Scheduled, To: job.Scheduled,
	})
}
