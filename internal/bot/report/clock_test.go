package report

import (
	"testing"
	"time"
)

// TestClock: times are converted to the clock's scale, and each step of the
// wall clock is detected once.
func TestClock(t *testing.T) {
	t.Parallel()
	c := NewClock()
	now := time.Now()
	if got := c.Convert(now); got.Sub(c.start.Round(0)) != now.Sub(c.start) {
		t.Errorf("convert(%s) = %s", now, got)
	}
	if !c.Convert(time.Time{}).IsZero() {
		t.Error("convert(zero) is not zero")
	}
	for i, step := range []struct{ offset, want time.Duration }{
		{0, 0}, {2 * time.Second, 0}, {time.Hour, time.Hour}, {time.Hour + time.Second, 0}, {0, -time.Hour}, {-time.Minute, -time.Minute},
	} {
		if got := c.DetectStep(now, c.Convert(now).Add(step.offset)); got != step.want {
			t.Errorf("step %d: detectStep() = %s, want %s", i, got, step.want)
		}
	}
}
