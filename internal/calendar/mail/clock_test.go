package mail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// at returns an invitation to an event.
func at(uid string, start time.Time) []byte {
	return fmt.Appendf(nil,
		"From: Ada <ada@example.test>\r\nMessage-ID: <%[1]s@example.test>\r\nContent-Type: text/calendar; charset=utf-8\r\n\r\n"+
			"BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nUID:%[1]s\r\nDTSTART:%[2]s\r\nDURATION:PT2H\r\nLOCATION:https://meet.google.com/abc-defg-hij\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
		uid, start.UTC().Format("20060102T150405Z"))
}

// TestServiceIsDown checks that nothing is lost while the service cannot be
// reached for an hour, and that meetings are joined that began meanwhile.
func TestServiceIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, func(s *Settings) { s.Now = time.Now })
		h.service.down = true
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { h.Run(ctx) })
		const messages = 5
		for i := range messages {
			if err := h.receive(ctx, received{
				source: "smtp", remote: "192.0.2.1", raw: at(fmt.Sprint("event-", i), time.Now().Add(time.Duration(30+i)*time.Minute)),
			}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Hour)
		h.service.mu.Lock()
		if calls := h.service.calls; len(h.service.jobs) != 0 || calls < messages || calls > 15*messages {
			t.Errorf("%d requests and %d jobs in an hour", calls, len(h.service.jobs))
		}
		h.service.down = false
		h.service.mu.Unlock()
		time.Sleep(30 * time.Minute)
		stop()
		running.Wait()
		if jobs := h.service.scheduled(); len(jobs) != messages {
			t.Errorf("%d jobs for %d messages", len(jobs), messages)
		}
	})
}

// TestGivingUp checks that a message is retried for three days, and again when an
// operator asks for it.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.service.down = true
	began := h.now
	got := h.process(t, sample(t, "outlook-single"))
	var pauses []time.Duration
	for got.Verdict == waiting {
		pauses = append(pauses, got.NextAt.Sub(h.now))
		h.now = got.NextAt
		if len(pauses) == 12 { // the further ones are like the last one
			h.now = began.Add(retryTime - 2*time.Hour)
		}
		got = h.run(t)
	}
	if got.Verdict != failed || !strings.Contains(got.Detail, "connection refused") || h.now.Sub(began) < retryTime-time.Hour ||
		h.now.Sub(began) > retryTime {
		t.Errorf("after %s: %+v", h.now.Sub(began), got)
	}
	if pauses[0] != 10*time.Second || pauses[1] != 20*time.Second || pauses[len(pauses)-1] != 30*time.Minute {
		t.Errorf("the pauses are %v", pauses)
	}
	h.service.down = false
	if err := h.store.Retry(t.Context(), got.ID, h.now); err != nil {
		t.Fatal(err)
	}
	if got := h.run(t); got.Verdict != accepted || len(h.service.jobs) != 1 {
		t.Errorf("after the retry: %+v", got)
	}
	if err := h.store.Retry(t.Context(), 999, h.now); err == nil {
		t.Error("a message that does not exist is retried")
	}
}

// TestSeriesContinues checks that the occurrences of a series are scheduled as
// their time comes nearer, also after a day on which the service was down, and that
// what an operator cancelled is not scheduled again.
func TestSeriesContinues(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.process(t, sample(t, "google-weekly"))
	h.service.jobs[1].Cancelled = true
	for week, jobs := range []int{2, 3, 4, 5, 6} { // without the cancelled one
		h.service.down = week == 2
		for range 7 {
			h.now = h.now.Add(24 * time.Hour)
			h.run(t)
		}
		if h.service.down {
			h.service.down = false
			h.now = h.now.Add(time.Hour)
			h.run(t)
		}
		if got := h.service.scheduled(); len(got) != jobs {
			t.Errorf("after %d weeks: jobs %q, want %d", week+1, got, jobs)
		}
	}
	// The series is cancelled: past meetings stay, future ones do not.
	cancel := bytes.ReplaceAll(sample(t, "google-weekly"), []byte("METHOD:REQUEST"), []byte("METHOD:CANCEL"))
	cancel = bytes.ReplaceAll(cancel, []byte("SEQUENCE:0"), []byte("SEQUENCE:1"))
	h.process(t, cancel)
	for _, j := range h.service.jobs {
		if !j.Cancelled && j.JoinAt.After(h.now) {
			t.Errorf("the meeting on %s is still scheduled", j.JoinAt)
		}
	}
}

// TestResponses checks how responses of the service are understood.
func TestResponses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status    int
		body      string
		cancelled bool
		final     bool
		ok        bool
	}{
		"scheduled":          {status: 201, body: `{"kind":"scheduled","jobId":"0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80"}`, ok: true},
		"not JSON":           {status: 200, body: `<html>`},
		"invalid":            {status: 400, body: `{"error":"invalid_input","message":"no"}`, final: true},
		"a proxy's 400":      {status: 400, body: `Bad Request`},
		"wrong secret":       {status: 401},
		"nothing to cancel":  {status: 404, body: `{"error":"not_found","message":"none"}`, cancelled: true, ok: true},
		"not found":          {status: 404},
		"too many":           {status: 429},
		"an internal error":  {status: 500},
		"restarting service": {status: 503},
	} {
		_, err := readResult(test.status, []byte(test.body), test.cancelled)
		_, final := errors.AsType[*RejectedError](err)
		if (err == nil) != test.ok || final != test.final {
			t.Errorf("%s: %v", name, err)
		}
	}
}
