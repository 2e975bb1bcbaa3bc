package serviceclient

import (
	"errors"
	"testing"
	"time"

	"standin/internal/retry"
)

func TestPauseAfter(t *testing.T) {
	t.Parallel()
	backoff := retry.Backoff{Min: 100 * time.Millisecond, Max: 10 * time.Second}
	if pause := pauseAfter(&unavailableError{retryAfter: 17 * time.Second, err: errors.New("busy")}, &backoff); pause != 17*time.Second {
		t.Errorf("with Retry-After 17 s, the pause is %v", pause)
	}
	if pause := pauseAfter(errors.New("away"), &backoff); pause > 200*time.Millisecond {
		t.Errorf("after the second failure the pause is %v, want at most 200 ms", pause)
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
