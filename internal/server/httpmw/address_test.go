package httpmw_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"standin/internal/server/httpmw"
)

// TestClientAddress includes clients that forge X-Forwarded-For: proxies append to
// what the client sent.
func TestClientAddress(t *testing.T) {
	t.Parallel()
	const proxy = "10.0.0.1:4711"
	for _, test := range []struct {
		name      string
		proxies   httpmw.TrustedProxies
		remote    string
		forwarded []string // X-Forwarded-For
		want      string
	}{
		{name: "direct", remote: "192.0.2.1:80", want: "192.0.2.1"},
		{name: "direct, IPv6", remote: "[2001:db8::1]:80", want: "2001:db8::1"},
		{name: "direct, with a zone", remote: "[fe80::1%eth0]:80", want: "fe80::1"},
		{name: "direct, IPv4 in IPv6", remote: "[::ffff:192.0.2.1]:80", want: "192.0.2.1"},
		{name: "direct, forged", remote: "192.0.2.1:80", forwarded: []string{"198.51.100.1"}, want: "192.0.2.1"},
		{name: "not an IP connection", proxies: 1, remote: "@", want: ""},

		{name: "one proxy", proxies: 1, remote: proxy, forwarded: []string{"192.0.2.1"}, want: "192.0.2.1"},
		{name: "with a port", proxies: 1, remote: proxy, forwarded: []string{"192.0.2.1:5000"}, want: "192.0.2.1"},
		{name: "IPv6", proxies: 1, remote: proxy, forwarded: []string{"2001:db8::1"}, want: "2001:db8::1"},
		{name: "IPv6 in brackets", proxies: 1, remote: proxy, forwarded: []string{"[2001:db8::1]"}, want: "2001:db8::1"},
		{name: "IPv6 with a port", proxies: 1, remote: proxy, forwarded: []string{"[2001:db8::1]:5000"}, want: "2001:db8::1"},
		{name: "forged", proxies: 1, remote: proxy, forwarded: []string{"198.51.100.1, 192.0.2.1"}, want: "192.0.2.1"},
		{name: "forged in another header", proxies: 1, remote: proxy, forwarded: []string{"198.51.100.1", "192.0.2.1"}, want: "192.0.2.1"},
		{name: "forged with garbage", proxies: 1, remote: proxy, forwarded: []string{`",,;for="198.51.100.1`, "192.0.2.1"}, want: "192.0.2.1"},
		{name: "request of the proxy itself", proxies: 1, remote: proxy, want: "10.0.0.1"},
		{name: "empty header", proxies: 1, remote: proxy, forwarded: []string{""}, want: "10.0.0.1"},
		{name: "no address", proxies: 1, remote: proxy, forwarded: []string{"192.0.2.1, unknown"}, want: "10.0.0.1"},

		{name: "two proxies", proxies: 2, remote: proxy, forwarded: []string{"192.0.2.1, 10.9.9.9"}, want: "192.0.2.1"},
		{name: "two proxies, forged", proxies: 2, remote: proxy, forwarded: []string{"198.51.100.1, 192.0.2.1, 10.9.9.9"}, want: "192.0.2.1"},
		{name: "two proxies, one passed", proxies: 2, remote: proxy, forwarded: []string{"10.9.9.9"}, want: "10.0.0.1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := &http.Request{RemoteAddr: test.remote, Header: http.Header{"X-Forwarded-For": test.forwarded}}
			var want netip.Addr
			if test.want != "" {
				want = netip.MustParseAddr(test.want)
			}
			if got := test.proxies.ClientAddress(r); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestTrustedProxiesCheck(t *testing.T) {
	t.Parallel()
	for n, valid := range map[httpmw.TrustedProxies]bool{-1: false, 0: true, 1: true, 100: true, 101: false} {
		if err := n.Check(); (err == nil) != valid {
			t.Errorf("%d: %v", n, err)
		}
	}
}

func TestAddressKey(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.1":           "192.0.2.1",
		"::ffff:192.0.2.1":    "192.0.2.1",
		"2001:db8:1:2::1":     "2001:db8:1:2::/64",
		"2001:db8:1:2:ffff::": "2001:db8:1:2::/64",
		"2001:db8:1:3::1":     "2001:db8:1:3::/64",
		"fe80::1%eth0":        "fe80::/64",
	} {
		if got := httpmw.AddressKey(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
	if got := httpmw.AddressKey(netip.Addr{}); got == "" {
		t.Error("the key of an invalid address is empty")
	}
}

// TestWarnUnknownProxy sends requests of peers that may be proxies. The warning is logged
// once, and only if no proxy is trusted.
func TestWarnUnknownProxy(t *testing.T) {
	t.Parallel()
	const forwarded = "203.0.113.66"
	for _, test := range []struct {
		name      string
		proxies   httpmw.TrustedProxies
		peer      string
		forwarded string
		warnings  int
	}{
		{"proxy on this machine", 0, "127.0.0.1:1234", forwarded, 1},
		{"proxy in a private network", 0, "10.0.0.1:1234", forwarded, 1},
		{"client on this machine", 0, "127.0.0.1:1234", "", 0},
		{"client that forges the header", 0, "192.0.2.1:1234", forwarded, 0},
		{"trusted proxy", 1, "127.0.0.1:1234", forwarded, 0},
	} {
		var log bytes.Buffer
		served := 0
		handler := test.proxies.WarnUnknownProxy(slog.New(slog.NewTextHandler(&log, nil)),
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
		for range 3 {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.RemoteAddr = test.peer
			if test.forwarded != "" {
				r.Header.Set("X-Forwarded-For", test.forwarded)
			}
			handler.ServeHTTP(httptest.NewRecorder(), r)
		}
		if got := strings.Count(log.String(), "STANDIN_TRUSTED_PROXIES"); got != test.warnings || served != 3 {
			t.Errorf("%s: %d warnings for %d requests, want %d for 3: %s", test.name, got, served, test.warnings, log.String())
		}
	}
}
