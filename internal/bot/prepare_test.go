package bot

import (
	"log/slog"
	"strings"
	"testing"

	"standin/internal/bot/hostpolicy"
	"standin/internal/job"
)

// TestPrepare: what is checked is the address that the browser would open, with
// redirectors taken off; a refused one fails the job before a browser starts.
func TestPrepare(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		address string
		want    job.FailureCode // empty: as far as the browser
		opens   string
		detail  string
	}{
		"a meeting":                   {"https://meet.google.com/abc-defg-hij", "", "https://meet.google.com/abc-defg-hij?hl=en", ""},
		"in Google's redirector":      {"https://www.google.com/url?q=https%3A%2F%2Fmeet.google.com%2Fabc-defg-hij&sa=D", "", "https://meet.google.com/abc-defg-hij?hl=en", ""},
		"elsewhere in the redirector": {"https://www.google.com/url?q=https%3A%2F%2Fevil.test%2Fabc", job.MeetingNotFound, "", hostpolicy.AllowedHostsSetting},
		"another page of Google's":    {"https://google.com/search?q=meet", job.MeetingNotFound, "", hostpolicy.AllowedHostsSetting},
		"elsewhere":                   {"https://evil.test/abc-defg-hij", job.MeetingNotFound, "", hostpolicy.AllowedHostsSetting},
		"with a name in front":        {"https://meet.google.com@evil.test/", job.MeetingNotFound, "", hostpolicy.AllowedHostsSetting},
		"no address":                  {"see you at ten", job.MeetingNotFound, "", "not a meeting address"},
		"no meeting code":             {"https://meet.google.com/", job.MeetingNotFound, "", "no meeting code"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bot{Settings: Settings{MeetingURL: test.address, Platform: job.Meet, BrowserPath: "/no/such/browser", Log: slog.New(slog.DiscardHandler)}}
			end, ok := b.prepare(t.Context())
			if ok {
				t.Fatal("a missing browser was found")
			}
			if test.want == "" {
				if end.code != job.InternalError || b.address.URL != test.opens {
					t.Errorf("it ends with %+v and would open %s", end, b.address)
				}
				return
			}
			if end.code != test.want || !strings.Contains(end.detail, test.detail) {
				t.Errorf("it ends with %+v", end)
			}
		})
	}
}

// TestPrepareWithoutAdapter names the platform.
func TestPrepareWithoutAdapter(t *testing.T) {
	t.Parallel()
	b := &bot{Settings: Settings{MeetingURL: "https://x.test/", Platform: "semaphore"}}
	if end, ok := b.prepare(t.Context()); ok || end.code != job.InternalError || !strings.Contains(end.detail, "semaphore") {
		t.Errorf("it ends with %+v", end)
	}
}
