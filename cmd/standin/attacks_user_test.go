package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"standin/internal/testing/hostile"
)

// TestAttackRemoveOperator removes an operator as a member of the same team.
func TestAttackRemoveOperator(t *testing.T) {
	t.Parallel()
	s := startTarget(t, newDataDir(t))
	founder := s.operator()
	operators := []*visitor{founder, founder.invite("grace@example.test", "operator")}
	member := founder.invite("ben@example.test", "")
	found := regexp.MustCompile(`action="(/team/[0-9a-f-]{36}/remove)"`).FindAllStringSubmatch(member.get("/team").body, -1)
	if len(found) != len(operators) {
		t.Fatalf("the team page has %d forms to remove users", len(found))
	}
	for _, form := range found {
		member.submit("/team", form[1], url.Values{})
	}
	for i, operator := range operators {
		if got := operator.get("/operator"); got.status != http.StatusOK {
			t.Errorf("operator %d is signed out: %d", i, got.status)
		}
	}
}

// TestAttackLockout signs in with wrong passwords as another user until the service
// refuses. The user can sign in from another address nevertheless.
func TestAttackLockout(t *testing.T) {
	t.Parallel()
	s := startTarget(t, newDataDir(t), "STANDIN_TRUSTED_PROXIES=1")
	s.operator()
	attacker, user := &visitor{target: s, address: "203.0.113.9"}, &visitor{target: s, address: "198.51.100.7"}
	refused := false
	for range 20 {
		got := attacker.post("/signin", url.Values{"email": {"ada@example.test"}, "password": {"wrong"}})
		refused = refused || got.status == http.StatusTooManyRequests
	}
	if !refused {
		t.Error("20 wrong passwords were checked")
	}
	if got := user.post("/signin", url.Values{"email": {"ada@example.test"}, "password": {visitorPassword}}); got.status != http.StatusSeeOther {
		t.Errorf("sign in from another address: %d", got.status)
	}
	log, err := os.ReadFile(s.log)
	if err != nil || !strings.Contains(string(log), attacker.address) {
		t.Errorf("the log does not contain the address of the attacker (%v)", err)
	}
}

// TestAttackLostOperator recovers a service whose only operator forgot the password,
// with the command line.
func TestAttackLostOperator(t *testing.T) {
	t.Parallel()
	s := startTarget(t, newDataDir(t))
	s.operator()
	password, err := s.standin("users", "reset-password", "ada@example.test")
	if err != nil {
		t.Fatal(err)
	}
	again := &visitor{target: s}
	if got := again.post("/signin", url.Values{"email": {"ada@example.test"}, "password": {strings.TrimSpace(password)}}); got.status != http.StatusSeeOther {
		t.Errorf("sign in with the new password: %d", got.status)
	}
}

// TestAttackManyStreams opens more live pages in one session than the service
// allows.
func TestAttackManyStreams(t *testing.T) {
	t.Parallel()
	s := startTarget(t, newDataDir(t))
	user := s.operator()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	open := 0
	for range 6 {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/jobs/live", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Cookie", user.cookie)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			open++
		}
	}
	if open != 4 {
		t.Errorf("%d streams are open", open)
	}
}

// TestAttackFormFlood posts forms with many fields, and with more bytes than a form
// may have.
func TestAttackFormFlood(t *testing.T) {
	t.Parallel()
	s := startTarget(t, newDataDir(t))
	user := s.operator()
	many := url.Values{"meetingUrl": {"https://meet.google.com/abc-defg-hij"}}
	for i := range 2000 {
		many.Set(fmt.Sprint("field", i), "x")
	}
	if got := user.submit("/jobs/new", "/jobs", many); got.status != http.StatusBadRequest {
		t.Errorf("2000 fields: %d", got.status)
	}
	long := url.Values{"meetingUrl": {"https://meet.google.com/abc-defg-hij"}, "externalId": {strings.Repeat("a", 500<<10)}, "mode": {"test"}}
	if got := user.submit("/jobs/new", "/jobs", long); got.status != http.StatusBadRequest {
		t.Errorf("an external ID of 500 KiB: %d", got.status)
	}
	long.Set("externalId", strings.Repeat("a", 2<<20))
	if got := user.submit("/jobs/new", "/jobs", long); got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a form of 2 MiB: %d", got.status)
	}
}

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
	if got := user.post("/signin", url.Values{"email": {"ada@example.test"}, "password": {visitorPassword}}); got.status != http.StatusSeeOther {
		t.Fatalf("sign in: %d", got.status)
	}
	hostile.FillDisk(t, dir)

	for _, path := range []string{"/api/v1/jobs", "/api/v1/jobs/" + id, "/api/v1/jobs/" + id + "/timeline", "/api/v1/jobs/" + id + "/manifest"} {
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

// TestAttackDamagedDatabase starts the service on a database of a newer version, and
// on one that is damaged after the service was killed.
func TestAttackDamagedDatabase(t *testing.T) {
	t.Parallel()
	s := startTarget(t, newDataDir(t))
	for key, i := s.key("ada"), 0; i < 60; i++ {
		s.create(key, map[string]any{"externalId": fmt.Sprint(i), "metadata": map[string]string{"note": strings.Repeat("a", 2000)}})
	}
	path := filepath.Join(s.dir, "standin.db")
	s.stop(syscall.SIGTERM)
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
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := len(content) / 4096 / 2; page < len(content)/4096; page++ {
		copy(content[page*4096:], strings.Repeat("\xa5", 64))
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.start(); err == nil {
		t.Error("the service uses a damaged database")
	} else if !strings.Contains(err.Error(), "restore a backup") {
		t.Errorf("damaged: %v", err)
	}
}
