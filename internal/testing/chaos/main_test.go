package chaos

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"standin/internal/jobs/dispatch"
	"standin/internal/recording/storage/s3"
	"standin/internal/server/service"
	"standin/internal/testing/s3test"
	"standin/internal/testing/storetest"
)

// cluster is the PostgreSQL server of these tests; nil if it is not installed.
var cluster *storetest.Cluster

// TestMain runs the test binary as standin serve if envNode is set, so that a node is
// a process that can be killed, and as a bot if a node launches it.
func TestMain(m *testing.M) {
	if text := os.Getenv(envNode); text != "" {
		os.Exit(serve(text))
	}
	if len(os.Args) > 3 && os.Args[1] == "bot" {
		if err := runBot(os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	for name, value := range s3test.Environment() {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(storetest.PrivateMain(m, func(c *storetest.Cluster) { cluster = c }))
}

// envNode is the environment variable with a node's settings as JSON.
const envNode = "STANDIN_CHAOS_NODE"

// nodeSettings are the settings of a node.
type nodeSettings struct {
	Name, Listen, BaseURL, DataDir, DatabaseURL, StorageURL string

	Heartbeat       time.Duration // timeout; 0 for that of timeouts
	DefaultTimeouts bool          // use the default timeouts and lease
}

// lease is the nodes' lease, short so that many leases expire.
const lease = 2 * time.Second

// signingKey signs the nodes' ingest tokens.
const signingKey = "a key for chaos"

// timeouts returns short timeouts. All faults of a run can affect the same job, so
// attempts are not limited: with one node, 500 faults cost some jobs more than a
// hundred attempts.
func timeouts() dispatch.Timeouts {
	t := dispatch.DefaultTimeouts()
	t.Launch, t.FirstHeartbeat, t.Heartbeat, t.Joining = time.Minute, 4*time.Second, 4*time.Second, time.Minute
	t.MaxAttempts = 10_000
	t.Leaving = 20 * time.Second // a node that was down while a bot exited looks at its ended job only then
	return t
}

// prelaunch is how long before joinAt the nodes launch live bots.
const prelaunch = 2 * time.Second

// serve runs a node, as standin serve does.
func serve(text string) int {
	var node nodeSettings
	if err := json.Unmarshal([]byte(text), &node); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	settings := service.Settings{
		Listen: node.Listen, BaseURL: node.BaseURL, DataSettings: service.DataSettings{
			DataDir: node.DataDir, DatabaseURL: node.DatabaseURL,
		}, StorageSettings: service.StorageSettings{StorageURL: node.StorageURL}, OpenS3: s3.Open,
		KeySettings: service.KeySettings{IngestSigningKey: signingKey}, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Executable: os.Args[0], Dispatch: dispatch.Options{Prelaunch: dispatch.Prelaunch(prelaunch)}, MaxBots: 100,
	}
	settings.Bots.Browser, settings.Bots.NoSandbox = os.Args[0], true // the bots of these tests open none
	if !node.DefaultTimeouts {
		settings.Dispatch.Lease, settings.WebhookTimeout, settings.Timeouts = lease, 2*time.Second, timeouts()
		settings.Timeouts.Heartbeat = cmp.Or(node.Heartbeat, settings.Timeouts.Heartbeat)
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
