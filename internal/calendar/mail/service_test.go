package mail_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"standin/client"
	"standin/internal/calendar"
	"standin/internal/calendar/mail"
	"standin/internal/jobs/job"
	"standin/internal/server/httpapi"
	"standin/internal/server/service"
	"standin/internal/testing/await"
	"standin/internal/testing/mailhost"
)

const intakeSecret = "the intake secret"

// These environment variables make the test binary run a mail worker, which kills
// itself at the given occurrence of a step.
const (
	workerDir  = "STANDIN_TEST_MAIL_DIR"
	workerURL  = "STANDIN_TEST_MAIL_URL"
	workerKill = "STANDIN_TEST_MAIL_KILL" // step:number
	workerIMAP = "STANDIN_TEST_MAIL_IMAP" // address of an IMAP server, or empty
)

func TestMain(m *testing.M) {
	if os.Getenv(workerDir) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := runWorker(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// workerSettings returns the settings of a worker that trusts this machine and an
// IMAP server.
func workerSettings(dir, base, imap string) (mail.Settings, error) {
	settings := mail.Settings{
		Dir: dir, Service: mail.NewClient(base, intakeSecret),
		Policy: mail.Policy{
			Senders: []mail.Sender{{From: "*"}}, Recipients: []string{"notes@bots.example.test"},
			Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AuthservIDs: []string{"mx.example.test"},
		},
		SMTP: mail.SMTPSettings{Listen: "127.0.0.1:0", Hostname: "localhost"},
		Log:  slog.New(slog.DiscardHandler),
	}
	if imap != "" {
		_, client := mailhost.TLS()
		settings.IMAP = mail.IMAPSettings{
			URL: &url.URL{Scheme: "imaps", User: url.User(mailhost.User), Host: imap}, Password: "secret",
			Interval: 50 * time.Millisecond, Reconnect: 50 * time.Millisecond, TLS: client,
		}
	}
	return settings, nil
}

// runWorker prints its address and runs until it kills itself.
func runWorker(ctx context.Context) error {
	settings, err := workerSettings(os.Getenv(workerDir), os.Getenv(workerURL), os.Getenv(workerIMAP))
	if err != nil {
		return err
	}
	w, err := mail.Open(ctx, settings)
	if err != nil {
		return err
	}
	step, text, _ := strings.Cut(os.Getenv(workerKill), ":")
	left, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	count := make(chan int, 1)
	count <- left
	w.SetStep(func(name string) {
		if name != step {
			return
		}
		n := <-count
		if n--; n == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until it is killed
		}
		count <- n
	})
	fmt.Println(w.SMTPAddr())
	w.Run(ctx)
	return nil
}

// liveService is a service with the jobs of one organizer.
type liveService struct {
	*service.Service
	api *client.Client
}

func startService(t *testing.T) liveService {
	t.Helper()
	s, err := service.Start(t.Context(), service.Settings{
		Listen: "127.0.0.1:0", DataSettings: service.DataSettings{DataDir: filepath.Join(t.TempDir(),
			"data")}, LauncherSettings: service.LauncherSettings{Launcher: "manual"}, HTTP: httpapi.Options{IntakeSecret: intakeSecret},
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	_, key, err := s.Keys.Issue(t.Context(), "ada", "ada@example.test", job.Live)
	if err != nil {
		t.Fatal(err)
	}
	api, err := client.New(s.BaseURL(), key)
	if err != nil {
		t.Fatal(err)
	}
	return liveService{s, api}
}

// jobs returns the jobs of the organizer by the UID of their event. It fails if
// two have the same.
func (s liveService) jobs(t *testing.T) map[string]client.Job {
	t.Helper()
	found := map[string]client.Job{}
	for j, err := range s.api.Jobs(t.Context(), client.JobFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		var metadata struct{ ICalUID string }
		if err := json.Unmarshal(j.Metadata, &metadata); err != nil {
			t.Fatal(err)
		}
		if other, twice := found[metadata.ICalUID]; twice {
			t.Errorf("the event %s is scheduled twice: %s, %s", metadata.ICalUID, other.ID, j.ID)
		}
		found[metadata.ICalUID] = j
	}
	return found
}

// invitation returns an invitation to an event next week.
func invitation(uid string, sequence int, start time.Time, method string) []byte {
	return fmt.Appendf(nil,
		"From: Ada <ada@example.test>\r\nTo: notes@bots.example.test\r\nSubject: Invitation %[1]s\r\nMessage-ID: <%[1]s.%[2]d@example.test>\r\n"+
			"Content-Type: text/calendar; method=%[4]s; charset=utf-8\r\n\r\nBEGIN:VCALENDAR\r\nMETHOD:%[4]s\r\nBEGIN:VEVENT\r\nUID:%[1]s\r\nSEQUENCE:%[2]d\r\n"+
			"ORGANIZER:mailto:ada@example.test\r\nDTSTART:%[3]s\r\nDURATION:PT1H\r\nSUMMARY:Review\r\nLOCATION:https://meet.google.com/abc-defg-hij\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
		uid, sequence, start.UTC().Format("20060102T150405Z"), method)
}

// send sends a message and returns nil when it is acknowledged.
func send(address string, raw []byte) error {
	c, err := smtp.Dial(address)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.SendMail("ada@example.test", []string{"notes@bots.example.test"}, bytes.NewReader(raw))
}

// TestService sends an invitation, a move and a cancellation by SMTP to a worker
// beside a service, and checks the job and its timeline.
func TestService(t *testing.T) {
	t.Parallel()
	s := startService(t)
	w, stop := startWorker(t, t.TempDir(), s.BaseURL(), "")
	defer func() {
		stop()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	start := time.Now().Add(7 * 24 * time.Hour).Truncate(time.Second).UTC()
	for sequence, step := range []struct {
		start  time.Time
		method string
		status string
	}{{start, "REQUEST", "scheduled"}, {start.Add(2 * time.Hour), "REQUEST", "scheduled"}, {start.Add(2 * time.Hour), "CANCEL", "cancelled"}} {
		if err := send(w.SMTPAddr(), invitation("event-1", sequence, step.start, step.method)); err != nil {
			t.Fatal(err)
		}
		await.Until(t, "the job", func() bool {
			j := s.jobs(t)["event-1"]
			return j.JoinAt.Equal(step.start) && j.Status == step.status && j.MeetingURL == "https://meet.google.com/abc-defg-hij"
		})
	}
	var kinds []string
	for entry, err := range s.api.Timeline(t.Context(), s.jobs(t)["event-1"].ID) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, fmt.Sprintf("%s %s", entry.Kind, entry.Data))
	}
	const moved = `job_changed {"by":"calendar invite","changed":["joinAt"]`
	if len(kinds) != 2 || !strings.HasPrefix(kinds[0], moved) || kinds[1] != `cancel {"by":"calendar invite"}` {
		t.Errorf("the timeline is %q", kinds)
	}
}

// TestAttackRejectedEvent sends an invitation to two meetings and an event whose link
// the service rejects, which costs the others nothing.
func TestAttackRejectedEvent(t *testing.T) {
	t.Parallel()
	s := startService(t)
	dir := t.TempDir()
	w, stop := startWorker(t, dir, s.BaseURL(), "")
	defer func() {
		stop()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	start := time.Now().Add(7 * 24 * time.Hour).Truncate(time.Second).UTC()
	raw := "From: Ada <ada@example.test>\r\nContent-Type: text/calendar\r\n\r\nBEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\n"
	for uid, link := range map[string]string{
		"a": "https://meet.google.com/abc-defg-hij", "b": "https://meet.google.com:99999/abc-defg-hij",
		"c": "https://meet.google.com/xyz-uvwx-rst",
	} {
		raw += fmt.Sprintf("BEGIN:VEVENT\r\nUID:%s\r\nSUMMARY:Event %s\r\nORGANIZER:mailto:ada@example.test\r\nDTSTART:%s\r\nDURATION:PT1H\r\nLOCATION:%s\r\nEND:VEVENT\r\n",
			uid, uid, start.Format("20060102T150405Z"), link)
	}
	if err := send(w.SMTPAddr(), []byte(raw+"END:VCALENDAR\r\n")); err != nil {
		t.Fatal(err)
	}
	got := awaitVerdict(t, dir, 1)
	if jobs := s.jobs(t); len(jobs) != 2 || got.Verdict != "accepted" ||
		!strings.Contains(got.Detail, "“Event b” cannot be scheduled: ") || !strings.Contains(got.Detail, "meetingUrl") {
		t.Errorf("%s: %q, %d jobs", got.Verdict, got.Detail, len(jobs))
	}
}

// awaitVerdict waits until a message is processed.
func awaitVerdict(t *testing.T, dir string, id int64) (found mail.Record) {
	t.Helper()
	await.Until(t, "the record", func() bool {
		records, err := mail.Directory(dir).Records(t.Context(), id+1, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(records) == 0 || records[0].ID != id || records[0].Verdict == "waiting" {
			return false
		}
		found = records[0]
		return true
	})
	return found
}

// TestAttackRedirect redirects the worker's requests to another host, which must not
// get the intake secret.
func TestAttackRedirect(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer other.Close()
	service := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer service.Close()
	invite := calendar.Invite{
		OrganizerEmail: "ada@example.test", MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet, JoinAt: time.Now(),
	}
	_, err := mail.NewClient(service.URL, intakeSecret).Schedule(t.Context(), invite)
	if _, final := errors.AsType[*mail.RejectedError](err); err == nil || final || reached.Load() {
		t.Errorf("%v; the other host is reached: %t", err, reached.Load())
	}
}

// TestKillLosesNothing kills workers with SIGKILL at every step of receiving while
// 200 messages are sent, and checks that each event that was acknowledged is
// scheduled, once.
func TestKillLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	s := startService(t)
	dir := t.TempDir()
	start := time.Now().Add(7 * 24 * time.Hour).Truncate(time.Second).UTC()
	var messages [][]byte
	want := map[string]time.Time{}
	for i := range 160 {
		uid := fmt.Sprintf("event-%d", i)
		want[uid] = start.Add(time.Duration(i) * 2 * time.Hour) // events at one time would share a job
		messages = append(messages, invitation(uid, 0, want[uid], "REQUEST"))
		if i%4 == 3 { // a quarter is moved
			want[uid] = want[uid].Add(time.Hour)
			messages = append(messages, invitation(uid, 1, want[uid], "REQUEST"))
		}
	}
	kills := 0
	steps := receivingSteps()
	for round := 0; len(messages) > 0; round++ {
		worker := exec.CommandContext(t.Context(), os.Args[0])
		worker.Env = append(os.Environ(), workerDir+"="+dir, workerURL+"="+s.BaseURL(),
			fmt.Sprintf("%s=%s:%d", workerKill, steps[round%len(steps)], 3+round%5))
		output, err := worker.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		worker.Stderr = os.Stderr
		if err := worker.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(output)
		for lines.Scan() && len(messages) > 0 {
			for len(messages) > 0 && send(lines.Text(), messages[0]) == nil {
				messages = messages[1:]
			}
			if len(messages) == 0 {
				_ = worker.Process.Kill()
			}
		}
		_ = worker.Wait() // it was killed
		if worker.ProcessState.ExitCode() == -1 {
			kills++
		}
	}
	finishMail(t, dir, s.BaseURL(), "")
	jobs := s.jobs(t)
	for uid, at := range want {
		if got, ok := jobs[uid]; !ok || !got.JoinAt.Equal(at) || got.Status != "scheduled" {
			t.Errorf("the event %s: %+v, want it at %s", uid, got, at)
		}
	}
	t.Logf("%d workers were killed", kills)
	if len(jobs) != len(want) || kills < len(steps) {
		t.Errorf("%d jobs for %d events, after %d kills", len(jobs), len(want), kills)
	}
}

// receivingSteps returns the steps at which workers are killed.
func receivingSteps() []string {
	return []string{"received", "stored", "applied", "before request", "after request", "saved", "finished"}
}

// startWorker starts a worker in this process.
func startWorker(t *testing.T, dir, url, imap string) (w *mail.Worker, stop func()) {
	t.Helper()
	settings, err := workerSettings(dir, url, imap)
	if err != nil {
		t.Fatal(err)
	}
	if w, err = mail.Open(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	return w, func() { cancel(); running.Wait() }
}

// TestWorkerEndsAtItsStart checks that a worker ends if it is stopped before its SMTP
// server has begun to accept connections.
func TestWorkerEndsAtItsStart(t *testing.T) {
	t.Parallel()
	settings, err := workerSettings(t.TempDir(), "http://127.0.0.1:1", "")
	if err != nil {
		t.Fatal(err)
	}
	w, err := mail.Open(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	w.CloseSMTPServer()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	w.Run(stopped)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// finishMail runs a worker until it has accepted all received messages.
func finishMail(t *testing.T, dir, url, imap string) {
	t.Helper()
	w, stop := startWorker(t, dir, url, imap)
	await.Until(t, "the records", func() bool {
		records, err := mail.Directory(dir).Records(t.Context(), 0, 500)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if r.Verdict != "accepted" {
				return false
			}
		}
		return true
	})
	stop()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestKillLosesNothingInMailbox kills workers at every step of reading 105 messages
// of a mailbox, also between storing a message and marking it as seen.
func TestKillLosesNothingInMailbox(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	s := startService(t)
	dir, host := t.TempDir(), mailhost.NewIMAP(t, "secret")
	imap := host.Address
	first, stop := startWorker(t, dir, s.BaseURL(), imap)
	first.AwaitOpened(t, host) // earlier messages are not read
	stop()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	start := time.Now().Add(7 * 24 * time.Hour).Truncate(time.Second).UTC()
	kills, delivered := 0, 0
	for _, step := range receivingSteps() {
		for range 15 {
			raw := invitation(fmt.Sprintf("event-%d", delivered), 0, start.Add(time.Duration(delivered)*time.Hour), "REQUEST")
			host.Deliver(t, append([]byte("Authentication-Results: mx.example.test; dmarc=pass header.from=example.test\r\n"), raw...), time.Now())
			delivered++
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		worker := exec.CommandContext(ctx, os.Args[0])
		worker.Env = append(os.Environ(), workerDir+"="+dir, workerURL+"="+s.BaseURL(), workerKill+"="+step+":5", workerIMAP+"="+imap)
		worker.Stderr = os.Stderr
		err := worker.Run()
		if ctx.Err() != nil || worker.ProcessState.ExitCode() != -1 {
			t.Errorf("the worker was not killed at step %q: %v", step, err)
		} else {
			kills++
		}
		cancel()
	}
	await.Until(t, "all messages to be read", func() bool {
		finishMail(t, dir, s.BaseURL(), imap)
		return !slices.Contains(host.Seen(t), false)
	})
	if jobs := s.jobs(t); len(jobs) != delivered { // it fails if one is scheduled twice
		t.Errorf("%d jobs for %d messages after %d kills", len(jobs), delivered, kills)
	}
}
