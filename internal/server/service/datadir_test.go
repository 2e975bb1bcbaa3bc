package service_test

import (
	"os"
	"path/filepath"
	"testing"

	"standin/internal/server/service"
)

// TestPrepareDataDir checks that a new data folder is private and that the mode of one
// that other users can read is restricted.
func TestPrepareDataDir(t *testing.T) {
	t.Parallel()
	readable := t.TempDir()
	if err := os.Chmod(readable, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"new": filepath.Join(t.TempDir(), "a", "b"), "readable": readable} {
		if err := service.PrepareDataDir(dir); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o700 {
			t.Errorf("%s: mode %04o", name, info.Mode().Perm())
		}
	}
}
