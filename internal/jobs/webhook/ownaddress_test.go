package webhook_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"standin/internal/jobs/webhook"
	"standin/internal/testing/await"
	"standin/internal/testing/dnstest"
	"standin/internal/testing/netns"
)

// TestWebhookToOwnPublicAddress sends webhooks to an internal service of the
// machine, at the machine's public address, and at an address of its name.
func TestWebhookToOwnPublicAddress(t *testing.T) {
	t.Parallel()
	if !netns.Inside(t, "8.8.4.4/24") {
		return
	}
	listener, err := net.Listen("tcp", "8.8.4.4:0")
	if err != nil {
		t.Fatal(err)
	}
	internal := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "INTERNAL-ADMIN-ANSWER")
	}))
	_ = internal.Listener.Close()
	internal.Listener = listener
	internal.Start()
	t.Cleanup(internal.Close)
	names := dnstest.New(t, map[string][]string{"standin.test": {"8.8.8.8"}, "evil.test": {"8.8.4.4"}})
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}

	outbox := newOutbox(t)
	sent := []webhook.Delivery{
		delivery(internal.URL), delivery("http://evil.test:" + port), delivery("http://8.8.8.8:1"), delivery("http://standin.test:1"),
	}
	put(t, outbox, sent...)
	run(t, outbox, webhook.Settings{Allow: []netip.Prefix{}, OwnHosts: []string{"standin.test"}, Resolver: names.Resolver()})
	for _, to := range sent {
		await.Until(t, "a try of "+to.URL, func() bool { return len(outbox.row(to.ID).tries) > 0 })
		if try := outbox.row(to.ID).tries[0]; !strings.Contains(try.Error, "is refused") || try.StatusCode != 0 || len(try.ResponseBody) > 0 {
			t.Errorf("%s: status %d, %q, body %q; want that it is refused", to.URL, try.StatusCode, try.Error, try.ResponseBody)
		}
	}

	outbox = newOutbox(t)
	allowed := delivery(internal.URL)
	put(t, outbox, allowed)
	run(t, outbox, webhook.Settings{Allow: []netip.Prefix{netip.MustParsePrefix("8.8.4.4/32")}})
	await.Until(t, "the delivery to the allowed address", outbox.final)
	if try := outbox.row(allowed.ID).tries[0]; try.StatusCode != http.StatusOK || len(try.ResponseBody) > 0 {
		t.Errorf("the allowed address: status %d, stored body %q; want no body", try.StatusCode, try.ResponseBody)
	}
}
