package device_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"standin/internal/account/device"
	"standin/internal/jobs/job"
	"standin/internal/testing/storetest"
)

func newFlows(s device.Store) *device.Flows {
	return device.New(device.Settings{Store: s, BaseURL: "https://standin.test", Now: time.Now})
}

func TestFlow(t *testing.T) {
	t.Parallel()
	flows := newFlows(storetest.Open(t, storetest.FreshSQLite(t)))
	flow, err := flows.Init(t.Context(), "192.0.2.1", "")
	if err != nil {
		t.Fatal(err)
	}
	poll := func(want device.PollResult) {
		t.Helper()
		if got, err := flows.Poll(t.Context(), flow.Nonce); err != nil || got != want {
			t.Fatalf("poll: got %+v, %v; want %+v", got, err, want)
		}
	}
	poll(device.PollResult{Status: device.Pending})
	if err := flows.Complete(t.Context(), flow.Nonce, "", "ada@example.test"); !job.ErrorIs(err, job.InvalidInput) {
		t.Errorf("empty key: %v", err)
	}
	poll(device.PollResult{Status: device.Pending})
	if err := flows.Complete(t.Context(), flow.Nonce, "standin_live_x", "ada@example.test"); err != nil {
		t.Fatal(err)
	}
	complete := device.PollResult{Status: device.Complete, APIKey: "standin_live_x", Email: "ada@example.test"}
	poll(complete)
	if err := flows.Complete(t.Context(), flow.Nonce, "standin_live_x", ""); err != nil {
		t.Errorf("repeat the key: %v", err)
	}
	if err := flows.Complete(t.Context(), flow.Nonce, "standin_live_y", "ada@example.test"); !errors.Is(err, device.ErrExpired) {
		t.Errorf("another key: %v", err)
	}
	poll(complete)
}

func TestCode(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$`)
	seen := map[string]bool{}
	for i := range 1000 {
		nonce := strings.Repeat("n", i)
		code := device.Code(nonce)
		if !form.MatchString(code) {
			t.Fatalf("code %q", code)
		}
		if code != device.Code(nonce) {
			t.Fatalf("one nonce has two codes")
		}
		seen[code] = true
	}
	if len(seen) < 1000 { // there are 20⁸ codes, so the chance of a collision is 1 in 50,000
		t.Errorf("%d different codes for 1000 nonces, want 1000", len(seen))
	}
	// The command line may be older than the service, so the code must not change.
	if got, want := device.Code(strings.Repeat("A", 43)), "RRTC-WCKZ"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// observedStore is a store that sen
