// Package profiletest makes page profiles for tests.
package profiletest

import (
	"os"
	"path/filepath"
	"testing"
)

// With returns a folder with the profile of Meet, changed. The test's package is two folders below
// internal.
func With(t testing.TB, changed func(string) string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "bot", "meeting", "profiles", "meet.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "meet.yaml"), []byte(changed(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}
