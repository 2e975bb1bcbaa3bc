package device_test

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"standin/internal/account/device"
	"standin/internal/job"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// openStore opens an empty SQLite database. Package store tests flows on both
// databases.
func openStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), storetest.FreshSQLite(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newFlows(s device.Store) *device.Flows {
	return device.New(device.Settings{Store: s, BaseURL: "https://standin.test", Now: time.Now, Log: slog.New(slog.DiscardHandler)})
}

func TestFlow(t *testing.T) {
	t.Parallel()
	flows := newFlows(openStore(t))
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

// observedStore is a store that sends the time of each deletion of expired flows.
type observedStore struct {
	*store.Store
	deleted chan time.Time
}

func (w observedStore) DeleteExpiredDeviceFlows(ctx context.Context, now time.Time) (time.Time, bool, error) {
	defer func() { w.deleted <- now }()
	return w.Store.DeleteExpiredDeviceFlows(ctx, now)
}

// TestRunDeletesFlowsWhenTheyExpire checks that Run deletes expired flows at its start
// and when each flow expires, and at no other time while flows exist.
func TestRunDeletesFlowsWhenTheyExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := observedStore{openStore(t), make(chan time.Time, 100)}
		flows := newFlows(s)
		first, err := flows.Init(t.Context(), "a", "") // a flow from before a restart
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Minute)

		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); flows.Run(ctx) }()
		began := time.Now()
		time.Sleep(time.Minute)
		second, err := flows.Init(t.Context(), "a", "")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(35 * time.Minute)
		stop()
		<-ended
		close(s.deleted)

		var got []time.Duration
		for at := range s.deleted {
			got = append(got, at.Sub(began).Round(time.Millisecond))
		}
		want := []time.Duration{0, first.ExpiresAt.Sub(began), second.ExpiresAt.Sub(began)}
		for next := want[2] + device.Lifetime; next < 36*time.Minute; next += device.Lifetime {
			want = append(want, next.Round(time.Millisecond)) // checks for flows of other nodes
		}
		if len(got) != len(want) {
			t.Fatalf("deletions at %v, want %v", got, want)
		}
		for i := range want {
			if late := got[i] - want[i]; late < 0 || late > 5*time.Millisecond {
				t.Errorf("deletion %d: after %v, want %v", i, got[i], want[i])
			}
		}
	})
}

// TestRunDeletesFlowsExpiredBeforeStart checks that flows that expired while the
// service was stopped are deleted from the database.
func TestRunDeletesFlowsExpiredBeforeStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		flows := newFlows(s)
		flow, err := flows.Init(t.Context(), "a", "")
		if err != nil {
			t.Fatal(err)
		}
		if err := flows.Complete(t.Context(), flow.Nonce, "key", ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if _, ok, err := s.DeleteExpiredDeviceFlows(t.Context(), flow.ExpiresAt.Add(-time.Millisecond)); !ok || err != nil {
			t.Fatalf("before Run: row exists %v, %v", ok, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); flows.Run(ctx) }()
		synctest.Wait()
		time.Sleep(time.Second)
		stop()
		<-ended
		if _, ok, err := s.DeleteExpiredDeviceFlows(t.Context(), flow.ExpiresAt.Add(-time.Millisecond)); ok || err != nil {
			t.Errorf("after Run: row exists %v, %v", ok, err)
		}
	})
}

// failingStore is a store whose first deletions fail.
type failingStore struct {
	*store.Store
	left  *int
	calls *int
}

func (f failingStore) DeleteExpiredDeviceFlows(ctx context.Context, now time.Time) (time.Time, bool, error) {
	*f.calls++
	if *f.left > 0 {
		*f.left--
		return time.Time{}, false, errors.New("the disk is full")
	}
	return f.Store.DeleteExpiredDeviceFlows(ctx, now)
}

func TestRunRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		left, calls := 3, 0
		flows := newFlows(failingStore{openStore(t), &left, &calls})
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		flows.Run(ctx)
		if left != 0 || calls != 4 {
			t.Errorf("%d failures left, %d calls; want 0 failures left and 4 calls", left, calls)
		}
	})
}
