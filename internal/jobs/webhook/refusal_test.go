package webhook_test

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"standin/internal/jobs/webhook"
	"standin/internal/testing/await"
	"standin/internal/testing/dnstest"
	"standin/internal/testing/logtail"
)

// An internal host is refused before a packet is sent, however it is addressed, and the delivery
// log says so. Package dialguard tests every kind of address.
func TestRefusalsAreInTheDeliveryLog(t *testing.T) {
	t.Parallel()
	inside := newReceiver(t, ok)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(inside.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	names := dnstest.New(t, map[string][]string{
		"loopback.test": {"127.0.0.1"},
		"metadata.test": {"169.254.169.254"},
		"both.test":     {"10.0.0.1", "192.168.0.1"},
	})
	tests := []struct {
		host     string // as an address has it
		says     string
		resolved string // only the operator learns it
	}{
		{"127.0.0.1", "a loopback address", ""},
		{"localhost", "a loopback address", ""},
		{"loopback.test", "a loopback address", "127.0.0.1"},
		{"both.test", "a private address", "10.0.0.1"},
		{"169.254.169.254", "a metadata address", ""},
		{"metadata.test", "a metadata address", "169.254.169.254"},
		{"0.0.0.0", "unspecified address", ""},
		{"[::1]", "a loopback address", ""},
		{"[::ffff:127.0.0.1]", "v4-mapped", ""},
		{"[fe80::1%25lo]", "an address with a zone", ""},
		{"2130706433", "a number is not a host name", ""},
		{"0x7f000001", "a number is not a host name", ""},
		{"0177.0.0.1", "a number is not a host name", ""},
		{"127.1", "a number is not a host name", ""},
		{"127.0.0.1.", "a number is not a host name", ""},
	}
	outbox := newOutbox(t)
	sent := make([]webhook.Delivery, len(tests))
	for i, test := range tests {
		sent[i] = delivery("http://" + test.host + ":" + port + "/hooks?token=t0ken")
		put(t, outbox, sent[i])
	}
	var log logtail.Buffer
	run(t, outbox, webhook.Settings{Allow: []netip.Prefix{}, Resolver: names.Resolver(), Log: slog.New(slog.NewJSONHandler(&log, nil))})
	for i, test := range tests {
		await.Until(t, "a try of "+test.host, func() bool { return len(outbox.row(sent[i].ID).tries) > 0 })
		row := outbox.row(sent[i].ID)
		try := row.tries[0]
		if !strings.Contains(try.Error, "is refused") || !strings.Contains(try.Error, test.says) || try.StatusCode != 0 {
			t.Errorf("%s: the log says %q, status %d; want that it is refused as %s", test.host, try.Error, try.StatusCode, test.says)
		}
		if row.verdicts[0].Outcome != webhook.Retry {
			t.Errorf("%s: %+v; the operator may allow the network yet", test.host, row.verdicts[0])
		}
		if strings.Contains(try.Error, "t0ken") {
			t.Errorf("%s: the log contains the token: %q", test.host, try.Error)
		}
		if address := test.resolved; address != "" {
			if strings.Contains(try.Error, address) {
				t.Errorf("%s: the consumer learns the address: %q", test.host, try.Error)
			}
			await.Until(t, address+" in the operator's log", func() bool { return strings.Contains(log.String(), address+" is a") })
		}
	}
	if n := len(inside.messages()); n > 0 {
		t.Errorf("%d webhooks reached the internal host", n)
	}
}

// A name that resolves to another address later is refused: the address that
// is connected to is checked.
func TestRebinding(t *testing.T) {
	t.Parallel()
	got := newReceiver(t, func(w http.ResponseWriter, _ *http.Request, _ message) {
		w.Header().Set("Connection", "close") // so that the next try resolves again
		w.WriteHeader(http.StatusInternalServerError)
	})
	names := dnstest.New(t, map[string][]string{"rebinding.test": {"127.0.0.1"}})
	outbox := newOutbox(t)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(got.URL, "http://"))
	sent := delivery("http://rebinding.test:" + port)
	put(t, outbox, sent)
	run(t, outbox, webhook.Settings{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Resolver: names.Resolver(), Schedule: hurried(),
		Poll: hurried()[0],
	})
	await.Until(t, "a try", func() bool { return len(outbox.row(sent.ID).tries) > 0 })
	names.Set("rebinding.test", "127.0.0.2")
	await.Until(t, "the end", outbox.final)
	row := outbox.row(sent.ID)
	if first := row.tries[0]; first.StatusCode != http.StatusInternalServerError {
		t.Errorf("the first try, to the allowed address: %+v", first)
	}
	if last := row.tries[len(row.tries)-1]; !strings.Contains(last.Error, "is refused: it has a loopback address") {
		t.Errorf("the last try, to the other address: %+v", last)
	}
}

// A proxy of the environment is ignored, because it would connect where the
// guard cannot check. With a configured proxy, literal addresses are still
// checked.
func TestProxies(t *testing.T) {
	var proxied []string
	var mu sync.Mutex
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		proxied = append(proxied, r.URL.String())
	}))
	t.Cleanup(proxy.Close)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	got := newReceiver(t, ok)
	names := dnstest.New(t, map[string][]string{"receiver.test": {"127.0.0.1"}})
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(got.URL, "http://"))
	address := "http://receiver.test:" + port + "/hooks"

	outbox := newOutbox(t)
	put(t, outbox, delivery(address))
	run(t, outbox, webhook.Settings{Resolver: names.Resolver()})
	await.Until(t, "the delivery", outbox.final)
	if len(proxied) > 0 || len(got.messages()) != 1 {
		t.Fatalf("the proxy of the environment got %v, the receiver %d", proxied, len(got.messages()))
	}

	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	outbox = newOutbox(t)
	through, metadata := delivery(address), delivery("http://169.254.169.254/latest")
	put(t, outbox, through, metadata)
	run(t, outbox, webhook.Settings{Allow: []netip.Prefix{}, Proxy: at})
	await.Until(t, "both tries", func() bool {
		return len(outbox.row(through.ID).tries) > 0 && len(outbox.row(metadata.ID).tries) > 0
	})
	if len(proxied) != 1 || proxied[0] != address {
		t.Errorf("the proxy that is set got %v, want %s", proxied, address)
	}
	if try := outbox.row(metadata.ID).tries[0]; !strings.Contains(try.Error, "a metadata address") {
		t.Errorf("the metadata service through the proxy: %+v", try)
	}
}
