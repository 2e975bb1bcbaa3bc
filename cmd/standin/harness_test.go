package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"standin/client"

	"standin/internal/bot/browser"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/recording"
	"standin/internal/replica"
	"standin/internal/testing/await"
	"standin/internal/testing/logtail"
	"standin/internal/testing/mediacheck"
	"standin/internal/testing/testbrowser"
)

// needTools skips a test that needs a browser and ffmpeg with -short, and if they are
// missing; in CI it fails it then.
func needTools(t *testing.T) {
	t.Helper()
	long(t)
	_, err := browser.Find("")
	switch err = cmp.Or(err, mediacheck.Available()); {
	case err != nil && os.Getenv("CI") != "":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
}

// harness is a running service with real bots, a replica meeting, and a team with a
// webhook receiver.
type harness struct {
	*target
	picture picture
	meeting *replica.Meeting
	replica *replica.Server
	hooks   *receiver
	secret  string // of the webhooks
	key     string
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

// newHarness opens the meeting and starts the service, for a test that records. Bots may connect to the hosts, too.
func newHarness(t *testing.T, size picture, hosts ...string) *harness {
	t.Helper()
	needTools(t)
	testbrowser.Reserve(t)
	return openHarness(t, size, hosts...)
}

// openHarness is newHarness for a test that has several, and reserves itself.
func openHarness(t *testing.T, size picture, hosts ...string) *harness {
	t.Helper()
	h := &harness{picture: size}
	h.replica, h.meeting = openMeeting(t, size)
	dir := newDataDir(t)
	t.Cleanup(func() { stopBots(t, dir) }) // after the service, which would replace them
	h.target = startTarget(t, dir, "STANDIN_LAUNCHER=process", "STANDIN_NO_SANDBOX=true", "STANDIN_LOOPBACK_MEETINGS=true",
		"STANDIN_ALLOWED_MEETING_HOSTS="+strings.Join(append(hosts, strings.TrimPrefix(h.replica.URL(), "http://")), ","),
		fmt.Sprintf("STANDIN_PICTURE_SIZE=%dx%d", size.width, size.height),
		"STANDIN_FRAME_RATE="+cmp.Or(os.Getenv("STANDIN_FRAME_RATE"), size.frameRate), // TestCost sets it
		modeVariable+"="+cmp.Or(os.Getenv(modeVariable), "headless"))
	t.Cleanup(h.logFailure)
	h.key = h.target.key("e2e")
	shown, err := h.standin("consumers", "show", "e2e", "--secret")
	if err != nil {
		t.Fatal(err)
	}
	h.secret = strings.Fields(shown[strings.Index(shown, "whsec_"):])[0]
	h.hooks = receive(t, h.secret)
	return h
}

// openMeeting opens a replica of a meeting.
func openMeeting(t *testing.T, size picture) (*replica.Server, *replica.Meeting) {
	t.Helper()
	media, err := size.prepare(t.Context(), replica.MediaFolder())
	if err != nil {
		t.Fatal(err)
	}
	server, err := replica.Start(context.WithoutCancel(t.Context()), replica.Options{Media: media})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	meeting, err := server.Open(replica.Settings{AdmitAfter: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return server, meeting
}

// stopBots kills the bots that a test left running, and waits until they and their
// browsers write no file any more.
func stopBots(t *testing.T, dir string) {
	locks, _ := filepath.Glob(filepath.Join(dir, "bots", "*", "bot.lock"))
	for _, lock := range locks {
		bot := lockHolder(t, lock)
		await.Until(t, "the processes of a bot to end", func() bool {
			if bot <= 1 {
				return true
			}
			processes := processesOf(bot, nil)
			for _, pid := range processes {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return len(processes) == 0
		})
	}
}

// logFailure logs the events of the meeting and the logs of the bots if the test failed.
func (h *harness) logFailure() {
	if !h.Failed() {
		return
	}
	for _, event := range h.meeting.Events() {
		h.Logf("meeting: %+v", event)
	}
	logs, _ := filepath.Glob(filepath.Join(h.dir, "bots", "*", "bot.log"))
	for _, path := range logs {
		text, _ := os.ReadFile(path)
		h.Logf("%s:\n%s", path, logtail.Last(string(text)))
	}
}

// call calls the API and decodes the response into out.
func (h *harness) call(method, path string, body, out any) {
	h.Helper()
	answer := h.target.call(method, path, h.key, body)
	if answer.status >= 300 {
		h.Fatalf("%s %s: %d: %s", method, path, answer.status, answer.body)
	}
	if out != nil {
		if err := json.Unmarshal([]byte(answer.body), out); err != nil {
			h.Fatalf("%s %s: %v in %s", method, path, err, answer.body)
		}
	}
}

// create creates a job for the meeting, unless the request names another one, and returns
// its ID.
func (h *harness) create(request map[string]any) string {
	h.Helper()
	if request["meetingUrl"] == nil {
		request["meetingUrl"] = h.meeting.URL()
	}
	request["webhooks"] = map[string]string{"onStatusChange": h.hooks.url, "onFinalize": h.hooks.url}
	return h.target.create(h.key, request)
}

// visit is a job in a meeting of its own.
type visit struct {
	*harness
	id string
}

// visit opens a meeting and sends a bot into it, for another test.
func (h *harness) visit(t *testing.T, settings replica.Settings, request map[string]any) visit {
	t.Helper()
	copied, service := *h, *h.target
	service.T = t
	copied.target = &service
	var err error
	if copied.meeting, err = h.replica.Open(settings); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(copied.logFailure)
	return visit{&copied, copied.create(request)}
}

// awaitJob waits until a job has one of the statuses.
func (h *harness) awaitJob(id string, wanted ...job.Status) (status job.Status) {
	h.Helper()
	h.await(fmt.Sprint(wanted), func() bool {
		var got struct {
			Status        job.Status
			FailureDetail string
		}
		h.call(http.MethodGet, "/api/v1/jobs/"+id, nil, &got)
		status = got.Status
		if !slices.Contains(wanted, status) && status.Terminal() {
			h.Fatalf("the job is %s before %v: %s", status, wanted, got.FailureDetail)
		}
		return slices.Contains(wanted, status)
	})
	return status
}

// manifest fetches a job's manifest.
func (h *harness) manifest(id string) (manifest recording.Manifest) {
	h.Helper()
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
	path = filepath.Join(h.TempDir(), file.Name)
	got := h.send(http.MethodGet, strings.TrimPrefix(file.URI, h.base), http.Header{"Authorization": {"Bearer " + h.key}}, nil)
	if got.status != http.StatusOK {
		h.Fatalf("fetch %s: %d", file.Name, got.status)
	}
	if err := os.WriteFile(path, []byte(got.body), 0o600); err != nil {
		h.Fatal(err)
	}
	return path
}

// recordingFile returns the only file of a manifest with the mixed recording.
func recordingFile(t *testing.T, manifest recording.Manifest) recording.Media {
	t.Helper()
	files := slices.DeleteFunc(slices.Clone(manifest.Media), func(m recording.Media) bool {
		return m.Kind != recording.Video && m.Kind != recording.Audio
	})
	if len(files) != 1 {
		t.Fatalf("the manifest has %d files of the mixed recording, want 1: %+v", len(files), manifest.Media)
	}
	return files[0]
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
	if report.Width != size.width || report.Height != size.height || report.VideoCodec != "h264" || report.AudioCodec != "aac" {
		t.Errorf("%s is %dx%d, %s and %s", file.Name, report.Width, report.Height, report.VideoCodec, report.AudioCodec)
	}
	return report
}

// received is a received webhook.
type received struct {
	DeliveryID string `json:"deliveryId"`
	Event      string `json:"event"`
	Data       struct {
		JobID    string     `json:"jobId"`
		From     job.Status `json:"from"`
		To       job.Status `json:"to"`
		Sequence int        `json:"sequence"`

		FailureCode   job.FailureCode `json:"failure_code"`
		FailureDetail string          `json:"failure_detail"`
	} `json:"data"`
}

// receiver is the team's webhook receiver. It keeps running while the service
// restarts.
type receiver struct {
	url string

	mu    sync.Mutex
	hooks []received
}

// receive starts a receiver that rejects webhooks not signed with the secret.
func receive(t *testing.T, secret string) *receiver {
	t.Helper()
	r := new(receiver)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, request *http.Request) {
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
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// of returns the webhooks of a job.
func (r *receiver) of(id string) (hooks []received) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, hook := range r.hooks {
		if hook.Data.JobID == id {
			hooks = append(hooks, hook)
		}
	}
	return hooks
}

// checkTransitions waits for the last webhook of a job, and checks all of them: each event
// has one delivery ID, events arrive in sequence without gaps, and each transition starts at
// the status of the one before.
func (r *receiver) checkTransitions(t *testing.T, id string, want ...job.Status) {
	t.Helper()
	await.Until(t, "the webhook job.finalized", func() bool {
		return slices.ContainsFunc(r.of(id), func(hook received) bool { return hook.Event == webhook.JobFinalized })
	})
	ids := make(map[int]string)
	var states []job.Status
	last := job.Scheduled
	for _, hook := range r.of(id) {
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
			if last = hook.Data.To; last != job.EnteringLobby { // it may be short
				states = append(states, last)
			}
		}
	}
	if !slices.Equal(states, want) {
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
func (s *target) bot(id string, attempt int) int {
	return lockHolder(s.T, filepath.Join(s.dir, "bots", id+"-"+strconv.Itoa(attempt), "bot.lock"))
}

// browserOf returns the main process of a bot's browser.
func (h *harness) browserOf(bot int) int {
	h.Helper()
	browsers := processesOf(bot, func(command string) bool {
		return strings.Contains(command, "--user-data-dir") && !strings.Contains(command, "--type=")
	})
	if len(browsers) == 0 {
		h.Fatalf("bot %d has no browser", bot)
	}
	return browsers[0]
}
