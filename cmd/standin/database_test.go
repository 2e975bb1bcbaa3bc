package main

import (
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"errors"

	"standin/internal/service"
)

// TestNoDatabase runs commands for the administrator in a folder without a database. Only
// keys create makes one, and says so.
func TestNoDatabase(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	for _, line := range []string{
		"keys list", "keys revoke 01a216e4-47e6-76eb-af7a-33b5054d4531", "users list", "users invite ada@example.test --consumer acme",
		"users remove ada@example.test", "consumers list", "consumers create acme", "consumers delete acme --yes",
		"recordings sweep", "recordings verify", "recordings finish 01a216e4-47e6-76eb-af7a-33b5054d4531", "backup " + filepath.Join(t.TempDir(), "backup"),
	} {
		code, out, stderr := command(append(strings.Fields(line), "--data-dir", dir)...)
		if code != 1 || out != "" || !strings.Contains(stderr, "no Standin database in "+dir+"; set STANDIN_DATA_DIR or --data-dir") {
			t.Errorf("%s: exit code %d, %s%s", line, code, out, stderr)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s created %s (%v)", line, dir, err)
		}
	}
	for _, notice := range []string{"created a new database in " + dir + "\n", ""} {
		code, out, stderr := command("keys", "create", "--consumer", "acme", "--data-dir", dir)
		if code != 0 || !strings.HasPrefix(out, "standin_live_") || stderr != notice {
			t.Errorf("keys create: exit code %d, %s%s, want the notice %q", code, out, stderr, notice)
		}
	}
}

// TestInviteLink checks that the link of an invitation leads to the service that ran with
// the database, if no URL is given.
func TestInviteLink(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	command("consumers", "create", "acme", "--data-dir", dir)
	invite := []string{"users", "invite", "ada@example.test", "--consumer", "acme", "--data-dir", dir}
	if code, out, stderr := command(invite...); code != 1 || !strings.Contains(stderr, "set STANDIN_BASE_URL or --base-url") {
		t.Errorf("before the service has run: exit code %d, %s%s", code, out, stderr)
	}
	s, err := service.Start(t.Context(), service.Settings{
		Listen: "127.0.0.1:0", DataSettings: service.DataSettings{DataDir: dir}, LauncherSettings: service.LauncherSettings{Launcher: "manual"},
		BaseURL: "https://standin.example.test/", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for base := ""; base == ""; <-ticker.C { // until the node has recorded it
		if base, err = s.Store().BaseURL(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if code, out, stderr := command(invite...); code != 0 || !strings.HasPrefix(out, "https://standin.example.test/welcome?token=") {
		t.Errorf("after the service has run: exit code %d, %s%s", code, out, stderr)
	}
}

// TestWrongSettings checks that serve names misspelled settings, and ends if recordings
// cannot be stored.
func TestWrongSettings(t *testing.T) {
	t.Parallel()
	serve := exec.CommandContext(t.Context(), os.Args[0], "serve", "--listen", "127.0.0.1:0", "--data-dir", newDataDir(t), "--storage-url", "s3://recordings")
	serve.Env = append(os.Environ(), "STANDIN_LISEN=secret", "STANDIN_UNHEARD_OF=secret", "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b")
	out, err := serve.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("want exit code 1: %v", err)
	}
	for _, want := range []string{"name=STANDIN_LISEN did_you_mean=STANDIN_LISTEN\n", "name=STANDIN_UNHEARD_OF\n", "recordings cannot be stored", "Invalid region"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output does not contain %q:\n%s", want, out)
		}
	}
	if strings.Contains(string(out), "secret") {
		t.Errorf("the output contains a value:\n%s", out)
	}
}
