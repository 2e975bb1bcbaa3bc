package main

import (
	"bytes"
	"cmp"
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

	"standin/client"

	"standin/internal/bot/browser"
	"standin/internal/job"
	"standin/internal/recording"
	"standin/internal/replica"
	"standin/internal/testing/logtail"
	"standin/internal/testing/mediacheck"
	"standin/internal/testing/testbrowser"
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

// awaitTimeout bounds each wait for a bot. Bots are slow beside other tests.
const awaitTimeout = 6 * time.Minute

// harness runs the service as a separate process, with a replica meeting and a
// consumer with a webhook receiver.
type harness struct {
	*testing.T
	dir     string
	picture picture
	env     []string // of the service, in addition
	meeting *replica.Meeting
	replica *replica.Server
	hooks   *receiver
	secret  string // of the webhooks
	key     string
	base    string // base URL of the service
	serve   *exec.Cmd
	log     *os.File
}

// modeVariable sets the mode of the bots' browsers.
const modeVariable = "STANDIN_BROWSER_MODE"

// picture is the size of recordings and of the meeting's video.
type picture struct {
	width, height int
	frameRate     string
	prepare       func(ctx context.Context, folder string) (*replica.Media, error)
}

var (
	fullPicture  = picture{1280, 720, "15", replica.PrepareMedia}
	smallPicture = picture{640, 360, "8", replica.PrepareSmallMedia}
)

// newHarness starts the service, with small recordings, and opens the meeting.
func newHarness(t *testing.T) *harness { t.Helper(); return newHarnessOf(t, smallPicture) }

// newHarnessOf is like newHarness with another size of recordings, and with additional
// environment variables of the service.
func newHarnessOf(t *testing.T, size picture, env ...string) *harness {
	t.Helper()
	needTools(t)
	testbrowser.Reserve(t)
	h := &harness{T: t, dir: newDataDir(t), picture: size, env: env}
	media, err := size.prepare(t.Context(), replica.MediaFolder())
	if err != nil {
		t.Fatal(err)
	}
	if h.replica, err = replica.Start(context.WithoutCancel(t.Context()), replica.Options{Media: media}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.replica.Close() })
	if h.meeting, err = h.replica.Open(replica.Settings{AdmitAfter: time.Second}); err != nil {
		t.Fatal(err)
	}
	if h.log, err = os.Create(filepath.Join(t.TempDir(), "serve.log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.logFailure)
	h.key = strings.TrimSpace(h.standin("keys", "create", "--consumer", "e2e", "--data-dir", h.dir))
	secret := h.standin("consumers", "show", "e2e", "--secret", "--data-dir", h.dir)
	h.secret = strings.Fields(secret[strings.Index(secret, "whsec_"):])[0]
	h.hooks = receive(t, h.secret)
	h.startService("127.0.0.1:0")
	t.Cleanup(h.stopBots)
	t.Cleanup(func() { h.stopService(syscall.SIGKILL) }) // first: it replaces a bot that is killed
	return h
}

// standin runs a command and returns its output.
func (h *harness) standin(args ...string) string {
	h.Helper()
	out, err := exec.CommandContext(h.Context(), os.Args[0], args...).Output()
	if err != nil {
		h.Fatalf("standin %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// startService starts the service and waits until it prints its address.
func (h *harness) startService(listen string) {
	h.Helper()
	h.serve = exec.Command(os.Args[0], "serve", "--listen", listen, "--data-dir", h.dir, "--loopback-meetings",
		"--allowed-meeting-hosts", strings.TrimPrefix(h.replica.URL(), "http://"))
	h.serve.Env = append(os.Environ(), "STANDIN_NO_SANDBOX=true", // for tests as root
		fmt.Sprintf("STANDIN_PICTURE_SIZE=%dx%d", h.picture.width, h.picture.height),
		"STANDIN_FRAME_RATE="+cmp.Or(os.Getenv("STANDIN_FRAME_RATE"), h.picture.frameRate), // TestCost sets it
		modeVariable+"="+cmp.Or(os.Getenv(modeVariable), "headless"))                       // TestDemo uses the default
	h.serve.Env = append(h.serve.Env, h.env...)
	h.serve.Stderr = h.log
	out, err := h.serve.StdoutPipe()
	if err != nil {
		h.Fatal(err)
	}
	if err := h.serve.Start(); err != nil {
		h.Fatal(err)
	}
	buffer := make([]byte, 200)
	n, err := out.Read(buffer)
	at := strings.Index(string(buffer[:n]), "http://")
	if at < 0 {
		h.Fatalf("the service does not print its address: %q, %v", buffer[:n], err)
	}
	h.base = strings.Fields(string(buffer[at:n]))[0] // the link for the first user may follow
}

// stopService signals the service and waits until it exits.
func (h *harness) stopService(signal os.Signal) {
	if h.serve.ProcessState != nil {
		return
	}
	_ = h.serve.Process.Signal(signal)
	_ = h.serve.Wait() // the error is the signal
}

// stopBots kills the bots that a test left running, and waits until they and their
// browsers write no file any more.
func (h *harness) stopBots() {
	locks, _ := filepath.Glob(filepath.Join(h.dir, "bots", "*", "bot.lock"))
	for _, lock := range locks {
		if pid := lockHolder(h.T, lock); pid > 1 {
			h.kill(pid)
		}
	}
}

// kill kills a bot and waits for the end of all processes of its session.
func (h *harness) kill(bot int) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(10 * time.Second); ; {
		processes := processesOf(bot, func(string) bool { return true })
		if len(processes) == 0 {
			return
		}
		for _, pid := range processes {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		select {
		case <-ticker.C:
		case <-deadline:
			h.Errorf("processes of bot %d do not end", bot)
			return
		}
	}
}

// logFailure logs the logs of service and bots if the test failed.
func (h *harness) logFailure() {
	if !h.Failed() {
		return
	}
	for _, event := range h.meeting.Events() {
		h.Logf("meeting: %+v", event)
	}
	logs, _ := filepath.Glob(filepath.Join(h.dir, "bots", "*", "bot.log"))
	for _, path := range append(logs, h.log.Name()) {
		text, _ := os.ReadFile(path)
		h.Logf("%s:\n%s", filepath.Base(path), logtail.Last(string(text)))
	}
}

// call calls the API and decodes the response into out.
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

// send sends a bot into the meeting and returns the job ID.
func (h *harness) send() string { h.Helper(); return h.sendWith(nil) }

// sendWith is like send for a job with metadata.
func (h *harness) sendWith(metadata map[string]any) string {
	h.Helper()
	var created struct{ ID string }
	h.call(http.MethodPost, "/api/v1/jobs", map[string]any{
		"externalId": "e2e", "meetingUrl": h.meeting.URL(), "metadata": notNil(metadata),
		"webhooks": map[string]string{"onStatusChange": h.hooks.url, "onFinalize": h.hooks.url},
	}, &created)
	return created.ID
}

// create creates a job and returns its ID.
func (h *harness) create(request map[string]any) string {
	h.Helper()
	var created struct{ ID string }
	h.call(http.MethodPost, "/api/v1/jobs", request, &created)
	return created.ID
}

// manifest fetches a job's manifest.
func (h *harness) manifest(id string) recording.Manifest {
	h.Helper()
	var manifest recording.Manifest
	h.call(http.MethodGet, "/api/v1/jobs/"+id+"/manifest", nil, &manifest)
	return manifest
}

// recording downloads the recording of a manifest, compares it with the manifest,
// and decodes it.
func (h *harness) recording(manifest recording.Manifest) (path string, report mediacheck.Report) {
	h.Helper()
	file := recordingFile(h.T, manifest)
	path = h.fetch(file)
	return path, checkFile(h.T, path, file, h.picture)
}

// fetch downloads a file of a manifest.
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

// checkFile compares a file with its manifest entry and decodes it.
func checkFile(t *testing.T, path string, file recording.Media, size picture) mediacheck.Report {
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
	if report.Width != size.width || report.Height != size.height || report.VideoCodec != "h264" || report.AudioCodec != "opus" {
		t.Errorf("%s is %dx%d, %s and %s", file.Name, report.Width, report.Height, report.VideoCodec, report.AudioCodec)
	}
	return report
}

// received is a received webhook.
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

// receiver is the consumer's webhook receiver. It keeps running while the service
// restarts.
type receiver struct {
	url string

	mu      sync.Mutex
	hooks   []received
	changed chan struct{} // closed and replaced with each webhook
}

// receive starts a receiver that rejects webhooks not signed with the secret.
func receive(t *testing.T, secret string) *receiver {
	t.Helper()
	r := &receiver{changed: make(chan struct{})}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(rw http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err == nil {
			err = client.VerifyWebhook(request.Header, body, secret, time.Now())
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
		close(r.changed)
		r.changed = make(chan struct{})
	})}
	go func() { _ = server.Serve(listener) }() // ends with Close
	t.Cleanup(func() { _ = server.Close() })
	r.url = "http://" + listener.Addr().String() + "/"
	return r
}

// await returns the first webhook that matches, waiting for it.
func (r *receiver) await(t *testing.T, what string, match func(received) bool) received {
	t.Helper()
	deadline := time.NewTimer(awaitTimeout)
	defer deadline.Stop()
	for {
		r.mu.Lock()
		for _, hook := range r.hooks {
			if match(hook) {
				r.mu.Unlock()
				return hook
			}
		}
		changed := r.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-deadline.C:
			t.Fatalf("no webhook for %s; received %+v", what, r.all())
		}
	}
}

// awaitStatus waits until a job reaches a status.
func (r *receiver) awaitStatus(t *testing.T, want job.Status) {
	t.Helper()
	r.awaitStatusAfter(t, want, 0)
}

// awaitStatusAfter is like awaitStatus for the events after a sequence number.
func (r *receiver) awaitStatusAfter(t *testing.T, want job.Status, sequence int) {
	t.Helper()
	hook := r.await(t, string(want), func(hook received) bool {
		return hook.Event == webhook.JobStatusChanged && hook.Data.Sequence > sequence && (hook.Data.To == want || hook.Data.To.Terminal())
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

// checkTransitions checks the webhooks of a job: each event has one delivery ID,
// events arrive in sequence without gaps, and each transition starts at the status
// of the one before.
func (r *receiver) checkTransitions(t *testing.T, want ...job.Status) {
	t.Helper()
	ids := make(map[int]string)
	var states []job.Status
	last := job.Scheduled
	for _, hook := range r.all() {
		if known, again := ids[hook.Data.Sequence]; again {
			if known != hook.DeliveryID {
				t.Errorf("event %d has the delivery IDs %s and %s", hook.Data.Sequence, known, hook.DeliveryID)
			}
			continue // a retry of the same delivery
		}
		if hook.Data.Sequence != len(ids)+1 {
			t.Errorf("event %d arrived after %d others", hook.Data.Sequence, len(ids))
		}
		ids[hook.Data.Sequence] = hook.DeliveryID
		if hook.Event == webhook.JobStatusChanged {
			if hook.Data.From != last {
				t.Errorf("event %d starts at %s; the job was in %s", hook.Data.Sequence, hook.Data.From, last)
			}
			last = hook.Data.To
			states = append(states, last)
		}
	}
	if fmt.Sprint(states) != fmt.Sprint(want) {
		t.Errorf("states %v, want %v", states, want)
	}
}

// lockHolder returns the process that holds the lock of a bot's directory, or 0.
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

// bot returns the process ID of an attempt's bot.
func (h *harness) bot(id string, attempt int) int {
	h.Helper()
	pid := lockHolder(h.T, filepath.Join(h.dir, "bots", id+"-"+strconv.Itoa(attempt), "bot.lock"))
	if pid == 0 {
		h.Fatalf("no bot of attempt %d runs", attempt)
	}
	return pid
}

// browserOf returns the main process of a bot's browser.
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
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.Contains(string(command), "--user-data-dir") && !strings.Contains(string(command), "--type=") {
			return pid
		}
	}
	h.Fatalf("bot %d has no browser (%v)", bot, err)
	return 0
}
