package report

import "time"

// Clock converts times to the wall clock as it was when the bot started. The
// times of a report stay in order even if the machine's clock is set meanwhile.
//
// Decisions compare times of time.Now, which use the monotonic clock, and need
// no conversion.
type Clock struct {
	start  time.Time
	offset time.Duration // offset of the wall clock at the last call of DetectStep
}

// NewClock returns a clock that starts now.
func NewClock() *Clock { return &Clock{start: time.Now()} }

// Convert returns t on the clock's scale.
func (c *Clock) Convert(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return c.start.Round(0).Add(t.Sub(c.start))
}

// minClockStep is the smallest clock change that DetectStep returns.
const minClockStep = 3 * time.Second

// DetectStep returns how far the wall clock was set since the last call, or 0.
// Both arguments are the current time; only the wall clock of wall is used.
func (c *Clock) DetectStep(now, wall time.Time) time.Duration {
	offset := wall.Round(0).Sub(c.Convert(now))
	step := offset - c.offset
	if step.Abs() < minClockStep {
		return 0
	}
	c.offset = offset
	return step
}
