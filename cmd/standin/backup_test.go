package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestBackupAndRestore backs up a data directory with the command line and restores
// it to another one, and then over itself.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	dir, folder := t.TempDir(), filepath.Join(t.TempDir(), "backup")
	if code, _, stderr := command("keys", "create", "--consumer", "ada", "--data-dir", dir); code != 0 {
		t.Fatalf("keys create: exit code %d, %s", code, stderr)
	}
	code, out, stderr := command("backup", folder, "--data-dir", dir, "--json")
	var made struct{ Database struct{ Engine string } }
	if err := json.Unmarshal([]byte(out), &made); code != 0 || err != nil || made.Database.Engine != "sqlite" {
		t.Fatalf("backup: exit code %d, %s%s (%v)", code, out, stderr, err)
	}
	other := t.TempDir()
	if code, out, stderr := command("restore", folder, "--data-dir", other); code != 0 || !strings.Contains(out, "restored 0 jobs of 1 teams") {
		t.Fatalf("restore: exit code %d, %s%s", code, out, stderr)
	}
	if code, out, _ := command("consumers", "list", "--data-dir", other); code != 0 || !strings.Contains(out, "ada") {
		t.Errorf("restored consumers: exit code %d, %s", code, out)
	}
	if code, _, stderr := command("restore", folder, "--data-dir", other); code != exitFailed || !strings.Contains(stderr, "--force") {
		t.Errorf("restore over data: exit code %d, %s", code, stderr)
	}
	if code, out, stderr := command("restore", folder, "--data-dir", other, "--force", "--json"); code != 0 || !strings.Contains(out, `"consumers": 1`) {
		t.Errorf("forced restore: exit code %d, %s%s", code, out, stderr)
	}
}
