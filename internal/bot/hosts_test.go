package bot

import (
	"log/slog"
	"strings"
	"testing"

	"standin/internal/job"
)

// TestAllowed: the bot opens the platforms' own hosts, those that the operator
// added, and no other, however it is dressed up.
func TestAllowed(t *testing.T) {
	t.Parallel()
	added := []string{"Meet.Example", " 127.0.0.1:4000 ", "[::1]:4000", "[::2]", "10.0.0.7", "port.test:443", ""}
	for address, want := range map[string]bool{
		"https://meet.google.com/abc-defg-hij":             true,
		"https://MEET.google.com./abc":                     true,
		"https://meet.google.com:8443/abc":                 true,
		"http://meet.google.com/abc":                       true,
		"https://teams.microsoft.com/l/meetup-join/x":      true,
		"https://gov.teams.microsoft.us/l/x":               true,
		"https://us02web.zoom.us/j/1":                      true,
		"https://app.zoom.com/wc/1/join":                   true,
		"https://company.zoomgov.com/j/1":                  true,
		"https://meet.example/x":                           true,
		"https://sub.meet.example/x":                       true,
		"http://127.0.0.1:4000/x":                          true,
		"http://[::1]:4000/x":                              true,
		"http://[::2]:99/x":                                true,
		"http://10.0.0.7:99/x":                             true,
		"https://port.test/x":                              true,
		"https://user:word@meet.google.com/abc":            true,
		"https://google.com/url?q=x":                       false,
		"https://evil.google.com/":                         false,
		"https://docs.google.com/meet.google.com":          false,
		"https://meet.google.com@evil.test/":               false,
		"https://meet.google.com:pass@evil.test/":          false,
		"https://evilmeet.google.com/":                     false,
		"https://meet.google.com.evil.test/":               false,
		"https://evil.test/meet.google.com":                false,
		"https://evil.test?meet.google.com":                false,
		"https://evil.test#.meet.google.com":               false,
		`https://evil.test\@meet.google.com/`:              false,
		`https://meet.google.com\.evil.test/`:              false,
		"https://evil.test%2f.meet.google.com/":            false,
		"https://meet。google。com/":                         false,
		"https://notzoom.us/j/1":                           false,
		"https://live.com/meet":                            false,
		"https://microsoft.com/":                           false,
		"http://127.0.0.1/x":                               false,
		"http://127.0.0.1:40000/x":                         false,
		"http://sub.127.0.0.1:4000/x":                      false,
		"http://[::1]/x":                                   false,
		"http://[::ffff:127.0.0.1]:4000/x":                 false,
		"http://port.test/x":                               false,
		"http://169.254.169.254/latest/meta-data":          false,
		"file:///etc/passwd":                               false,
		"javascript:alert(1)//meet.google.com":             false,
		"ftp://meet.google.com/":                           false,
		"//meet.google.com/abc":                            false,
		"meet.google.com/abc":                              false,
		"https://":                                         false,
		"https://:443/":                                    false,
		"":                                                 false,
		"chrome://settings/meet.google.com":                false,
		"data:text/html,<a href='//meet.google.com'>x</a>": false,
	} {
		err := allowed(address, added)
		if (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := allowed("https://evil.test/", nil); err == nil || !strings.Contains(err.Error(), AllowedHostsSetting) {
		t.Errorf("the setting is not named: %v", err)
	}
}

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
		"elsewhere in the redirector": {"https://www.google.com/url?q=https%3A%2F%2Fevil.test%2Fabc", job.MeetingNotFound, "", AllowedHostsSetting},
		"another page of Google's":    {"https://google.com/search?q=meet", job.MeetingNotFound, "", AllowedHostsSetting},
		"elsewhere":                   {"https://evil.test/abc-defg-hij", job.MeetingNotFound, "", AllowedHostsSetting},
		"with a name in front":        {"https://meet.google.com@evil.test/", job.MeetingNotFound, "", AllowedHostsSetting},
		"no address":                  {"see you at ten", job.MeetingNotFound, "", "not a meeting address"},
		"no meeting code":             {"https://meet.google.com/", job.MeetingNotFound, "", "no meeting code"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bot{Settings: Settings{MeetingURL: test.address, Platform: job.Meet, Browser: "/no/such/browser", Log: slog.New(slog.DiscardHandler)}}
			end, ok := b.prepare()
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
	if end, ok := b.prepare(); ok || end.code != job.InternalError || !strings.Contains(end.detail, "semaphore") {
		t.Errorf("it ends with %+v", end)
	}
}
