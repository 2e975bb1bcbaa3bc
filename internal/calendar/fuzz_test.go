package calendar_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"standin/internal/base/meetinglink"
	"standin/internal/calendar"
	"standin/internal/jobs/job"
)

// FuzzParseICS: any text is either a calendar with usable events or an
// ICSError.
func FuzzParseICS(f *testing.F) {
	samples, err := filepath.Glob("testdata/*.ics")
	if err != nil || len(samples) == 0 {
		f.Fatal("no samples")
	}
	for _, name := range samples {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		parsed, err := calendar.ParseICS(text, nil)
		if err != nil {
			if wrong := (*calendar.ICSError)(nil); !errors.As(err, &wrong) {
				t.Errorf("an error of another type: %v", err)
			}
			return
		}
		for _, event := range parsed.Events {
			if event.Start.IsZero() && !event.Cancelled && event.Problem == "" {
				t.Errorf("an event that is on has no start: %+v", event)
			}
			if event.MeetingURL != "" {
				checkMeeting(t, event.MeetingURL, event.Platform)
			}
			if invite, err := event.Invite().Normal(); err != nil {
				if !job.ErrorIs(err, job.InvalidInput) {
					t.Errorf("%+v cannot be an invite: %v", event, err)
				}
			} else if again, err := invite.Normal(); err != nil || again != invite {
				t.Errorf("%+v is not normal: %+v, %v", invite, again, err)
			}
		}
	})
}

// FuzzFindMeeting: the result is a meeting URL, and finding it again returns
// the same.
func FuzzFindMeeting(f *testing.F) {
	for _, text := range []string{
		"https://meet.google.com/abc-defg-hij", "(https://zoom.us/j/81200000001?pwd=x).",
		"https://www.google.com/url?q=https%3A%2F%2Fmeet.google.com%2Fabc-defg-hij&sa=D",
		"https://eur01.safelinks.protection.outlook.com/?url=https%3A%2F%2Fteams.live.com%2Fmeet%2F1&data=x",
		"https%253A%252F%252Fzoom.us%252Fj%252F81200000001", "https://teams.microsoft.com/_#/l/meetup-join/19",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if address, platform, found := calendar.FindMeeting(text); found {
			checkMeeting(t, address, platform)
		} else if address != "" || platform != "" {
			t.Errorf("nothing is found, and it is %q, %q", address, platform)
		}
	})
}

// checkMeeting checks a URL that was found.
func checkMeeting(t *testing.T, address string, platform job.Platform) {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		t.Fatalf("%q is no address (%v)", address, err)
	}
	if want := meetinglink.PlatformOf(address); platform != want {
		t.Errorf("%q is for %s, found as %s", address, want, platform)
	}
}
