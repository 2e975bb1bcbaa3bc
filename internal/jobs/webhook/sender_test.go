package webhook_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"standin/internal/jobs/webhook"
	"standin/internal/testing/await"
	"standin/internal/testing/logtail"
)

func TestReceiverGetsTheEnvelope(t *testing.T) {
	t.Parallel()
	got := newReceiver(t, func(w http.ResponseWriter, _ *http.Request, _ message) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte("thank you"))
	})
	outbox := newOutbox(t)
	sent := delivery(got.URL + "/hook?token=t0ken")
	old := delivery(got.URL)
	old.Version = webhook.Version1
	put(t, outbox, sent, old)
	run(t, outbox, webhook.Settings{PrivateBodies: true})
	await.Until(t, "both deliveries", outbox.final)

	byID := map[string]message{}
	for _, message := range got.messages() {
		byID[message.DeliveryID] = message
		if err := library(t, whsec).Verify(message.body, message.header); err != nil {
			t.Errorf("the Standard Webhooks library refuses: %v", err)
		}
	}
	for _, want := range []struct {
		delivery webhook.Delivery
		version  int
		header   string
	}{{sent, 2, "2"}, {old, 0, "1"}} {
		message := byID[want.delivery.ID]
		if message.Event != want.delivery.Event || message.Attempt != 1 || message.Version != want.version ||
			!message.EmittedAt.Equal(want.delivery.EmittedAt.Truncate(time.Millisecond)) {
			t.Errorf("received %s", message.body)
		}
		for name, value := range map[string]string{
			"content-type":           "application/json",
			webhook.VersionHeader:    want.header,
			webhook.StandardIDHeader: want.delivery.ID,
		} {
			if message.header.Get(name) != value {
				t.Errorf("%s is %q, want %q", name, message.header.Get(name), value)
			}
		}
		row := outbox.row(want.delivery.ID)
		if len(row.tries) != 1 || row.verdicts[0].Outcome != webhook.Delivered {
			t.Fatalf("tries %+v, verdicts %+v", row.tries, row.verdicts)
		}
		try := row.tries[0]
		if try.Number != 1 || try.StatusCode != 202 || string(try.ResponseBody) != "thank you" || try.Error != "" ||
			try.Latency <= 0 || time.Since(try.StartedAt) > time.Minute {
			t.Errorf("stored try %+v", try)
		}
	}
}

func TestResponses(t *testing.T) {
	t.Parallel()
	var visited atomic.Bool
	elsewhere := newReceiver(t, func(http.ResponseWriter, *http.Request, message) { visited.Store(true) })
	gone := newReceiver(t, ok)
	gone.Close()
	mute, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and sends nothing
	if err != nil {
		t.Fatal(err)
	}
	raw := func(response string, reset bool) func(http.ResponseWriter, *http.Request, message) {
		return func(w http.ResponseWriter, _ *http.Request, _ message) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, response)
			if reset {
				_ = conn.(*net.TCPConn).SetLinger(0)
			}
			_ = conn.Close()
		}
	}

	tests := []struct {
		name    string
		answer  func(http.ResponseWriter, *http.Request, message)
		url     string // instead of a receiver's
		refuse  bool   // loopback is not allowed
		timeout time.Duration
		outcome webhook.Outcome
		status  int
		error   string        // a part of it
		wait    time.Duration // least time to the next try
	}{
		{name: "204", answer: status(204), outcome: webhook.Delivered, status: 204},
		{name: "500", answer: status(500), outcome: webhook.Retry, status: 500, wait: 4 * time.Second},
		{name: "400", answer: status(400), outcome: webhook.Retry, status: 400, wait: 4 * time.Second},
		{name: "410", answer: status(410), outcome: webhook.PermanentFailure, status: 410},
		{
			name: "429 with Retry-After",
			answer: func(w http.ResponseWriter, _ *http.Request, _ message) {
				w.Header().Set("Retry-After", "120")
				w.WriteHeader(429)
			},
			outcome: webhook.Retry, status: 429, wait: 119 * time.Second,
		},
		{
			name: "a redirect",
			answer: func(w http.ResponseWriter, r *http.Request, _ message) {
				http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
			},
			outcome: webhook.Retry, status: 307, error: "redirects are not followed",
		},
		{name: "no TLS", url: "https://" + mute.Addr().String(), timeout: time.Second, outcome: webhook.Retry, error: "TLS handshake"},
		{name: "no answer", answer: hang, timeout: time.Second, outcome: webhook.Retry, error: "no response within 1s"},
		{
			name: "an answer that stops half-way",
			answer: func(w http.ResponseWriter, r *http.Request, _ message) {
				w.Header().Set("Content-Length", "100")
				_, _ = w.Write([]byte("half"))
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			},
			timeout: time.Second,
			outcome: webhook.Delivered, status: 200, // the status acknowledges
		},
		{name: "a reset connection", answer: raw("", true), outcome: webhook.Retry, error: "reset"},
		{name: "a closed connection", answer: raw("", false), outcome: webhook.Retry, error: "the connection was closed without a response"},
		{name: "no HTTP", answer: raw(strings.Repeat("x", 2000)+"\r\n\r\n", false), outcome: webhook.Retry, error: "malformed HTTP"},
		{name: "two-byte characters", answer: raw(strings.Repeat("é", 1000)+"\r\n\r\n", false), outcome: webhook.Retry, error: "malformed HTTP"},
		{name: "two-byte characters, cut elsewhere", answer: raw("x"+strings.Repeat("é", 1000)+"\r\n\r\n",
			false), outcome: webhook.Retry, error: "malformed HTTP"},
		{name: "no text", answer: raw("\u202e\x00"+strings.Repeat("\xff", 1000)+"\r\n\r\n",
			false), outcome: webhook.Retry, error: "malformed HTTP"},
		{name: "nobody there", url: gone.URL + "/?token=t0ken", outcome: webhook.Retry, error: "refused"},
		{name: "a refused network", answer: ok, refuse: true, outcome: webhook.Retry, error: "STANDIN_WEBHOOK_ALLOW_CIDRS"},
		{name: "a number for a host", url: "http://2130706433/?token=t0ken", outcome: webhook.Retry, error: "is refused"},
		{name: "another scheme", url: "ftp://a.example/?token=t0ken", outcome: webhook.PermanentFailure, error: "neither http nor https"},
		{name: "no host", url: "https:///hook", outcome: webhook.PermanentFailure, error: "has no host"},
		{name: "no address", url: "https://a.example:port/?token=t0ken", outcome: webhook.PermanentFailure, error: "invalid port"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			url, received := test.url, (*receiver)(nil)
			if url == "" {
				received = newReceiver(t, test.answer)
				url = received.URL + "/?token=t0ken"
			}
			allow := loopback
			if test.refuse {
				allow = []netip.Prefix{}
			}
			outbox := newOutbox(t)
			sent := delivery(url)
			put(t, outbox, sent)
			began := time.Now()
			run(t, outbox, webhook.Settings{Allow: allow, TryTimeout: test.timeout})
			await.Until(t, "a try", func() bool { return len(outbox.row(sent.ID).tries) > 0 })

			row := outbox.row(sent.ID)
			try, verdict := row.tries[0], row.verdicts[0]
			if verdict.Outcome != test.outcome || try.StatusCode != test.status {
				t.Errorf("verdict %+v after %+v, want %s after status %d", verdict, try, test.outcome, test.status)
			}
			if !strings.Contains(try.Error, test.error) || test.error == "" && try.Error != "" {
				t.Errorf("error %q, want %q in it", try.Error, test.error)
			}
			if strings.Contains(try.Error, "t0ken") || utf8.RuneCountInString(try.Error) > 600 {
				t.Errorf("error tells too much: %q", try.Error)
			}
			if !utf8.ValidString(try.Error) || strings.Contains(try.Error, "\x00") {
				t.Errorf("PostgreSQL does not store the error %q", try.Error)
			}
			if wait := verdict.RetryAt.Sub(began); verdict.Outcome == webhook.Retry && wait < test.wait {
				t.Errorf("next try after %v, want %v", wait, test.wait)
			}
			if test.refuse && len(received.messages()) > 0 {
				t.Error("the refused receiver was reached")
			}
		})
	}
	t.Cleanup(func() {
		if mute.Close(); visited.Load() {
			t.Error("a redirect was followed")
		}
	})
}

// TestPrivateBodiesAreNotStored checks that a consumer cannot read the response of an
// internal service in the delivery log. If it may, the first KiB is stored.
func TestPrivateBodiesAreNotStored(t *testing.T) {
	t.Parallel()
	got := newReceiver(t, func(w http.ResponseWriter, _ *http.Request, _ message) {
		_, _ = w.Write(bytes.Repeat([]byte("a"), 64<<10))
	})
	for private, want := range map[bool]int{false: 0, true: 1024} {
		outbox, sent := newOutbox(t), delivery(got.URL)
		put(t, outbox, sent)
		run(t, outbox, webhook.Settings{PrivateBodies: private})
		await.Until(t, "the delivery", outbox.final)
		if try := outbox.row(sent.ID).tries[0]; len(try.ResponseBody) != want || try.StatusCode != http.StatusOK || try.Latency <= 0 {
			t.Errorf("stored %d bytes, status %d, latency %s; want %d bytes", len(try.ResponseBody), try.StatusCode, try.Latency, want)
		}
	}
}

func TestTriesAreCountedUnderOneID(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		fails   int // tries the receiver refuses
		tries   int
		outcome webhook.Outcome
	}{
		{"acknowledged at the third", 2, 3, webhook.Delivered},
		{"acknowledged at the last", 7, 8, webhook.Delivered},
		{"never acknowledged", 100, 8, webhook.PermanentFailure},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := newReceiver(t, func(w http.ResponseWriter, _ *http.Request, m message) {
				if m.Attempt <= test.fails {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			})
			outbox := newOutbox(t)
			outbox.hurry = true
			sent := delivery(got.URL)
			put(t, outbox, sent)
			run(t, outbox, webhook.Settings{Schedule: hurried()})
			await.Until(t, "the end of the delivery", outbox.final)

			messages := got.messages()
			if len(messages) != test.tries {
				t.Fatalf("%d tries, want %d", len(messages), test.tries)
			}
			for i, message := range messages {
				if message.DeliveryID != sent.ID || message.Attempt != i+1 {
					t.Errorf("try %d came as %s, attempt %d", i+1, message.DeliveryID, message.Attempt)
				}
			}
			if row := outbox.row(sent.ID); row.verdicts[test.tries-1].Outcome != test.outcome {
				t.Errorf("verdicts %+v, want %s in the end", row.verdicts, test.outcome)
			}
		})
	}
}

func TestTriesPerHostAreBounded(t *testing.T) {
	t.Parallel()
	const deliveries, perHost = 60, 4
	var now, most atomic.Int32
	got := newReceiver(t, func(http.ResponseWriter, *http.Request, message) {
		here := now.Add(1)
		defer now.Add(-1)
		for seen := most.Load(); here > seen && !most.CompareAndSwap(seen, here); seen = most.Load() {
		}
	})
	outbox := newOutbox(t)
	for range deliveries {
		put(t, outbox, delivery(got.URL))
	}
	run(t, outbox, webhook.Settings{MaxTriesPerHost: perHost})
	await.Until(t, "all deliveries", outbox.final)
	if most.Load() > perHost {
		t.Errorf("%d tries at once, want at most %d", most.Load(), perHost)
	}
	if len(got.messages()) != deliveries {
		t.Errorf("%d requests for %d deliveries", len(got.messages()), deliveries)
	}
}

// After a crash between the response and its recording, the next process sends
// the delivery again, with the same ID and the next attempt number.
func TestCrashBeforeRecording(t *testing.T) {
	t.Parallel()
	got := newReceiver(t, ok)
	var crashed atomic.Bool
	crashed.Store(true)
	outbox := newOutbox(t)
	outbox.fail = func(operation string) error {
		if operation == "record" && crashed.Load() {
			return errors.New("the process is gone")
		}
		return nil
	}
	sent := delivery(got.URL)
	put(t, outbox, sent)

	began := time.Now()
	before := run(t, outbox, webhook.Settings{})
	await.Until(t, "the first try", func() bool { return len(got.messages()) == 1 })
	before.stop()
	crashed.Store(false)
	if row := outbox.row(sent.ID); len(row.tries) != 0 {
		t.Fatalf("something was recorded: %+v", row)
	}

	// Nothing happens before the lease ends.
	later := func() time.Time { return time.Now().Add(29 * time.Second) }
	run(t, outbox, webhook.Settings{Now: later})
	await.Until(t, "the second try", outbox.final)
	if waited := outbox.row(sent.ID).tries[0].StartedAt.Sub(began); waited < 30*time.Second-time.Millisecond {
		t.Errorf("sent again after %v, during the lease", waited)
	}
	messages := got.messages()
	if len(messages) != 2 || messages[1].DeliveryID != sent.ID || messages[1].Attempt != 2 {
		t.Errorf("received %d requests, the last %s", len(messages), messages[len(messages)-1].body)
	}
}

func TestDatabaseErrorsAreRetried(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"claim", "record", "next"} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			got := newReceiver(t, ok)
			failures := 2
			outbox := newOutbox(t)
			outbox.fail = func(tried string) error { // called under the outbox's mutex
				if tried == operation && failures > 0 {
					failures--
					return errors.New("database is away")
				}
				return nil
			}
			put(t, outbox, delivery(got.URL))
			sender := run(t, outbox, webhook.Settings{Poll: time.Hour})
			await.Until(t, "the delivery", outbox.final)

			put(t, outbox, delivery(got.URL))
			sender.Wake()
			await.Until(t, "the delivery after it", outbox.final)
			if n := len(got.messages()); n != 2 {
				t.Errorf("%d requests for 2 deliveries", n)
			}
		})
	}
}

func TestSenderSleepsUntilDueOrWoken(t *testing.T) {
	t.Parallel()
	got := newReceiver(t, ok)
	outbox := newOutbox(t)
	sender := run(t, outbox, webhook.Settings{Poll: time.Hour})

	due := delivery(got.URL)
	due.EmittedAt = time.Now().Add(300 * time.Millisecond).Truncate(time.Millisecond)
	put(t, outbox, due)
	sender.Wake()
	await.Until(t, "the delivery at its time", outbox.final)
	if early := due.EmittedAt.Sub(outbox.row(due.ID).tries[0].StartedAt); early > 0 {
		t.Errorf("sent %v too early", early)
	}

	put(t, outbox, delivery(got.URL))
	sender.Wake()
	await.Until(t, "the delivery it was woken for", outbox.final)
}

func TestRunWaitsForTries(t *testing.T) {
	t.Parallel()
	arrived, answer := make(chan struct{}), make(chan struct{})
	got := newReceiver(t, func(http.ResponseWriter, *http.Request, message) {
		close(arrived)
		<-answer
	})
	outbox := newOutbox(t)
	job := uuid.New()
	sent, behind := deliveryOf(job, 1, got.URL), deliveryOf(job, 2, got.URL)
	put(t, outbox, sent, behind)
	sender := run(t, outbox, webhook.Settings{Grace: 10 * time.Second})
	<-arrived
	sender.cancel()
	select {
	case <-sender.ended:
		t.Error("ended while a try was running")
	case <-time.After(50 * time.Millisecond):
	}
	close(answer)
	<-sender.ended
	if !outbox.row(sent.ID).final() {
		t.Error("the try that was running is not recorded")
	}
	if outbox.attempts(t, behind) != 0 {
		t.Error("a try was started after the end")
	}
}

func TestRunCancelsTriesAfterGrace(t *testing.T) {
	t.Parallel()
	got := newReceiver(t, hang)
	outbox := newOutbox(t)
	sent := delivery(got.URL)
	put(t, outbox, sent)
	sender := run(t, outbox, webhook.Settings{Grace: 20 * time.Millisecond})
	await.Until(t, "the try", func() bool { return len(got.messages()) == 1 })
	sender.stop()
	row := outbox.row(sent.ID)
	if outbox.attempts(t, sent) != 0 || len(row.tries) != 0 {
		t.Errorf("after the end: %+v", row)
	}
}

func TestOneLogLinePerTryWithoutSecrets(t *testing.T) {
	t.Parallel()
	got := newReceiver(t, status(500))
	outbox := newOutbox(t)
	sent := delivery("http://user:passw0rd@" + strings.TrimPrefix(got.URL, "http://") + "/p4th?token=t0ken")
	put(t, outbox, sent)
	var log logtail.Buffer
	sender := run(t, outbox, webhook.Settings{Log: slog.New(slog.NewJSONHandler(&log, nil))})
	await.Until(t, "the try", func() bool { return len(outbox.row(sent.ID).tries) == 1 })
	sender.stop()

	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 1 {
		t.Fatalf("%d lines: %s", len(lines), log.String())
	}
	for _, want := range []string{
		`"msg":"webhook try"`, `"level":"WARN"`, `"delivery":"` + sent.ID, `"job":"` + sent.JobID.String(),
		`"event":"job.status_changed"`, `"host":"127.0.0.1:`, `"attempt":1`, `"status":500`, `"latency":`,
		`"verdict":"retry"`, `"retry_at":`,
	} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("no %s in %s", want, lines[0])
		}
	}
	for _, secret := range []string{"t0ken", "passw0rd", "p4th", "whsec"} {
		if strings.Contains(lines[0], secret) {
			t.Errorf("%s is in %s", secret, lines[0])
		}
	}
}

// Whatever receivers do, each delivery ends, under one ID and unique attempt
// numbers, and is acknowledged once. A request without a response may come twice.
func TestFaultyReceivers(t *testing.T) {
	t.Parallel()
	const hosts, jobs, events = 4, 10, 5
	outbox := newOutbox(t)
	outbox.hurry = true
	var receivers []*receiver
	for range hosts {
		got := newReceiver(t, func(w http.ResponseWriter, r *http.Request, m message) {
			switch (m.Data.Sequence + int64(m.Attempt)) % 5 {
			case 0:
				w.WriteHeader(http.StatusInternalServerError)
			case 1:
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusTooManyRequests)
			case 2:
				panic(http.ErrAbortHandler) // the connection breaks
			}
		})
		receivers = append(receivers, got)
		for range jobs {
			job := uuid.New()
			for sequence := range int64(events) {
				put(t, outbox, deliveryOf(job, sequence, got.URL))
			}
		}
	}
	run(t, outbox, webhook.Settings{})
	await.Until(t, "the end of all deliveries", outbox.final)

	seen := map[string]bool{}
	acknowledged := map[string]int{}
	for _, receiver := range receivers {
		for _, message := range receiver.messages() {
			key := fmt.Sprint(message.DeliveryID, " attempt ", message.Attempt)
			behavior := (message.Data.Sequence + int64(message.Attempt)) % 5
			if seen[key] && behavior != 2 {
				t.Errorf("%s came twice", key)
			}
			seen[key] = true
			if behavior > 2 {
				acknowledged[message.DeliveryID]++
			}
		}
	}
	if len(acknowledged) != hosts*jobs*events {
		t.Errorf("%d deliveries were acknowledged, want %d", len(acknowledged), hosts*jobs*events)
	}
	for id, times := range acknowledged {
		if times != 1 {
			t.Errorf("%s was acknowledged %d times", id, times)
		}
	}
}
