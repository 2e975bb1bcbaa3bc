package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"standin/internal/bot/ingest"
	"standin/internal/testing/hostile"
)

// TestAttackSparseBundle uploads a bundle of 3 KiB with a sparse entry of 2 GiB as a
// bot and ends the bot, so that the service assembles the recording. It also checks
// what ffmpeg and the browser see of the service's environment and which limits
// ffmpeg has.
func TestAttackSparseBundle(t *testing.T) {
	t.Parallel()
	needTools(t)
	dir, tools := newDataDir(t), t.TempDir()
	notes, err := os.MkdirTemp("/dev/shm", "standin-test-") // tools may write there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(notes) })
	seen := filepath.Join(notes, "seen")
	for _, name := range []string{"ffmpeg", "ffprobe"} {
		real, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		writeScript(t, filepath.Join(tools, name),
			fmt.Sprintf("{ env; echo cpu limit: $(ulimit -t); echo file limit: $(ulimit -f); echo memory limit: $(ulimit -v); } >>%s.%s\nexec %s \"$@\"", seen, name, real))
	}
	writeScript(t, filepath.Join(tools, "browser"), fmt.Sprintf("env >>%s.browser\nexec sleep 600", seen))
	s := startTarget(t, dir, "STANDIN_LAUNCHER=process", "STANDIN_BROWSER="+filepath.Join(tools, "browser"), "STANDIN_NO_SANDBOX=true",
		"PATH="+tools+":"+os.Getenv("PATH"), "TMPDIR="+dir, "AWS_SECRET_ACCESS_KEY=topsecret", "PGPASSWORD=topsecret", "GITHUB_TOKEN=topsecret")
	key := s.key("ada")
	id := s.create(key, nil)
	segment, bundle := oneSecondOfMedia(t), hostile.SparseBundle(t, ingest.TrackSegmentName(0, 0), 2<<30)
	largest := int64(0)
	for attempt := range 3 {
		lock := filepath.Join(dir, "bots", id+"-"+strconv.Itoa(attempt), "bot.lock")
		s.await("the bot to start its browser", func() bool {
			_, err := os.Stat(seen + ".browser")
			return err == nil && lockHolder(t, lock) > 0
		})
		if attempt == 0 {
			for name, content := range map[string][]byte{
				ingest.SegmentName(0, 0): segment, ingest.BundleName(0): bundle,
			} {
				if got := s.upload(id, 0, name, content); got.status != http.StatusOK {
					t.Fatalf("upload %s: %d: %s", name, got.status, got.body)
				}
			}
		}
		if err := syscall.Kill(-lockHolder(t, lock), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(seen + ".browser"); err != nil && attempt < 2 {
			t.Fatal(err)
		}
	}
	s.await("the job to end", func() bool {
		largest = max(largest, largestFile(dir))
		status := s.call(http.MethodGet, "/api/v1/jobs/"+id, key, nil).field("status")
		_, err := os.Stat(seen + ".ffprobe")
		return status == "completed" || status == "failed" || largest > 2<<30-1 && err == nil
	})
	t.Logf("largest file: %d bytes", largest)
	if largest > 16<<20 {
		t.Errorf("a bundle of %d bytes made a file of %d bytes", len(bundle), largest)
	}
	for _, tool := range []string{"ffmpeg", "ffprobe"} {
		text, err := os.ReadFile(seen + "." + tool)
		if err != nil || strings.Contains(string(text), "topsecret") || strings.Contains(string(text), "unlimited") {
			t.Errorf("%s saw secrets or has no limits (%v): %s", tool, err, text)
		}
	}
}

// TestAttackBotEnvironment checks what the browser of a bot sees of the service's
// environment.
func TestAttackBotEnvironment(t *testing.T) {
	t.Parallel()
	tools := t.TempDir()
	seen := filepath.Join(tools, "seen")
	writeScript(t, filepath.Join(tools, "browser"),
		fmt.Sprintf("tr '\\0' '\\n' </proc/$PPID/environ >%[1]s.new; env >>%[1]s.new; mv %[1]s.new %[1]s; exec sleep 600", seen))
	s := startTarget(t, newDataDir(t), "STANDIN_LAUNCHER=process", "STANDIN_BROWSER="+filepath.Join(tools, "browser"),
		"STANDIN_NO_SANDBOX=true",
		"AWS_SECRET_ACCESS_KEY=topsecret", "PGPASSWORD=topsecret", "GITHUB_TOKEN=topsecret")
	key := s.key("ada")
	id := s.create(key, nil)
	s.await("the browser to start", func() bool { _, err := os.Stat(seen); return err == nil })
	if pid := lockHolder(t, filepath.Join(s.dir, "bots", id+"-0", "bot.lock")); pid > 0 {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
	text, err := os.ReadFile(seen)
	if err != nil || strings.Contains(string(text), "topsecret") || strings.Contains(string(text), signingKey) {
		t.Errorf("the bot or its browser sees secrets (%v): %s", err, text)
	}
}

// TestAttackUnnoticedSandbox starts a service as root without STANDIN_NO_SANDBOX. Its
// bots do not start a browser without a sandbox, and the service logs why.
func TestAttackUnnoticedSandbox(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root runs Chromium without its sandbox")
	}
	tools := t.TempDir()
	seen := filepath.Join(tools, "seen")
	writeScript(t, filepath.Join(tools, "browser"), fmt.Sprintf("echo \"$@\" >%s.new; mv %[1]s.new %[1]s; exec sleep 600", seen))
	s := startTarget(t, newDataDir(t), "STANDIN_LAUNCHER=process", "STANDIN_BROWSER="+filepath.Join(tools, "browser"),
		"STANDIN_NO_SANDBOX=false")
	key := s.key("ada")
	id := s.create(key, nil)
	var log string
	s.await("the bot to start, or the service to refuse", func() bool {
		text, err := os.ReadFile(s.log)
		log = string(text)
		_, started := os.Stat(seen)
		return started == nil || err == nil && strings.Contains(log, "launch") && strings.Contains(log, id)
	})
	if pid := lockHolder(t, filepath.Join(s.dir, "bots", id+"-0", "bot.lock")); pid > 0 {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
	if flags, err := os.ReadFile(seen); err == nil {
		t.Errorf("a browser was started with %.300s", flags)
	}
	if !strings.Contains(log, "STANDIN_NO_SANDBOX") {
		t.Error("the log does not name STANDIN_NO_SANDBOX")
	}
}

func writeScript(t *testing.T, path, body string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil { //nolint:gosec // an executable
		t.Fatal(err)
	}
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// largestFile returns the size of the largest file below a folder.
func largestFile(dir string) (largest int64) {
	_ = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			largest = max(largest, info.Size())
		}
		return nil // files come and go
	})
	return largest
}

// oneSecondOfMedia returns a segment as the recorder of a bot makes it.
func oneSecondOfMedia(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "segment.mp4")
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=320x180:rate=15:duration=1",
		"-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "frag_keyframe+empty_moov", path).CombinedOutput()
	if err != nil {
		t.Fatalf("ffmpeg: %v: %s", err, out)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
