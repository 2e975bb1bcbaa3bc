package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/job"
	"standin/internal/recording"
	"standin/internal/replica"
	"standin/internal/testing/mediacheck"
	"standin/internal/webhook"
)

// needTools skips a test whose tools are missing, and fails it in CI.
func needTools(t *testing.T) {
	t.Helper()
	for _, check := range []func() error{
		func() error { _, err := browser.Find(""); return err },
		mediacheck.Available,
	} {
		err := check()
		switch {
		case err != nil && os.Getenv("CI") != "":
			t.Fatal(err)
		case err != nil:
			t.Skip(err)
		}
	}
}

// harness is a service in a process of its own, a meeting to send bots to, and a
// consumer with a webhook receiver.
type harness struct {
	*testing.T
	dir     string
	meeting *replica.Meeting
	stage   *replica.Server
	hooks   *receiver
	key     string
	base    string // of the service
	serve   *exec.Cmd
	log     *os.File
}

// newHarness starts one.
func newHarness(t *testing.T) *harness {
	t.Helper()
	needTools(t)
	h := &harness{T: t, dir: t.TempDir()}
	media, err := replica.PrepareMedia(t.Context(), replica.MediaFolder())
	if err != nil {
		t.Fatal(err)
	}
	if h.stage, err = replica.Start(context.WithoutCancel(t.Context()), replica.Options{Media: media}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.stage.Close() })
	if h.meeting, err = h.stage.Open(replica.Settings{AdmitAfter: time.Second}); err != nil {
		t.Fatal(err)
	}
	if h.log, err = os.Create(filepath.Join(t.TempDir(), "serve.log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.tellOfFailure)
	h.key = strings.TrimSpace(h.standin("keys", "create", "--consumer", "e2e", "--data-dir", h.dir))
	secret := h.standin("consumers", "show", "e2e", "--secret", "--data-dir", h.dir)
	h.hooks = receive(t, secret[strings.Index(secret, "whsec_"):len(secret)-1])
	h.startService("127.0.0.1:0")
	t.Cleanup(func() { h.stopService(syscall.SIGKILL) })
	t.Cleanup(h.stopBots)
	return h
}

// standin runs a command to its end and returns what it prints.
func (h *harness) standin(args ...string) string {
	h.Helper()
	out, err := exec.CommandContext(h.Context(), os.Args[0], args...).Output()
	if err != nil {
		h.Fatalf("standin %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// startService starts the service and waits until it tells its address.
func (h *harness) startService(listen string) {
	h.Helper()
	h.serve = exec.Command(os.Args[0], "serve", "--listen", listen, "--data-dir", h.dir, "--loopback-meetings",
		"--allowed-meeting-hosts", strings.TrimPrefix(h.stage.URL(), "http://"))
	h.serve.Stderr = h.log
	out, err := h.serve.StdoutPipe()
	if err != nil {
		h.Fatal(err)
	}
	if err := h.serve.Start(); err != nil {
		h.Fatal(err)
	}
	line := make([]byte, 200)
	n, err := out.Read(line)
	at := strings.Index(string(line[:n]), "http://")
	if at < 0 {
		h.Fatalf("the service does not tell its address: %q, %v", line[:n], err)
	}
	h.base = strings.Fields(string(line[at:n]))[0] // the first user's link may follow
}

// stopService ends the service by a signal and waits for its end.
func (h *harness) stopService(signal os.Signal) {
	if h.serve.ProcessState != nil {
		return
	}
	_ = h.serve.Process.Signal(signal)
	_ = h.serve.Wait() // it tells of the signal
}

// stopBots kills what a failed test left running.
func (h *harness) stopBots() {
	locks, _ := filepath.Glob(filepath.Join(h.dir, "bots", "*", "bot.lock"))
	for _, lock := range locks {
		if pid := lockHolder(h.T, lock); pid > 1 {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
	}
}

// tellOfFailure shows the logs of a failed test.
func (h *harness) tellOfFailure() {
	if !h.Failed() {
		return
	}
	for _, event := range h.meeting.Events() {
		h.Logf("meeting: %+v", event)
	}
	logs, _ := filepath.Glob(filepath.Join(h.dir, "bots", "*", "bot.log"))
	for _, path := range append(logs, h.log.Name()) {
		text, _ := os.ReadFile(path)
		h.Logf("%s:\n%s", filepath.Base(path), text[max(0, len(text)-3000):])
	}
}

// call calls the API and decodes the answer into out.
func (h *harness) call(method, path string, body, out any) {
	h.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		h.Fatal(err)
	}
	request, err := http.NewRequestWithContext(h.Context(), method, h.base+path, bytes.NewReader(encoded))
	if err != nil {
		h.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+h.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		h.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		h.Fatalf("%s %s: %s: %s (%v)", method, path, response.Status, answer, err)
	}
	if out != nil {
		if err := json.Unmarshal(answer, out); err != nil {
			h.Fatalf("%s %s: %v in %s", method, path, err, answer)
		}
	}
}

// send sends a bot into the meeting and returns the job's id.
func (h *harness) send() string { h.Helper(); return h.sendWith(nil) }

// sendWith is send for a job with metadata.
func (h *harness) sendWith(metadata map[string]any) string {
	h.Helper()
	var created struct{ ID string }
	h.call(http.MethodPost, "/api/v1/jobs", map[string]any{
		"externalId": "e2e", "meetingUrl": h.meeting.URL(), "metadata": notNil(metadata),
		"webhooks": map[string]string{"onStatusChange": h.hooks.url, "onFinalize": h.hooks.url},
	}, &created)
	return created.ID
}

// manifest fetches a job's manifest.
func (h *harness) manifest(id string) recording.Manifest {
	h.Helper()
	var manifest recording.Manifest
	h.call(http.MethodGet, "/api/v1/jobs/"+id+"/manifest", nil, &manifest)
	return manifest
}

// recording fetches the one video of a manifest, holds it against what the
// manifest says, and decodes it.
func (h *harness) recording(manifest recording.Manifest) (path string, report mediacheck.Report) {
	h.Helper()
	file := theRecording(h.T, manifest)
	path = h.fetch(file)
	return path, checkFile(h.T, path, file)
}

// fetch fetches a file of a manifest.
func (h *harness) fetch(file recording.Media) (path string) {
	h.Helper()
	request, err := http.NewRequestWithContext(h.Context(), http.MethodGet, file.URI, nil)
	if err != nil {
		h.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+h.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		h.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		h.Fatalf("fetch %s: %s, %v", file.Name, response.Status, err)
	}
	path = filepath.Join(h.TempDir(), file.Name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		h.Fatal(err)
	}
	return path
}

// checkFile holds a file against its entry in the manifest and decodes it.
func checkFile(t *testing.T, path string, file recording.Media) mediacheck.Report {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != file.SHA256 || int64(len(data)) != file.Bytes {
		t.Errorf("%s has %d bytes and sum %x; the manifest says %d and %s", file.Name, len(data), sum, file.Bytes, file.SHA256)
	}
	report, err := mediacheck.Decode(t.Context(), path)
	if err != nil {
		t.Fatalf("decode %s: %v", file.Name, err)
	}
	if report.Width != 1280 || report.Height != 720 || report.VideoCodec != "h264" || report.AudioCodec != "opus" {
		t.Errorf("%s is %dx%d, %s and %s", file.Name, report.Width, report.Height, report.VideoCodec, report.AudioCodec)
	}
	return report
}

// received is a webhook as it came.
type received struct {
	DeliveryID string `json:"deliveryId"`
	Event      string `json:"event"`
	Data       struct {
		From        job.Status `json:"from"`
		To          job.Status `json:"to"`
		Sequence    int        `json:"sequence"`
		FailureCode string     `json:"failure_code"`
		Detail      string     `json:"failure_detail"`
		Granted     *bool      `json:"granted"`
	} `json:"data"`
}

// receiver is the consumer's webhook receiver. It outlives restarts of the
// service.
type receiver struct {
	url string

	mu    sync.Mutex
	hooks []received
	news  chan struct{} // closed and replaced with each webhook
}

// receive starts a receiver that refuses what is not signed with the secret.
func receive(t *testing.T, secret string) *receiver {
	t.Helper()
	r := &receiver{news: make(chan struct{})}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(rw http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err == nil {
			err = webhook.Verify(request.Header, body, secret, time.Now())
		}
		var got received
		if err == nil {
			err = json.Unmarshal(body, &got)
		}
		if err != nil {
			t.Errorf("webhook %s: %v", body, err)
			rw.WriteHeader(http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.hooks = append(r.hooks, got)
		close(r.news)
		r.news = make(chan struct{})
	})}
	go func() { _ = server.Serve(listener) }() // ends with Close
	t.Cleanup(func() { _ = server.Close() })
	r.url = "http://" + listener.Addr().String() + "/"
	return r
}

// await returns the first webhook that matches, waiting for it.
func (r *receiver) await(t *testing.T, what string, match func(received) bool) received {
	t.Helper()
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	for {
		r.mu.Lock()
		for _, hook := range r.hooks {
			if match(hook) {
				r.mu.Unlock()
				return hook
			}
		}
		news := r.news
		r.mu.Unlock()
		select {
		case <-news:
		case <-deadline.C:
			t.Fatalf("no webhook tells of %s; there were %+v", what, r.all())
		}
	}
}

// awaitStatus waits until a job came into a state.
func (r *receiver) awaitStatus(t *testing.T, want job.Status) {
	t.Helper()
	hook := r.await(t, string(want), func(hook received) bool {
		return hook.Event == webhook.JobStatusChanged && (hook.Data.To == want || hook.Data.To.Terminal())
	})
	if hook.Data.To != want {
		t.Fatalf("the job ended in %s (%s: %s) before %s", hook.Data.To, hook.Data.FailureCode, hook.Data.Detail, want)
	}
}

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received(nil), r.hooks...)
}

// checkStory holds the webhooks against what must be true of every job: each
// event under one delivery id, in the order of the job's sequence, none
// missing, and each transition from where the last one went.
func (r *receiver) checkStory(t *testing.T, want ...job.Status) {
	t.Helper()
	ids := make(map[int]string)
	var states []job.Status
	last := job.Scheduled
	for _, hook := range r.all() {
		if known, again := ids[hook.Data.Sequence]; again {
			if known != hook.DeliveryID {
				t.Errorf("event %d came under the delivery ids %s and %s", hook.Data.Sequence, known, hook.DeliveryID)
			}
			continue // the same delivery, tried again
		}
		if hook.Data.Sequence != len(ids)+1 {
			t.Errorf("event %d came after %d others", hook.Data.Sequence, len(ids))
		}
		ids[hook.Data.Sequence] = hook.DeliveryID
		if hook.Event == webhook.JobStatusChanged {
			if hook.Data.From != last {
				t.Errorf("event %d goes from %s; the job was in %s", hook.Data.Sequence, hook.Data.From, last)
			}
			last = hook.Data.To
			states = append(states, last)
		}
	}
	if fmt.Sprint(states) != fmt.Sprint(want) {
		t.Errorf("states %v, want %v", states, want)
	}
}

// lockHolder is the process that holds a bot's folder, 0 when none does.
func lockHolder(t *testing.T, path string) int {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer file.Close()
	query := syscall.Flock_t{Type: syscall.F_WRLCK}
	if err := syscall.FcntlFlock(file.Fd(), syscall.F_GETLK, &query); err != nil || query.Type == syscall.F_UNLCK {
		return 0
	}
	return int(query.Pid)
}

// bot is the process of an attempt's bot.
func (h *harness) bot(id string, attempt int) int {
	h.Helper()
	pid := lockHolder(h.T, filepath.Join(h.dir, "bots", id+"-"+strconv.Itoa(attempt), "bot.lock"))
	if pid == 0 {
		h.Fatalf("no bot of attempt %d runs", attempt)
	}
	return pid
}

// browserOf is the main process of a bot's browser: its child.
func (h *harness) browserOf(bot int) int {
	h.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", bot, bot))
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", bot))
	for _, task := range tasks {
		more, _ := os.ReadFile(task)
		children = append(append(children, ' '), more...)
	}
	for _, field := range strings.Fields(string(children)) {
		pid, _ := strconv.Atoi(field)
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.Contains(string(line), "--user-data-dir") && !strings.Contains(string(line), "--type=") {
			return pid
		}
	}
	h.Fatalf("bot %d has no browser (%v)", bot, err)
	return 0
}
