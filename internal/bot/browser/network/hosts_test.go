package network_test

import (
	"regexp"
	"strings"
	"testing"

	"standin/internal/bot/browser/network"
)

// TestCheckHost checks that only the platforms' hosts and those that the operator
// allows are accepted, also when a URL tries to hide its host.
func TestCheckHost(t *testing.T) {
	t.Parallel()
	added := []string{
		"Meet.Example", "*.Wild.Example", "*", "*bad.test", " 127.0.0.1:4000 ", "[::1]:4000", "[::2]", "10.0.0.7", "port.test:443", "",
	}
	for address, want := range map[string]bool{
		"https://meet.google.com/abc-defg-hij":             true,
		"https://MEET.google.com./abc":                     true,
		"https://meet.google.com:443/abc":                  true,
		"https://meet.google.com:8443/abc":                 false,
		"https://meet.google.com:22/abc":                   false,
		"http://meet.google.com/abc":                       false,
		"http://us02web.zoom.us:443/j/1":                   false,
		"https://teams.microsoft.com/l/meetup-join/x":      true,
		"https://gov.teams.microsoft.us/l/x":               true,
		"https://us02web.zoom.us/j/1":                      true,
		"https://app.zoom.com/wc/1/join":                   true,
		"https://company.zoomgov.com/j/1":                  true,
		"https://meet.example/x":                           true,
		"https://sub.meet.example/x":                       false,
		"https://meet.example:8443/x":                      false,
		"http://meet.example/x":                            true,
		"https://sub.wild.example/x":                       true,
		"https://a.sub.wild.example/x":                     true,
		"https://wild.example/x":                           false,
		"https://evilwild.example/x":                       false,
		"https://sub.wild.example:8443/x":                  false,
		"https://verybad.test/x":                           false,
		"http://127.0.0.1:4000/x":                          true,
		"http://[::1]:4000/x":                              true,
		"http://[::2]:99/x":                                false,
		"http://[::2]/x":                                   true,
		"http://10.0.0.7:99/x":                             false,
		"http://10.0.0.7/x":                                true,
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
		err := network.CheckHost(address, added)
		if (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := network.CheckHost("https://evil.test/", nil); err == nil || !strings.Contains(err.Error(), network.AllowedHostsSetting) {
		t.Errorf("the error does not name the setting: %v", err)
	}
}

// TestNavigationAllowed checks that a page may navigate to a sign-in page, which
// a job may not open.
func TestNavigationAllowed(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://meet.google.com/abc-defg-hij":   true,
		"https://accounts.google.com/signin":     true,
		"https://login.live.com/login.srf":       true,
		"http://login.live.com/login.srf":        false,
		"https://login.live.com:8443/login.srf":  false,
		"http://127.0.0.1:4000/x":                true,
		"http://127.0.0.1:4001/x":                false,
		"https://accounts.google.com.evil.test/": false,
		"https://example.com/":                   false,
		"chrome://settings":                      false,
	} {
		if got := network.NavigationAllowed(address, []string{"127.0.0.1:4000"}); got != want {
			t.Errorf("%s: navigation allowed is %v", address, got)
		}
	}
	if network.CheckHost("https://accounts.google.com/signin", nil) == nil {
		t.Error("a job may open a sign-in page")
	}
}

// FuzzNavigationAllowed checks that only https addresses of the platforms are allowed, however
// they are spelled.
func FuzzNavigationAllowed(f *testing.F) {
	for _, address := range []string{
		"https://meet.google.com:443/abc", "https://user:word@us02web.zoom.us/j/1", `https://meet.google.com\.evil.test/`,
		"https://evil.test%2f.meet.google.com/",
		"https://accounts.google.com./x", "https://[::1]%2emeet.google.com/", "https://.meet.google.com", "HTTPS://TEAMS.LIVE.COM#@evil.test",
	} {
		f.Add(address)
	}
	host := regexp.MustCompile(`(?i)^https://([^/?#\\]*@)?([^/?#\\@:\s]*\.)?((meet|accounts)\.google\.com|zoom(gov)?\.com|zoom\.us|zoom\.com\.cn|(teams|login)\.[a-z.]+)\.?(:(443)?)?([/?#]|$)`)
	f.Fuzz(func(t *testing.T, address string) {
		if network.NavigationAllowed(address, nil) && !host.MatchString(address) {
			t.Errorf("%q is allowed", address)
		}
	})
}
