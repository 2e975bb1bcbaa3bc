package httpapi_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"standin/internal/account/device"
	"standin/internal/server/httpapi"
)

// untilRefused sends a request until the response is a 429 and returns the number
// of requests before it.
func (s *surface) untilRefused(t *testing.T, r request, limit int) int {
	t.Helper()
	for served := range limit {
		got := s.send(t, r)
		if got.status != http.StatusTooManyRequests {
			continue
		}
		if wait, err := strconv.Atoi(got.header.Get("Retry-After")); err != nil || wait < 1 || wait > 60 {
			t.Errorf("Retry-After is %q", got.header.Get("Retry-After"))
		}
		return served
	}
	t.Fatalf("%s %s was served %d times", r.method, r.path, limit)
	return 0
}

// TestEachClientHasItsOwnLimit exhausts the limit of a client behind one trusted proxy
// and checks that it does not affect other clients. An IPv6 /64 is one client.
func TestEachClientHasItsOwnLimit(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) { settings.TrustedProxies = 1 })
	from := func(address string) request {
		return request{"POST", completeRoute, "", map[string]string{"X-Forwarded-For": address}, `{"nonce":"x","apiKey":"k"}`}
	}
	if served := s.untilRefused(t, from("192.0.2.1"), 200); served < 60 {
		t.Errorf("only %d requests were served", served)
	}
	s.untilRefused(t, from("2001:db8::1"), 200)
	for _, same := range []string{"192.0.2.1", "192.0.2.2, 192.0.2.1", "2001:db8::ffff"} {
		s.untilRefused(t, from(same), 30) // the bucket gains a token per second
	}
	for _, other := range []string{"192.0.2.2", "2001:db8:0:1::1"} {
		if got := s.send(t, from(other)); got.status != http.StatusGone {
			t.Errorf("%s: %d", other, got.status)
		}
	}
	// Each operation has its own buckets.
	if got := s.send(t, request{
		"POST", "/api/v1/cli-auth/poll/x", "", map[string]string{"X-Forwarded-For": "192.0.2.1"}, "",
	}); got.status != 410 {
		t.Errorf("poll: %d", got.status)
	}
}

// TestForgedAddressesDoNotCount sends the header of a proxy from a client when no
// proxy is trusted.
func TestForgedAddressesDoNotCount(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	n := 0
	for got := http.StatusGone; got != http.StatusTooManyRequests && n < 200; n++ {
		header := map[string]string{"X-Forwarded-For": "192.0.2." + strconv.Itoa(n)}
		got = s.send(t, request{"POST", completeRoute, "", header, `{"nonce":"x","apiKey":"k"}`}).status
	}
	if n == 200 {
		t.Error("a client with forged addresses is not limited")
	}
}

// TestTooManyOpenFlows starts two device flows with a limit of one.
func TestTooManyOpenFlows(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	limited := newSurface(t, func(settings *httpapi.Settings) {
		settings.Logins = device.New(device.Settings{
			Store: s.store, BaseURL: "https://standin.example.com", MaxOpenPerClient: 1, Now: time.Now,
		})
	})
	open := request{"POST", "/api/v1/cli-auth/init", "", nil, ""}
	if got := limited.send(t, open); got.status != 201 {
		t.Fatalf("the first flow: %d %s", got.status, got.body)
	}
	got := limited.send(t, open)
	if wait, err := strconv.Atoi(got.header.Get("Retry-After")); got.status != 429 || err != nil || wait < 500 || wait > 600 {
		t.Errorf("the second flow: %d %s, Retry-After %s", got.status, got.body, got.header.Get("Retry-After"))
	}
}

// TestMissingSecretsRefuseAll checks that operations whose secret is not configured
// refuse every request.
func TestMissingSecretsRefuseAll(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) {
		settings.IntakeSecret, settings.AdminSecret, settings.Payments = "", "", nil
	})
	challenge := func(header string) map[string]string {
		return map[string]string{"WWW-Authenticate": `Secret header="` + header + `"`}
	}
	s.run(t, []surfaceCase{
		{"intake", request{
			"POST", inviteRoute, "", nil, "{",
		}, inviteRoute, 401, []string{`"error":"unauthorized"`}, nil, challenge("x-service-intake-secret")},
		{"intake with an empty secret", request{
			"POST", inviteRoute, "", map[string]string{"x-service-intake-secret": ""}, "{",
		}, inviteRoute, 401, nil, nil, nil},
		{"operator", request{
			"GET", hostRoute, "", map[string]string{"x-service-admin-secret": ""}, "",
		}, hostRoute, 401, nil, nil, challenge("x-service-admin-secret")},
		{"payments", request{"POST", paymentRoute, "", signedPayment("", "{}"), "{}"}, paymentRoute, 503, nil, []string{"{"}, nil},
		{"payments with a body that is too long", request{
			"POST", paymentRoute, "", nil, padded(2 << 20),
		}, paymentRoute, 503, nil, []string{"{"}, nil},
	})
}

// TestCostlyReads filters jobs by metadata while the consumer has another costly read.
func TestCostlyReads(t *testing.T) {
	t.Parallel()
	reads := httpapi.NewCostlyReads()
	s := newSurface(t, func(settings *httpapi.Settings) {
		settings.CostlyReads, settings.Timeouts = reads, httpapi.Timeouts{WriteJSON: 5 * short}
	})
	release, err := reads.TryAcquire(s.ada.ConsumerID.String(), 1)
	if err != nil {
		t.Fatal(err)
	}
	list := request{"GET", jobsPath + "?metadata.nope=1", adasKey, nil, ""}
	busy := s.send(t, list)
	release()
	if free := s.send(t, list); busy.status != http.StatusTooManyRequests || free.status != http.StatusOK {
		t.Errorf("status %d, then %d: %s", busy.status, free.status, free.body)
	}
}
