package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
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

// world is a service in a process of its own, a meeting to send bots to, and a
// consumer with a webhook receiver.
type world struct {
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

// newWorld starts one.
func newWorld(t *testing.T) *world {
	t.Helper()
	needTools(t)
	w := &world{T: t, dir: t.TempDir()}
	media, err := replica.PrepareMedia(t.Context(), replica.MediaFolder())
	if err != nil {
		t.Fatal(err)
	}
	if w.stage, err = replica.Start(context.WithoutCancel(t.Context()), replica.Options{Media: media}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.stage.Close() })
	if w.meeting, err = w.stage.Open(replica.Settings{AdmitAfter: time.Second}); err != nil {
		t.Fatal(err)
	}
	if w.log, err = os.Create(filepath.Join(t.TempDir(), "serve.log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.tellOfFailure)
	w.key = strings.TrimSpace(w.standin("keys", "create", "--consumer", "e2e", "--data-dir", w.dir))
	secret := w.standin("consumers", "show", "e2e", "--secret", "--data-dir", w.dir)
	w.hooks = receive(t, secret[strings.Index(secret, "whsec_"):len(secret)-1])
	w.startService("127.0.0.1:0")
	t.Cleanup(func() { w.stopService(syscall.SIGKILL) })
	t.Cleanup(w.stopBots)
	return w
}

// standin runs a command to its end and returns what it prints.
func (w *world) standin(args ...string) string {
	w.Helper()
	out, err := exec.CommandContext(w.Context(), os.Args[0], args...).Output()
	if err != nil {
		w.Fatalf("standin %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// startService starts the service and waits until it tells its address.
func (w *world) startService(listen string) {
	w.Helper()
	w.serve = exec.Command(os.Args[0], "serve", "--listen", listen, "--data-dir", w.dir, "--loopback-meetings",
		"--allowed-meeting-hosts", strings.TrimPrefix(w.stage.URL(), "http://"))
	w.serve.Stderr = w.log
	out, err := w.serve.StdoutPipe()
	if err != nil {
		w.Fatal(err)
	}
	if err := w.serve.Start(); err != nil {
		w.Fatal(err)
	}
	line := make([]byte, 200)
	n, err := out.Read(line)
	at := strings.Index(string(line[:n]), "http://")
	if at < 0 {
		w.Fatalf("the service does not tell its address: %q, %v", line[:n], err)
	}
	w.base = strings.Fields(string(line[at:n]))[0] // the first user's link may follow
}

// stopService ends the service by a signal and waits for its end.
func (w *world) stopService(signal os.Signal) {
	if w.serve.ProcessState != nil {
		return
	}
	_ = w.serve.Process.Signal(signal)
	_ = w.serve.Wait() // it tells of the signal
}

// stopBots kills what a failed test left running.
func (w *world) stopBots() {
	locks, _ := filepath.Glob(filepath.Join(w.dir, "bots", "*", "bot.lock"))
	for _, lock := range locks {
		if pid := lockHolder(w.T, lock); pid > 1 {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
	}
}

// tellOfFailure shows the logs of a failed test.
func (w *world) tellOfFailure() {
	if !w.Failed() {
		return
	}
	for _, event := range w.meeting.Events() {
		w.Logf("meeting: %+v", event)
	}
	logs, _ := filepath.Glob(filepath.Join(w.dir, "bots", "*", "bot.log"))
	for _, path := range append(logs, w.log.Name()) {
		text, _ := os.ReadFile(path)
		w.Logf("%s:\n%s", filepath.Base(path), text[max(0, len(text)-3000):])
	}
}

// call calls the API and decodes the answer into out.
func (w *world) call(method, path string, body, out any) {
	w.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		w.Fatal(err)
	}
	request, err := http.NewRequestWithContext(w.Context(), method, w.base+path, bytes.NewReader(encoded))
	if err != nil {
		w.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+w.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		w.Fatalf("%s %s: %s: %s (%v)", method, path, response.Status, answer, err)
	}
	if out != nil {
		if err := json.Unmarshal(answer, out); err != nil {
			w.Fatalf("%s %s: %v in %s", method, path, err, answer)
		}
	}
}

// send sends a bot into the meeting and returns the job's id.
func (w *world) send() string { w.Helper(); return w.sendWith(nil) }

// sendWith is send for a job with metadata.
func (w *world) sendWith(metadata map[string]any) string {
	w.Helper()
	var created struct{ ID string }
	w.call(http.MethodPost, "/api/v1/jobs", map[string]any{
		"externalId": "e2e", "meetingUrl": w.meeting.URL(), "metadata": notNil(metadata),
		"webhooks": map[string]string{"onStatusChange": w.hooks.url, "onFinalize": w.hooks.url},
	}, &created)
	return created.ID
}

// manifest fetches a job's manifest.
func (w *world) manifest(id string) recording.Manifest {
	w.Helper()
	var manifest recording.Manifest
	w.call(http.MethodGet, "/api/v1/jobs/"+id+"/manifest", nil, &manifest)
	return manifest
}

// recording fetches the one video of a manifest, holds it against what the
// manifest says, and decodes it.
func (w *world) recording(manifest recording.Manifest) (path string, report mediacheck.Report) {
	w.Helper()
	file := theRecording(w.T, manifest)
	path = w.fetch(file)
	return path, checkFile(w.T, path, file)
}

// fetch fetches a file of a manifest.
func (w *world) fetch(file recording.Media) (path string) {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), http.MethodGet, file.URI, nil)
	if err != nil {
		w.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+w.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		w.Fatalf("fetch %s: %s, %v", file.Name, response.Status, err)
	}
	path = filepath.Join(w.TempDir(), file.Name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		w.Fatal(err)
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
	listener, err := listenLoopback(t.Context())
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
func (w *world) bot(id string, attempt int) int {
	w.Helper()
	pid := lockHolder(w.T, filepath.Join(w.dir, "bots", id+"-"+strconv.Itoa(attempt), "bot.lock"))
	if pid == 0 {
		w.Fatalf("no bot of attempt %d runs", attempt)
	}
	return pid
}

// browserOf is the main process of a bot's browser: its child.
func (w *world) browserOf(bot int) int {
	w.Helper()
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
	w.Fatalf("bot %d has no browser (%v)", bot, err)
	return 0
}
