package bot

import "time"

// clock puts moments on one even scale: the wall clock as it stood when the bot
// began, however it is set meanwhile. What the report tells stays in order.
//
// Decisions need none of it: they are made on moments as time.Now gives them,
// which carry the machine's even clock.
type clock struct {
	start time.Time
	off   time.Duration // how far the wall clock was off when last looked at
}

func newClock() *clock { return &clock{start: time.Now()} }

// steady is where a moment is on the even scale.
func (c *clock) steady(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return c.start.Round(0).Add(at.Sub(c.start))
}

// noticeable is by how much the wall clock must have been set to be told of.
const noticeable = 3 * time.Second

// set tells by how much the wall clock was set since it was last asked; 0 when
// that is not worth telling. wall is the moment now as the wall clock has it.
func (c *clock) set(now, wall time.Time) time.Duration {
	off := wall.Round(0).Sub(c.steady(now))
	by := off - c.off
	if by.Abs() < noticeable {
		return 0
	}
	c.off = off
	return by
}
