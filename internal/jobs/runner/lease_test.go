package runner

import (
	"testing"
	"time"
)

// TestValid checks that a lease is valid for two thirds of its length, by the monotonic
// clock and by the wall clock.
func TestValid(t *testing.T) {
	t.Parallel()
	const length = time.Minute
	for name, test := range map[string]struct {
		renewed time.Time
		want    bool
	}{
		"just renewed":           {time.Now(), true},
		"half a lease ago":       {time.Now().Add(-length / 2), true},
		"three quarters ago":     {time.Now().Add(-length * 3 / 4), false},
		"by the wall clock only": {time.Now().Round(0).Add(-length * 3 / 4), false},
	} {
		lease := Lease{length: length}
		lease.renewedAt.Store(&test.renewed)
		if got := lease.Valid(); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
	if new(Lease).Valid() {
		t.Error("a lease that was never renewed is valid")
	}
}
