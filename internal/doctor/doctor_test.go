package doctor

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"standin/internal/service"
)

// TestRun checks this machine, before, while and after a service runs with the
// same settings. The checks change nothing.
func TestRun(t *testing.T) {
	t.Parallel()
	needTools(t)
	above := t.TempDir()
	settings := Settings{DataDir: filepath.Join(above, "data"), Listen: "127.0.0.1:8080", DatabaseURL: filepath.Join(above, "data", "standin.db")}
	untouched(t, above)
	wantNoFailure(t, settings)

	served := t.TempDir()
	settings.DataDir, settings.DatabaseURL = filepath.Join(served, "data"), filepath.Join(served, "data", "standin.db")
	running, err := service.Start(limited(t), service.Settings{
		Listen: "127.0.0.1:0", DataSettings: service.DataSettings{DataDir: settings.DataDir}, Executable: "/nowhere/standin",
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	// While it runs, the database has a write-ahead log.
	wantNoFailure(t, settings)
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	// The service created the recordings folder that the check uses.
	if _, err := os.Stat(filepath.Join(settings.DataDir, recordingsFolder)); err != nil {
		t.Error(err)
	}
	untouched(t, served)
	wantNoFailure(t, settings)
}

// wantNoFailure runs all checks and fails the test when one of them fails.
func wantNoFailure(t *testing.T, settings Settings) {
	t.Helper()
	report := Run(limited(t), settings)
	if report.Failed() {
		t.Errorf("a check failed: %+v", report.Checks)
	}
	names := make(map[string]bool)
	for _, check := range report.Checks {
		names[check.Name] = true
	}
	for _, name := range []string{"browser", "ffmpeg", "data folder", "disk", "memory", "database", "storage", "launcher", "clock", "base URL", "profiles", "mail", "transcriber"} {
		if !names[name] {
			t.Errorf("there is no check of the %s", name)
		}
	}
	if len(names) != len(report.Checks) {
		t.Errorf("%d checks have %d different names", len(report.Checks), len(names))
	}
}
