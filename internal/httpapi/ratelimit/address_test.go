package ratelimit_test

import (
	"net/http"
	"net/netip"
	"testing"

	"standin/internal/httpapi/ratelimit"
)

func TestAddress(t *testing.T) {
	t.Parallel()
	const proxy = "10.0.0.1:4711"
	for _, test := range []struct {
		name      string
		remote    string
		listed    []string // X-Forwarded-For
		standard  []string // Forwarded
		untrusted bool     // no proxy is trusted
		want      string
	}{
		{name: "direct", remote: "192.0.2.1:80", want: "192.0.2.1"},
		{name: "direct, IPv6", remote: "[2001:db8::1]:80", want: "2001:db8::1"},
		{name: "direct, with a zone", remote: "[fe80::1%eth0]:80", want: "fe80::1"},
		{name: "direct, IPv4 in IPv6", remote: "[::ffff:192.0.2.1]:80", want: "192.0.2.1"},
		{name: "headers of a direct client", remote: "192.0.2.1:80", listed: []string{"198.51.100.1"}, standard: []string{"for=198.51.100.1"}, want: "192.0.2.1"},
		{name: "untrusted proxy", remote: proxy, listed: []string{"192.0.2.1"}, untrusted: true, want: "10.0.0.1"},
		{name: "request of a proxy", remote: proxy, want: "10.0.0.1"},
		{name: "not an IP connection", remote: "@", listed: []string{"192.0.2.1"}, want: ""},

		{name: "listed", remote: proxy, listed: []string{"192.0.2.1"}, want: "192.0.2.1"},
		{name: "listed, with a port", remote: proxy, listed: []string{"192.0.2.1:5000"}, want: "192.0.2.1"},
		{name: "listed, IPv6", remote: proxy, listed: []string{"2001:db8::1"}, want: "2001:db8::1"},
		{name: "listed, IPv6 in brackets", remote: proxy, listed: []string{"[2001:db8::1]"}, want: "2001:db8::1"},
		{name: "listed, IPv6 with a port", remote: proxy, listed: []string{"[2001:db8::1]:5000"}, want: "2001:db8::1"},
		{name: "listed after a forged address", remote: proxy, listed: []string{"198.51.100.1, 192.0.2.1"}, want: "192.0.2.1"},
		{name: "listed in a second header", remote: proxy, listed: []string{"198.51.100.1", "192.0.2.1"}, want: "192.0.2.1"},
		{name: "two proxies", remote: proxy, listed: []string{"198.51.100.1, 192.0.2.1, 10.9.9.9"}, want: "192.0.2.1"},
		{name: "two proxies, IPv6", remote: "[2001:db8:ffff::1]:1", listed: []string{"192.0.2.1, 2001:db8:ffff::2"}, want: "192.0.2.1"},
		{name: "only proxies", remote: proxy, listed: []string{"10.2.2.2, 10.3.3.3"}, want: "10.2.2.2"},
		{name: "invalid address before the second proxy", remote: proxy, listed: []string{"192.0.2.1, unknown, 10.3.3.3"}, want: "10.3.3.3"},
		{name: "invalid address", remote: proxy, listed: []string{"unknown"}, want: "10.0.0.1"},
		{name: "empty list", remote: proxy, listed: []string{""}, want: "10.0.0.1"},

		{name: "forwarded", remote: proxy, standard: []string{"for=192.0.2.1"}, want: "192.0.2.1"},
		{name: "forwarded, examples of RFC 7239", remote: proxy, standard: []string{`for=192.0.2.43, For="[2001:db8:cafe::17]:4711"`}, want: "2001:db8:cafe::17"},
		{name: "forwarded with other parameters", remote: proxy, standard: []string{`for=192.0.2.60;proto=http;by=203.0.113.43`}, want: "192.0.2.60"},
		{name: "forwarded, quoted with commas", remote: proxy, standard: []string{`for=192.0.2.1;host="a,b;for=198.51.100.1"`}, want: "192.0.2.1"},
		{name: "forwarded, quoted with escapes", remote: proxy, standard: []string{`host="a\"b";for="192\.0.2.1"`}, want: "192.0.2.1"},
		{name: "forwarded in two headers", remote: proxy, standard: []string{"for=198.51.100.1", "for=192.0.2.1, for=10.9.9.9"}, want: "192.0.2.1"},
		{name: "forwarded, obfuscated", remote: proxy, standard: []string{"for=192.0.2.1, for=_hidden"}, want: "10.0.0.1"},
		{name: "forwarded without for", remote: proxy, standard: []string{"for=192.0.2.1, proto=https"}, want: "10.0.0.1"},
		{name: "forwarded, unclosed quote of a client", remote: proxy, standard: []string{`for="198.51.100.1, for=192.0.2.1`}, want: "10.0.0.1"},
		{name: "forwarded, quote closed by the proxy", remote: proxy, standard: []string{`for="198.51.100.1, for="[2001:db8::1]"`}, want: "10.0.0.1"},
		{name: "forwarded, two for parameters in an element", remote: proxy, standard: []string{"for=192.0.2.1;for=198.51.100.1"}, want: "10.0.0.1"},

		{name: "both, same address", remote: proxy, listed: []string{"198.51.100.9, 192.0.2.1"}, standard: []string{"for=192.0.2.1"}, want: "192.0.2.1"},
		{name: "both, different addresses", remote: proxy, listed: []string{"192.0.2.1"}, standard: []string{"for=198.51.100.1"}, want: "10.0.0.1"},
		{name: "both, one malformed", remote: proxy, listed: []string{"192.0.2.1"}, standard: []string{"for=="}, want: "10.0.0.1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			proxies, err := ratelimit.ParseProxies("10.0.0.0/8, 2001:db8:ffff::/48")
			if err != nil {
				t.Fatal(err)
			}
			if test.untrusted {
				proxies = nil
			}
			r := &http.Request{RemoteAddr: test.remote, Header: http.Header{}}
			for _, value := range test.listed {
				r.Header.Add("X-Forwarded-For", value)
			}
			for _, value := range test.standard {
				r.Header.Add("Forwarded", value)
			}
			var want netip.Addr
			if test.want != "" {
				want = netip.MustParseAddr(test.want)
			}
			if got := proxies.Address(r); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestParseProxies(t *testing.T) {
	t.Parallel()
	proxies, err := ratelimit.ParseProxies(" 10.1.2.3/8,192.0.2.7 ,, ::ffff:192.0.2.8, 2001:db8::/32 ")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"10.0.0.0/8", "192.0.2.7/32", "192.0.2.8/32", "2001:db8::/32"}
	if len(proxies) != len(want) {
		t.Fatalf("got %v, want %v", proxies, want)
	}
	for i, prefix := range proxies {
		if prefix.String() != want[i] {
			t.Errorf("got %v, want %v", prefix, want[i])
		}
	}
	if none, err := ratelimit.ParseProxies(""); err != nil || none != nil {
		t.Errorf("empty list: got %v, %v", none, err)
	}
	for _, wrong := range []string{"10.0.0.0/33", "proxy", "10.0.0.0-10.0.0.9", "::ffff:10.0.0.0/104"} {
		if got, err := ratelimit.ParseProxies(wrong); err == nil {
			t.Errorf("%q: got %v, want an error", wrong, got)
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
		if got := ratelimit.AddressKey(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
	if got := ratelimit.AddressKey(netip.Addr{}); got == "" {
		t.Error("the key of an invalid address is empty")
	}
}

// FuzzForwarded fuzzes the part of a Forwarded header that comes from the client. The
// result must be the address that the proxy added or the address of the proxy.
func FuzzForwarded(f *testing.F) {
	for _, seed := range []string{
		"", "for=198.51.100.1", `for="198.51.100.1`, `for="`, `a="\`, "for=198.51.100.1;", ",,,", `for="x";for=`, "for=[::1]:1, ",
	} {
		f.Add(seed)
	}
	proxies, err := ratelimit.ParseProxies("10.0.0.0/8")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, claim string) {
		for _, added := range []string{"for=192.0.2.1", `for="192.0.2.1:4711";proto="https"`} {
			for name, header := range map[string]http.Header{
				"in the same header": {"Forwarded": {claim + ", " + added}},
				"in another header":  {"Forwarded": {claim, added}},
			} {
				got := proxies.Address(&http.Request{RemoteAddr: "10.0.0.1:1", Header: header})
				if got != netip.MustParseAddr("192.0.2.1") && got != netip.MustParseAddr("10.0.0.1") {
					t.Errorf("%s after %q: %v", name, claim, got)
				}
			}
		}
	})
}
