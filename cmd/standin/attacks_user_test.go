package main

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"standin/internal/testing/hostile"
)

// TestAttackFullDisk fills the disk of the data folder. Reading and deleting a
// recording work, for API keys and for users who are signed in.
func TestAttackFullDisk(t *testing.T) {
	t.Parallel()
	dir := hostile.SmallDisk(t, "16")
	s := startTarget(t, dir)
	s.operator()
	key, unused := s.key("crew", "--test"), s.key("crew", "--test")
	id := s.create(key, map[string]any{"metadata": map[string]any{"simulate": map[string]any{"seconds": 10, "speed": 30}}})
	s.awaitStatus(key, id, "completed")
	user := &visitor{target: s}
	if got := user.post("/signin", url.Values{"email": {"ada@example.test"}, "password": {testPassword}}); got.status != http.StatusSeeOther {
		t.Fatalf("sign in: %d", got.status)
	}
	hostile.FillDisk(t, dir)

	for _, path := range []string{
		"/api/v1/jobs", "/api/v1/jobs/" + id, "/api/v1/jobs/" + id + "/timeline", "/api/v1/jobs/" + id + "/manifest",
	} {
		if got := s.call(http.MethodGet, path, unused, nil); got.status != http.StatusOK {
			t.Errorf("read %s: %d: %s", path, got.status, got.body)
		}
	}
	if got := user.get("/jobs/" + id); got.status != http.StatusOK {
		t.Errorf("read the page of a job: %d", got.status)
	}
	if got := s.call(http.MethodDelete, "/api/v1/jobs/"+id+"/recording", unused, nil); got.status != http.StatusNoContent {
		t.Errorf("delete the recording: %d: %s", got.status, got.body)
	}
	if media, err := filepath.Glob(filepath.Join(dir, "recordings", "*", id, "*.mp4")); err != nil || len(media) > 0 {
		t.Errorf("the recording is still stored: %v, %v", media, err)
	}
}

// TestAttackDamagedDatabase starts the service on a database that was damaged after
// the service was stopped, on one of a newer version, and on one that was damaged after
// the service was killed.
func TestAttackDamagedDatabase(t *testing.T) {
	t.Parallel()
	s := startTarget(t, newDataDir(t))
	for key, i := s.key("ada"), 0; i < 60; i++ {
		s.create(key, map[string]any{
			"externalId": fmt.Sprint(i), "joinAt": "2999-01-01T00:00:00Z", "metadata": map[string]string{"note": strings.Repeat("a", 2000)},
		})
	}
	path := filepath.Join(s.dir, "standin.db")
	s.stop(syscall.SIGTERM)

	intact := damage(t, path, 0.6, 0.7) // jobs, which the service does not read when it starts
	if err := s.start(); err != nil && !strings.Contains(err.Error(), "restore a backup") {
		t.Errorf("damaged after a clean stop: %v", err)
	} else if err == nil {
		s.await("the service to end", func() bool { return s.process.Process.Signal(syscall.Signal(0)) != nil })
		text, err := os.ReadFile(s.log)
		if err != nil || !strings.Contains(string(text), "restore a backup") || strings.Contains(string(text), "not closed cleanly") {
			t.Errorf("damaged after a clean stop: %s, %v", text, err)
		}
	}
	if err := os.WriteFile(path, intact, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}

	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	execSQL := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	execSQL(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`)
	if err := s.start(); err == nil {
		s.stop(syscall.SIGTERM)
		t.Error("the service uses a database of a newer version")
	} else if !strings.Contains(err.Error(), "9999") {
		t.Errorf("newer version: %v", err)
	}
	execSQL(`DELETE FROM goose_db_version WHERE version_id = 9999`)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	s.key("ada")
	s.stop(syscall.SIGKILL)
	damage(t, path, 0.5, 1)
	if err := s.start(); err == nil {
		t.Error("the service uses a damaged database")
	} else if !strings.Contains(err.Error(), "restore a backup") {
		t.Errorf("damaged: %v", err)
	}
}

// damage overwrites a part of each page in a part of a database, from 0 to 1, and
// returns what the file was before.
func damage(t *testing.T, path string, from, to float64) (intact []byte) {
	t.Helper()
	intact, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(intact)
	pages := float64(len(damaged) / 4096)
	for page := int(pages * from); page < int(pages*to); page++ {
		copy(damaged[page*4096:], strings.Repeat("\xa5", 64))
	}
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	return intact
}
