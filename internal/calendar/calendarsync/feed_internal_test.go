package calendarsync

import (
	"context"
	"net/http"
	"net/url"
	"standin/internal/base/dialguard"
	"strings"
	"testing"
)

// redirect is a server that redirects every request.
type redirect string

func (r redirect) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {string(r)}}, Body: http.NoBody, Request: request}, nil
}

// TestRedirectWithoutEncryption checks that the secret address of a feed does not leave
// an encrypted connection.
func TestRedirectWithoutEncryption(t *testing.T) {
	t.Parallel()
	f := newFeeds(dialguard.Network{})
	f.client.Transport = redirect("http://calendar.test/ann.ics")
	_, _, _, err := f.read(context.Background(), "https://calendar.test/ann.ics", Validators{})
	if err == nil || !strings.Contains(err.Error(), "without encryption") {
		t.Errorf("the error is %v", err)
	}
}

// FuzzParseAddress checks that an address is a URL that can be requested, and that its
// secret part is not shown.
func FuzzParseAddress(f *testing.F) {
	for _, text := range []string{
		"https://calendar.test/private-7d3f/basic.ics", "webcal://calendar.test/a", " WEBCALS://Calendar.test/a#b ", "http://[::1]:80/a",
		"webcal://ȺȺȺȺȺȺȺȺȺȺȺȺȺȺȺȺȺȺȺȺ", "https://ada:key@calendar.test/?token=1", "ftp://calendar.test", "https://", "\x00",
		strings.Repeat("a", 3000),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		address, masked, err := ParseAddress(text)
		if err != nil {
			return
		}
		parsed, err := url.Parse(address)
		if err != nil || parsed.Scheme != "https" && parsed.Scheme != "http" && parsed.Scheme != webcal ||
			parsed.Hostname() == "" || parsed.Fragment != "" {
			t.Errorf("%q is the address %q (%v)", text, address, err)
		}
		if _, err := http.NewRequest(http.MethodGet, address, nil); err != nil {
			t.Errorf("%q cannot be requested: %v", address, err)
		}
		if masked != parsed.Scheme+"://"+parsed.Host+"/…" {
			t.Errorf("%q is shown as %q", address, masked)
		}
	})
}
