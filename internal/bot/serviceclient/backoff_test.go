package serviceclient

import (
	"errors"
	"testing"
	"time"

	"standin/internal/base/retry"
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
