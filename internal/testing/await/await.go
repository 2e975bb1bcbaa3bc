// Package await holds the wait that tests of all packages share.
package await

import (
	"testing"
	"time"
)

const (
	limit    = 4 * time.Minute
	interval = 10 * time.Millisecond
)

// Until waits until a condition is true, and fails the test after four minutes. It also
// works in Cleanup, where the test's context has ended.
func Until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for deadline := time.After(limit); !condition(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("timeout waiting for %s", what)
		}
	}
}
