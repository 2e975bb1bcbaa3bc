package browser_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// temporaryDir returns the directory for temporary files of a profile.
func temporaryDir(t *testing.T, profile string) string {
	t.Helper()
	temporary, err := os.Readlink(filepath.Join(profile, "tmp"))
	if err != nil {
		t.Fatal(err)
	}
	return temporary
}

// requireRemoved fails the test if the directory exists.
func requireRemoved(t *testing.T, folder string) {
	t.Helper()
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s still exists: %v", folder, err)
	}
}
