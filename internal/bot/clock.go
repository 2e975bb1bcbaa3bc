package bot

import "time"

// clock converts times to the wall clock as it was when the bot started. The
// times of a report stay in order even if the machine's clock is set meanwhile.
//
// Decisions compare times of time.Now, which use the monotonic clock, and need
// no conversion.
type clock struct {
	start  time.Time
	offset time.Duration // of the wall clock at the last call of detectStep
}

func newClock() *clock { return &clock{start: time.Now()} }

// convert returns t on the clock's scale.
func (c *clock) convert(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return c.start.Round(0).Add(t.Sub(c.start))
}

// minClockStep is the smallest clock change that detectStep returns.
const minClockStep = 3 * time.Second

// detectStep returns how far the wall clock was set since the last call, or 0.
// Both arguments are the current time; only the wall clock of wall is used.
func (c *clock) detectStep(now, wall time.Time) time.Duration {
	offset := wall.Round(0).Sub(c.convert(now))
	step := offset - c.offset
	if step.Abs() < minClockStep {
		return 0
	}
	c.offset = offset
	return step
}
