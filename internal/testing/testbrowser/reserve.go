//go:build unix

package testbrowser

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// recordings is how many tests record a browser at a time. Each takes about a core;
// with more, pages fall behind the timeouts of bots.
const recordings = 2

// Reserve waits until fewer tests of all packages record a browser than the machine
// can run, and makes this test one of them until its end. A test reserves once.
func Reserve(t testing.TB) {
	t.Helper()
	slot := func(n, how int) bool {
		name := filepath.Join(os.TempDir(), fmt.Sprintf("standin-test-recording-%d.lock", n))
		file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|how); err != nil {
			_ = file.Close() // another test has this one
			return false
		}
		t.Cleanup(func() { _ = file.Close() }) // which unlocks it
		return true
	}
	for n := range recordings {
		if slot(n, syscall.LOCK_NB) {
			return
		}
	}
	for !slot(rand.IntN(recordings), 0) { // interrupted by a signal
	}
}
