package calendar_test

import (
	"testing"
	"time"

	"standin/internal/calendar"
	"standin/internal/jobs/job"
)

func TestParseInvitation(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want calendar.Invitation
	}{
		"a URL": {
			" https://meet.google.com/abc-defg-hij ",
			calendar.Invitation{MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet},
		},
		"an unknown URL": {
			"http://127.0.0.1:8080/meet/abc", calendar.Invitation{MeetingURL: "http://127.0.0.1:8080/meet/abc", Platform: job.Meet},
		},
		"a URL without scheme": {
			"meet.google.com/abc-defg-hij", calendar.Invitation{MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet},
		},
		"a wrapped URL": {
			"https://www.google.com/url?q=https%3A%2F%2Fzoom.us%2Fj%2F81200000001",
			calendar.Invitation{MeetingURL: "https://zoom.us/j/81200000001", Platform: job.ZoomWeb},
		},
		"the text of an invitation": {
			"Ada invites you to a meeting.\nHelp: https://support.example.test/join\nJoin: <https://us02web.zoom.us/j/81234567890?pwd=QUJD.1>\n",
			calendar.Invitation{MeetingURL: "https://us02web.zoom.us/j/81234567890?pwd=QUJD.1", Platform: job.ZoomWeb},
		},
		"a calendar file": {
			string(sample(t, "google")),
			calendar.Invitation{
				MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet, Start: time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC),
			},
		},
		"no URL": {"tomorrow at ten", calendar.Invitation{}},
	}
	for name, test := range tests {
		got, found := calendar.ParseInvitation(test.text)
		if got != test.want || found != (test.want.MeetingURL != "") {
			t.Errorf("%s: %+v, %v, want %+v", name, got, found, test.want)
		}
	}
}
