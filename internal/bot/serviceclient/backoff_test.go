package serviceclient

import (
	"errors"
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	b := backoff{min: 100 * time.Millisecond, max: 10 * time.Second}
	bound := b.min
	for failure := range 100 {
		pause := b.next(errors.New("away"))
		if pause < bound/2 || pause > bound {
			t.Fatalf("after failure %d the pause is %v, want %v to %v", failure+1, pause, bound/2, bound)
		}
		bound = min(2*bound, b.max)
	}
	if pause := b.next(&unavailableError{retryAfter: 17 * time.Second, err: errors.New("busy")}); pause != 17*time.Second {
		t.Errorf("with Retry-After 17 s, the pause is %v", pause)
	}
	b.reset()
	if pause := b.next(errors.New("away")); pause > b.min {
		t.Errorf("after a success the first pause is %v, want at most %v", pause, b.min)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"":                              0,
		"soon":                          0,
		"-5":                            0,
		"7":                             7 * time.Second,
		"86400":                         time.Minute,
		"99999999999999999999":          0,
		"Sun, 01 Mar 2026 12:00:20 GMT": 20 * time.Second,
		"Sun, 01 Mar 2026 11:00:00 GMT": 0,
		"Mon, 02 Mar 2026 12:00:00 GMT": time.Minute,
	} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("Retry-After %q: %v, want %v", header, got, want)
		}
	}
}
