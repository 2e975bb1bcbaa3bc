package service

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"standin/internal/testing/await"
	"standin/internal/testing/storetest"
)

// settings returns the settings of a service that launches no bots, on a free port.
func settings(dir string) Settings {
	return Settings{
		Listen: "127.0.0.1:0", DataSettings: DataSettings{DataDir: dir}, LauncherSettings: LauncherSettings{Launcher: "manual"},
		KeySettings: KeySettings{IngestSigningKey: "key"}, Log: slog.New(slog.DiscardHandler),
	}
}

// start starts a service. The test must close it.
func start(t *testing.T, settings Settings) *Service {
	t.Helper()
	s, err := Start(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeService(t *testing.T, s *Service) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	select {
	case err := <-s.Failed():
		t.Errorf("a component failed: %v", err)
	default:
	}
}

// TestNotReady checks that a service that cannot launch bots says so: in /readyz, in its summary
// and in its capacity.
func TestNotReady(t *testing.T) {
	t.Parallel()
	with := settings(storetest.FreshDataDir(t))
	with.Launcher, with.Executable, with.Bots.Browser = "process", os.Args[0], "/nowhere/chromium"
	s := start(t, with)
	defer closeService(t, s)
	for path, want := range map[string]int{"/readyz": 503, "/readyz?exclude=launcher": 200, "/healthz": 200} {
		answer, err := http.Get(s.BaseURL() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != want || strings.Contains(string(body), "nowhere") {
			t.Errorf("%s: %d %s (%v), want %d without the reason", path, answer.StatusCode, body, err, want)
		}
	}
	awaitNode(t, s)
	if facts := fmt.Sprint(s.Summary(t.Context())); !strings.Contains(facts, "none can be launched") {
		t.Errorf("the summary is %s", facts)
	}
	await.Until(t, "the reason beside capacity 0", func() bool {
		view, err := s.Capacity(t.Context())
		return err == nil && view.Capacity == 0 && len(view.Problems) == 1 && len(view.Hosts) == 1 &&
			strings.Contains(view.Hosts[0].FullReason, "no bot can be launched: ")
	})
}

// TestReadOnlyDatabase checks that a service whose database can be read and not written is not ready.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	with := settings(storetest.FreshDataDir(t))
	with.Dispatch.Lease = time.Second // which the heartbeats follow
	db, err := sql.Open("sqlite", "file:"+filepath.Join(with.DataDir, "standin.db")+"?_pragma=busy_timeout(15000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	execute := func(statement string) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	execute(`CREATE TABLE full (x)`) // before the service reads the schema
	execute(`CREATE TRIGGER fails BEFORE INSERT ON nodes WHEN EXISTS (SELECT * FROM full) BEGIN SELECT RAISE(ABORT, 'full'); END`)
	s := start(t, with)
	defer closeService(t, s)
	ready := func() bool {
		s.health.update(t.Context())
		answer, err := http.Get(s.BaseURL() + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}
	if !ready() {
		t.Error("not ready at the start")
	}
	for _, step := range []struct {
		statement string
		ready     bool
	}{{`INSERT INTO full VALUES (1)`, false}, {`DELETE FROM full`, true}} {
		execute(step.statement)
		await.Until(t, fmt.Sprintf("ready is %t", step.ready), func() bool { return ready() == step.ready })
	}
}

// TestAddresses checks that addresses that are not set are derived from the listening
// address.
func TestAddresses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change   func(*Settings)
		base     string // %s is the port
		bots     string
		loopback bool // webhooks may go to this machine
	}{
		"loopback":           {func(*Settings) {}, "http://127.0.0.1:%s", "http://127.0.0.1:%s", true},
		"all IPv4 addresses": {func(s *Settings) { s.Listen = "0.0.0.0:0" }, "http://127.0.0.1:%s", "http://127.0.0.1:%s", false},
		"all addresses":      {func(s *Settings) { s.Listen = ":0" }, "http://127.0.0.1:%s", "http://127.0.0.1:%s", false},
		"base URL set": {func(s *Settings) {
			s.BaseURL = "https://standin.test/"
		}, "https://standin.test", "http://127.0.0.1:%s", false},
		"behind a TLS proxy": {func(s *Settings) { s.BaseURL = "https://203.0.113.5" }, "https://203.0.113.5", "http://127.0.0.1:%s", false},
		"base URL on localhost": {func(s *Settings) {
			s.BaseURL = "http://localhost:8443"
		}, "http://localhost:8443", "http://127.0.0.1:%s", true},
		"URL for bots set":     {func(s *Settings) { s.BotServiceURL = "http://inside:80" }, "http://127.0.0.1:%s", "http://inside:80", true},
		"webhook networks set": {func(s *Settings) { s.WebhookAllowCIDRs = "10.0.0.0/8" }, "http://127.0.0.1:%s", "http://127.0.0.1:%s", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with := settings(storetest.FreshDataDir(t))
			test.change(&with)
			s := start(t, with)
			defer closeService(t, s)
			port := s.Addr()[strings.LastIndex(s.Addr(), ":")+1:]
			if want := strings.ReplaceAll(test.base, "%s", port); s.BaseURL() != want {
				t.Errorf("base URL %s, want %s", s.BaseURL(), want)
			}
			if want := strings.ReplaceAll(test.bots, "%s", port); s.BotServiceURL != want {
				t.Errorf("URL for bots %s, want %s", s.BotServiceURL, want)
			}
			allow, err := s.webhookAllow()
			if err != nil {
				t.Fatal(err)
			}
			loopback := false
			for _, prefix := range allow {
				loopback = loopback || prefix.Contains(netip.MustParseAddr("127.0.0.1"))
			}
			if loopback != test.loopback {
				t.Errorf("networks allowed for webhooks: %v", allow)
			}
		})
	}
}

// TestSigningKey checks that the key is created once, readable only by its owner, and
// used again.
func TestSigningKey(t *testing.T) {
	t.Parallel()
	with := settings(storetest.FreshDataDir(t))
	with.IngestSigningKey = ""
	first := start(t, with)
	closeService(t, first)
	second := start(t, with)
	closeService(t, second)
	if len(first.key) < 32 || !bytes.Equal(first.key, second.key) {
		t.Errorf("keys of %d and %d bytes, equal %v", len(first.key), len(second.key), bytes.Equal(first.key, second.key))
	}
	info, err := os.Stat(filepath.Join(with.DataDir, "ingest.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the key file: %v (%v)", info.Mode(), err)
	}
	other := settings(storetest.FreshDataDir(t))
	other.IngestSigningKey = ""
	third := start(t, other)
	closeService(t, third)
	if bytes.Equal(first.key, third.key) {
		t.Error("two services have the same key")
	}
}

// TestStartErrors checks that invalid settings fail at start with a helpful error and
// that nothing stays open.
func TestStartErrors(t *testing.T) {
	t.Parallel()
	used := settings(storetest.FreshDataDir(t))
	running := start(t, used)
	t.Cleanup(func() { closeService(t, running) })
	tests := map[string]struct {
		change func(*Settings)
		want   string
	}{
		"data folder in use": {
			func(s *Settings) { s.DataDir = used.DataDir }, "another standin serve uses the data folder " + used.DataDir,
		},
		"port in use":    {func(s *Settings) { s.Listen = running.Addr() }, "listen on " + running.Addr()},
		"no address":     {func(s *Settings) { s.Listen = "" }, "STANDIN_LISTEN must name an address and a port"},
		"no data folder": {func(s *Settings) { s.DataDir = "" }, "STANDIN_DATA_DIR must name a directory"},
		"PostgreSQL without a key": {func(s *Settings) {
			s.DatabaseURL, s.IngestSigningKey = "postgres://127.0.0.1:1/standin", ""
		}, "STANDIN_INGEST_SIGNING_KEY must be set"},
		"unknown launcher": {func(s *Settings) { s.Launcher = "carrier pigeon" }, `unknown launcher "carrier pigeon"`},
		"invalid network":  {func(s *Settings) { s.WebhookAllowCIDRs = "everywhere" }, "everywhere"},
		"unknown storage":  {func(s *Settings) { s.StorageURL = "tape://7" }, "open the storage"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with := settings(storetest.FreshDataDir(t))
			dir := with.DataDir
			test.change(&with)
			if s, err := Start(t.Context(), with); err == nil {
				closeService(t, s)
				t.Fatal("the service started")
			} else if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
			closeService(t, start(t, settings(dir))) // the folder is not locked
		})
	}
}
