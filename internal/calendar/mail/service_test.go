package mail_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
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
	"syscall"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/google/uuid"

	"standin/client"
	"standin/internal/calendar/mail"
	"standin/internal/jobs/job"
	"standin/internal/server/service"
	"standin/internal/store"
	"standin/internal/testing/await"
	"standin/internal/testing/mailhost"
	"standin/internal/testing/storetest"
)

// These environment variables make the test binary run a mail worker, which kills
// itself at the given occurrence of a step.
const (
	workerDir  = "STANDIN_TEST_MAIL_DIR"  // data directory of the service
	workerKill = "STANDIN_TEST_MAIL_KILL" // step:number
	workerIMAP = "STANDIN_TEST_MAIL_IMAP" // address of an IMAP server, or empty
)

func TestMain(m *testing.M) {
	if os.Getenv(workerDir) == "" {
		os.Exit(storetest.Main(m, func(c *storetest.Cluster) { mail.Cluster = c }))
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
func workerSettings(imap string) mail.Settings {
	settings := mail.Settings{
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
	return settings
}

// runWorker prints its address and runs until it kills itself.
func runWorker(ctx context.Context) error {
	settings, data := workerSettings(os.Getenv(workerIMAP)), service.DataSettings{DataDir: os.Getenv(workerDir)}
	database, err := store.Open(ctx, service.DatabaseAddress("", data.DataDir))
	if err != nil {
		return err
	}
	settings.Store, settings.Jobs = database, service.EventSettings{}.Scheduler(database)
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
	api     *client.Client
	dir     string     // of its data
	records mail.Store // of the worker
}

func startService(t *testing.T) liveService {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	s, err := service.Start(t.Context(), service.Settings{
		Listen: "127.0.0.1:0", DataSettings: service.DataSettings{DataDir: dir}, LauncherSettings: service.LauncherSettings{Launcher: "manual"},
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
	database, err := store.Open(t.Context(), service.DatabaseAddress("", dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := database.Close(); err != nil {
			t.Error(err)
		}
	})
	return liveService{s, api, dir, mail.Store{DB: database}}
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
	w, stop := s.startWorker(t, workerSettings(""))
	defer stop()
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
	w, stop := s.startWorker(t, workerSettings(""))
	defer stop()
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
	got := s.awaitVerdict(t)
	if jobs := s.jobs(t); len(jobs) != 2 || got.Verdict != "accepted" ||
		!strings.Contains(got.Detail, "“Event b” cannot be scheduled: ") || !strings.Contains(got.Detail, "the meeting URL is not") {
		t.Errorf("%s: %q, %d jobs", got.Verdict, got.Detail, len(jobs))
	}
}

// awaitVerdict waits until the newest message is processed.
func (s liveService) awaitVerdict(t *testing.T) (found mail.Record) {
	t.Helper()
	await.Until(t, "the record", func() bool {
		records, err := s.records.Records(t.Context(), uuid.Nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(records) == 0 || records[0].Verdict == "waiting" {
			return false
		}
		found = records[0]
		return true
	})
	return found
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
		worker.Env = append(os.Environ(), workerDir+"="+s.dir,
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
	s.finishMail(t, "")
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
	return []string{"received", "stored", "applied", "before jobs", "after jobs", "finished"}
}

// startWorker starts a worker in this process.
func (s liveService) startWorker(t *testing.T, settings mail.Settings) (w *mail.Worker, stop func()) {
	t.Helper()
	w, err := s.OpenMail(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	return w, func() { cancel(); running.Wait(); w.Close() }
}

// TestWorkerEndsAtItsStart checks that a worker ends if it is stopped before its SMTP
// server has begun to accept connections.
func TestWorkerEndsAtItsStart(t *testing.T) {
	t.Parallel()
	w, err := startService(t).OpenMail(t.Context(), workerSettings(""))
	if err != nil {
		t.Fatal(err)
	}
	w.CloseSMTPServer()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	w.Run(stopped)
	w.Close()
}

// finishMail runs a worker until it has accepted all received messages.
func (s liveService) finishMail(t *testing.T, imap string) {
	t.Helper()
	_, stop := s.startWorker(t, workerSettings(imap))
	defer stop()
	await.Until(t, "the records", func() bool {
		records, err := s.records.Records(t.Context(), uuid.Nil, 500)
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
}

// TestKillLosesNothingInMailbox kills workers at every step of reading 105 messages
// of a mailbox, also between storing a message and marking it as seen.
func TestKillLosesNothingInMailbox(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	s := startService(t)
	host := mailhost.NewIMAP(t, "secret")
	imap := host.Address
	first, stop := s.startWorker(t, workerSettings(imap))
	first.AwaitOpened(t, host) // earlier messages are not read
	stop()
	start := time.Now().Add(7 * 24 * time.Hour).Truncate(time.Second).UTC()
	kills, delivered := 0, 0
	for _, step := range receivingSteps() {
		for range 15 {
			raw := invitation(fmt.Sprintf("event-%d", delivered), 0, start.Add(time.Duration(2*delivered)*time.Hour), "REQUEST")
			host.Deliver(t, append([]byte("Authentication-Results: mx.example.test; dmarc=pass header.from=example.test\r\n"), raw...), time.Now())
			delivered++
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		worker := exec.CommandContext(ctx, os.Args[0])
		worker.Env = append(os.Environ(), workerDir+"="+s.dir, workerKill+"="+step+":5", workerIMAP+"="+imap)
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
		s.finishMail(t, imap)
		return !slices.Contains(host.Seen(t), false)
	})
	if jobs := s.jobs(t); len(jobs) != delivered { // it fails if one is scheduled twice
		t.Errorf("%d jobs for %d messages after %d kills", len(jobs), delivered, kills)
	}
}
