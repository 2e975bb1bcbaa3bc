package mail

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"standin/internal/account"
	"standin/internal/jobs/job"
)

// at returns an invitation to an event.
func at(uid string, start time.Time) []byte {
	return fmt.Appendf(nil,
		"From: Ada <ada@example.test>\r\nMessage-ID: <%[1]s@example.test>\r\nContent-Type: text/calendar; charset=utf-8\r\n\r\n"+
			"BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nUID:%[1]s\r\nDTSTART:%[2]s\r\nDURATION:PT2H\r\nLOCATION:https://meet.google.com/abc-defg-hij\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
		uid, start.UTC().Format("20060102T150405Z"))
}

// TestSeriesContinues checks that the occurrences of a series are scheduled as
// their time comes nearer, and that what a person has cancelled is not scheduled again.
func TestSeriesContinues(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.process(t, sample(t, "google-weekly"))
	second := h.jobs(t)[1]
	team, err := h.Store.ConsumerByEmail(t.Context(), second.Email)
	if err == nil {
		err = h.Jobs.Jobs.Cancel(t.Context(), account.Caller{ConsumerID: team.ID, Mode: job.Live}, second.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	for week, jobs := range []int{2, 3, 4, 5, 6} { // without the cancelled one
		for range 7 {
			h.now = h.now.Add(24 * time.Hour)
			h.run(t)
		}
		if got := h.scheduled(t); len(got) != jobs {
			t.Errorf("after %d weeks: jobs %q, want %d", week+1, got, jobs)
		}
	}
	// The series is cancelled: past meetings stay, future ones do not.
	cancel := bytes.ReplaceAll(sample(t, "google-weekly"), []byte("METHOD:REQUEST"), []byte("METHOD:CANCEL"))
	cancel = bytes.ReplaceAll(cancel, []byte("SEQUENCE:0"), []byte("SEQUENCE:1"))
	h.process(t, cancel)
	for _, j := range h.jobs(t) {
		if j.Status != job.Cancelled && j.JoinAt.After(h.now) {
			t.Errorf("the meeting on %s is still scheduled", j.JoinAt)
		}
	}
}
