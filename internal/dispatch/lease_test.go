package dispatch

import (
	"testing"
	"time"
)

// TestLeaseGuardValid checks that a lease is valid for two thirds of its length, by
// the monotonic clock and by the wall clock.
func TestLeaseGuardValid(t *testing.T) {
	t.Parallel()
	const lease = time.Minute
	for name, test := range map[string]struct {
		renewed time.Time
		want    bool
	}{
		"just renewed":           {time.Now(), true},
		"half a lease ago":       {time.Now().Add(-lease / 2), true},
		"three quarters ago":     {time.Now().Add(-lease * 3 / 4), false},
		"by the wall clock only": {time.Now().Round(0).Add(-lease * 3 / 4), false},
	} {
		if got := newLeaseGuard(test.renewed, lease).valid(); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestPrelaunchUnmarshalText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Prelaunch{"auto": AutoPrelaunch, "0": 0, "5s": Prelaunch(5 * time.Second), "2m": Prelaunch(2 * time.Minute)} {
		var got Prelaunch
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %v (%v)", text, got, err)
		}
	}
	for _, text := range []string{"", "5", "-1s", "3h", "soon"} {
		if err := new(Prelaunch).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
