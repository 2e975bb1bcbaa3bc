package lifecycle

import "testing"

// TestHeartbeatSeconds checks that a node with many bots asks for fewer heartbeats of
// each.
func TestHeartbeatSeconds(t *testing.T) {
	t.Parallel()
	for waiting, want := range map[int]int{0: 5, 1: 5, 2000: 5, 4000: 10, 10_000: 25, 100_000: 25} {
		if got := heartbeatSeconds(waiting); got != want {
			t.Errorf("%d waiting bots: every %d s, want %d", waiting, got, want)
		}
	}
}
