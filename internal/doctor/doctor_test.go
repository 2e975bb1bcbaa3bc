package doctor

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"standin/internal/service"
)

// TestExamine looks at this machine, before and after a service has run with
// the same settings, and changes nothing.
func TestExamine(t *testing.T) {
	t.Parallel()
	needTools(t)
	above := t.TempDir()
	settings := Settings{DataDir: filepath.Join(above, "data"), Listen: "127.0.0.1:8080"}
	untouched(t, above)
	examineInOrder(t, settings)

	served := t.TempDir()
	settings.DataDir = filepath.Join(served, "data")
	running, err := service.Start(limited(t), service.Settings{
		Listen: "127.0.0.1:0", DataDir: settings.DataDir, Executable: "/nowhere/standin",
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	// While it runs, the database has a write-ahead log.
	examineInOrder(t, settings)
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	// The folder of recordings is where the service made it, so it is probed.
	if _, err := os.Stat(filepath.Join(settings.DataDir, recordingsFolder)); err != nil {
		t.Error(err)
	}
	untouched(t, served)
	examineInOrder(t, settings)
}

// examineInOrder examines and wants nothing to fail.
func examineInOrder(t *testing.T, settings Settings) {
	t.Helper()
	report := Run(limited(t), settings)
	if report.Failed() {
		t.Errorf("something failed: %+v", report.Checks)
	}
	names := make(map[string]bool)
	for _, check := range report.Checks {
		names[check.Name] = true
	}
	for _, name := range []string{"browser", "ffmpeg", "data folder", "disk", "memory", "database", "storage", "launcher", "clock", "base URL", "profiles"} {
		if !names[name] {
			t.Errorf("there is no check of the %s", name)
		}
	}
	if len(names) != len(report.Checks) {
		t.Errorf("of %d checks, %d have a name of their own", len(report.Checks), len(names))
	}
}
