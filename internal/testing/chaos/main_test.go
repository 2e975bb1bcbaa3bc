package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"standin/internal/dispatch"
	"standin/internal/service"
	"standin/internal/testing/storetest"
)

// cluster is the PostgreSQL of these tests; nil when it is not installed.
var cluster *storetest.Cluster

// TestMain lets the test binary stand in for standin serve: a node is a process
// that can be killed.
func TestMain(m *testing.M) {
	if text := os.Getenv(envNode); text != "" {
		os.Exit(serve(text))
	}
	os.Exit(storetest.Main(m, func(c *storetest.Cluster) { cluster = c }))
}

// envNode holds a node's settings, as JSON.
const envNode = "STANDIN_CHAOS_NODE"

// nodeSettings are what a node is told.
type nodeSettings struct {
	Name, Listen, BaseURL, DataDir, DatabaseURL, StorageURL string

	Patient bool // it has the usual timeouts and lease
}

// lease is what these nodes have: short, so that much can happen.
const lease = 2 * time.Second

// signingKey is of the nodes' ingest tokens.
const signingKey = "a key for chaos"

// timeouts are quick ones. All faults of a run may hit the same job, and none may
// run out of attempts for that: with one node, 500 faults cost some jobs more
// than a hundred.
func timeouts() dispatch.Timeouts {
	t := dispatch.DefaultTimeouts()
	t.Launch, t.FirstHeartbeat, t.Heartbeat, t.Joining = time.Minute, 4*time.Second, 4*time.Second, time.Minute
	t.MaxAttempts = 10_000
	return t
}

// noBots is no program: only simulated bots are sent here.
const noBots = "/no/such/program"

// serve is the program of a node: what standin serve does.
func serve(text string) int {
	var told nodeSettings
	if err := json.Unmarshal([]byte(text), &told); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	settings := service.Settings{
		Listen: told.Listen, BaseURL: told.BaseURL, DataDir: told.DataDir, DatabaseURL: told.DatabaseURL, StorageURL: told.StorageURL,
		NodeName: told.Name, IngestSigningKey: signingKey, Executable: noBots, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if !told.Patient {
		settings.Lease, settings.WebhookTimeout, settings.Timeouts = lease, 2*time.Second, timeouts()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := service.Start(ctx, settings)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	select {
	case <-ctx.Done():
		err = s.Close()
	case err = <-s.Failed():
		_ = s.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
