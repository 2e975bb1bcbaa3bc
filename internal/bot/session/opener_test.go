package session

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"standin/internal/bot/browser"
	"standin/internal/bot/browser/network"
	"standin/internal/bot/meeting"
	"standin/internal/jobs/job"
	"standin/internal/launch"
)

// TestPrepareChecksAddress: the address that the browser would open is checked,
// without redirectors. A refused one fails the job before a browser starts.
func TestPrepareChecksAddress(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		address string
		want    job.FailureCode // empty: the address is accepted
		opens   string
		detail  string
	}{
		"a meeting": {"https://meet.google.com/abc-defg-hij", "", "https://meet.google.com/abc-defg-hij?hl=en", ""},
		"in Google's redirector": {
			"https://www.google.com/url?q=https%3A%2F%2Fmeet.google.com%2Fabc-defg-hij&sa=D", "", "https://meet.google.com/abc-defg-hij?hl=en",
			"",
		},
		"another host in a redirector": {
			"https://www.google.com/url?q=https%3A%2F%2Fevil.test%2Fabc", job.MeetingNotFound, "", network.AllowedHostsSetting,
		},
		"another page of Google":        {"https://google.com/search?q=meet", job.MeetingNotFound, "", network.AllowedHostsSetting},
		"another host":                  {"https://evil.test/abc-defg-hij", job.MeetingNotFound, "", network.AllowedHostsSetting},
		"another host behind user info": {"https://meet.google.com@evil.test/", job.MeetingNotFound, "", network.AllowedHostsSetting},
		"not an address":                {"see you at ten", job.MeetingNotFound, "", "not a meeting address"},
		"no meeting code":               {"https://meet.google.com/", job.MeetingNotFound, "", "no meeting code"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &opener{
				settings: Settings{BotConfig: launch.BotConfig{
					Assignment: launch.Assignment{
						MeetingURL: test.address, Platform: job.Meet,
					}, BotSettings: launch.BotSettings{Browser: "/no/such/browser"},
				}},
				log: slog.New(slog.DiscardHandler),
			}
			end := o.prepare(t.Context())
			if end == nil {
				t.Fatal("a missing browser was found")
			}
			if test.want == "" {
				if end.code != job.InternalError || o.address.URL != test.opens {
					t.Errorf("result %+v, address %s", end, o.address)
				}
				return
			}
			if end.code != test.want || !strings.Contains(end.detail, test.detail) {
				t.Errorf("result %+v", end)
			}
		})
	}
}

// TestSentHome checks that a browser which is sent to the platform's home page visits
// the meeting again at once, a few times, and that other failures are final.
func TestSentHome(t *testing.T) {
	t.Parallel()
	home := &browser.NavigationBlockedError{Scheme: "https", Host: "workspace.google.com"}
	other := &browser.NavigationBlockedError{Scheme: "https", Host: "ads.test"}
	for name, c := range map[string]struct {
		results []error
		want    error
		visits  int
	}{
		"the second visit is right": {[]error{home, nil}, nil, 2},
		"always sent home":          {[]error{home, home, home, home}, home, homeVisits},
		"sent elsewhere":            {[]error{other, nil}, other, 1},
	} {
		visits := 0
		err := visitAgain(func() error { visits++; return c.results[visits-1] })
		if !errors.Is(err, c.want) || visits != c.visits {
			t.Errorf("%s: %d visits, %v", name, visits, err)
		}
	}
	o := newOpener(Settings{Log: slog.New(slog.DiscardHandler)})
	sent := &sentHomeAdapter{opener: o}
	o.adapter = sent
	if err := o.joinUnlessSentHome(t.Context(), nil, meeting.JoinOptions{}); !errors.Is(err, meeting.ErrHomePage) {
		t.Errorf("a page that is sent home while it joins: %v", err)
	}
}

// sentHomeAdapter joins a page that a script sends to the home page.
type sentHomeAdapter struct {
	meeting.Adapter
	opener *opener
}

// Join waits until its context ends.
func (a *sentHomeAdapter) Join(ctx context.Context, _ meeting.Page, _ meeting.JoinOptions) error {
	a.opener.mayNavigate("https://workspace.google.com/products/meet/")
	<-ctx.Done()
	return ctx.Err()
}

func TestPrepareUnknownPlatform(t *testing.T) {
	t.Parallel()
	o := &opener{settings: Settings{BotConfig: launch.BotConfig{Assignment: launch.Assignment{
		MeetingURL: "https://x.test/", Platform: "semaphore",
	}}}}
	if end := o.prepare(t.Context()); end == nil || end.code != job.InternalError || !strings.Contains(end.detail, "semaphore") {
		t.Errorf("result %+v", end)
	}
}
