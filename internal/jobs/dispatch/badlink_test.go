package dispatch_test

import (
	"strings"
	"testing"

	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
)

// TestLinkWithoutMeeting checks that a job whose link leads to no meeting fails
// without launching a bot.
func TestLinkWithoutMeeting(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.run(t)
	for link, detail := range map[string]string{
		"https://zoom.us/meeting/register/tJ0":                       "registration page",
		"https://meet.google.com/new":                                "no meeting code",
		"https://www.google.com/url?q=https%3A%2F%2Fzoom.us%2Fu%2F1": "telephone numbers",
		"https://evil.test/abc-defg-hij":                             "STANDIN_ALLOWED_MEETING_HOSTS",
	} {
		j := h.NewJob(t, func(r *lifecycle.NewJob) { r.MeetingURL = link })
		r := h.until(t, j.ID, "its end", func(r job.Record) bool { return r.Status.Terminal() })
		if r.Status != job.Failed || r.FailureCode != job.MeetingNotFound || !strings.Contains(r.FailureDetail, detail) || r.Attempts != 0 {
			t.Errorf("%s: %s %s %q after %d attempts, want meeting_not_found with %q", link, r.Status, r.FailureCode, r.FailureDetail, r.Attempts,
				detail)
		}
		if n := len(h.bots.launches(j.ID)); n > 0 {
			t.Errorf("%s: %d bots were launched", link, n)
		}
	}
	for _, link := range []string{"https://meet.test/room", "https://g.co/meet/weekly"} { // an allowed host, and a nickname
		j := h.NewJob(t, func(r *lifecycle.NewJob) { r.MeetingURL = link })
		h.untilLaunched(t, j.ID, 0)
	}
}
