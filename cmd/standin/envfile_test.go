package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestEnvFile checks that commands for administrators read their settings from a file, and that the
// environment and flags have precedence.
func TestEnvFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inFile, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	for _, data := range []string{inFile, other} {
		if code, _, stderr := command("keys", "create", "--team", filepath.Base(data), "--data-dir", data); code != 0 {
			t.Fatal(stderr)
		}
	}
	file := filepath.Join(dir, "standin.env")
	if err := os.WriteFile(file, []byte("# settings\n\n; more\nSTANDIN_LISTEN=\nSTANDIN_DATA_DIR=\""+inFile+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		variable string
		args     []string
		want     string
	}{
		"file":        {"STANDIN_DATA_DIR=", nil, "file"},
		"environment": {"STANDIN_DATA_DIR=" + other, nil, "other"},
		"flag":        {"STANDIN_DATA_DIR=", []string{"--data-dir", other}, "other"},
	} {
		list := exec.CommandContext(t.Context(), testedBinary(), append([]string{"teams", "list", "--env-file", file}, test.args...)...)
		list.Env = append(os.Environ(), test.variable)
		if out, err := list.CombinedOutput(); err != nil || !strings.Contains(string(out), "  "+test.want+"  ") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	if code, _, stderr := command("teams", "list", "--env-file", filepath.Join(dir, "missing")); code != exitUsage || !strings.Contains(stderr, "no such file") {
		t.Errorf("a file that does not exist: exit code %d, %s", code, stderr)
	}
}

// TestActAsOwner checks that a command that root runs creates files that the owner of the data
// directory can use.
func TestActAsOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const owner = 65534
	dir, err := os.MkdirTemp("/tmp", "standin-owner-") // that others can enter, unlike that of the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chown(dir, owner, owner); err != nil {
		t.Fatal(err)
	}
	data, backup := filepath.Join(dir, "data"), filepath.Join(dir, "backup")
	for _, args := range [][]string{{"keys", "create", "--team", "acme"}, {"teams", "list"}, {"backup", backup}} {
		if out, err := exec.CommandContext(t.Context(), testedBinary(), append(args, "--data-dir", data)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	files := 0
	err = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != owner {
			t.Errorf("%s belongs to %d", path, stat.Uid)
		}
		files++
		return nil
	})
	if err != nil || files < 5 {
		t.Errorf("%d files, %v", files, err)
	}
}
