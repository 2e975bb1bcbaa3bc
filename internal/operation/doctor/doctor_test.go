package doctor

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"standin/internal/server/service"
)

// TestRun runs all checks while a service runs with the same settings, and those of its data
// before and after that too. The checks change nothing.
func TestRun(t *testing.T) {
	t.Parallel()
	needTools(t)
	above := t.TempDir()
	settings := Settings{DataSettings: service.DataSettings{DataDir: filepath.Join(above, "data")}, Listen: "127.0.0.1:8080"}
	before := tree(t, above)
	wantDataOK(t, settings)
	if after := tree(t, above); !slices.Equal(before, after) {
		t.Errorf("the checks made %q", after)
	}

	running, err := service.Start(limited(t), service.Settings{
		Listen: "127.0.0.1:0", DataSettings: settings.DataSettings, Executable: "/nowhere/standin",
		Log: slog.New(slog.DiscardHandler),
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
	if _, err := os.Stat(filepath.Join(settings.DataDir, "recordings")); err != nil {
		t.Error(err)
	}
	untouched(t, above)
	wantDataOK(t, settings)
}

// wantDataOK checks the data folder, the database and the storage.
func wantDataOK(t *testing.T, settings Settings) {
	t.Helper()
	database, _ := checkDatabase(limited(t), settings)
	storage, _ := checkStorage(limited(t), settings)
	for _, check := range []Check{checkDataDir(settings), database, storage} {
		expect(t, check, OK)
	}
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
		switch check.Name {
		case "browser":
			if os.Geteuid() == 0 {
				expect(t, check, Warn, "starts; sandbox off", "root", "non-root user")
			} else {
				expect(t, check, OK, "starts; sandbox enabled")
			}
		case "ffmpeg":
			expect(t, check, OK, "ffmpeg ", "finishes recordings")
		}
	}
	for _, name := range []string{
		"browser", "ffmpeg", "data folder", "disk", "memory", "database", "storage", "launcher", "clock", "base URL", "profiles", "mail",
		"transcriber",
	} {
		if !names[name] {
			t.Errorf("there is no check of the %s", name)
		}
	}
	if len(names) != len(report.Checks) {
		t.Errorf("%d checks have %d different names", len(report.Checks), len(names))
	}
}

// TestSample: the ffmpeg of this machine finishes the sample recording as it finishes others.
func TestSample(t *testing.T) {
	t.Parallel()
	if err := packSample(t.Context()); err != nil {
		t.Error(err)
	}
}
