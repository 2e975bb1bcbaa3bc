package replica

import "time"

// loop is one track of a source: units of equal duration (video frames or audio
// packets) that repeat endlessly. Unit n has the content n modulo the number of
// units. Times are computed from n and not accumulated, so tracks do not drift.
type loop struct {
	clockRate int64 // of the RTP timestamps, in Hz
	ticks     int64 // duration of a unit
	advance   int64 // ticks by which unit 0 starts before the loop
	units     [][]byte
}

func (l loop) content(n int64) []byte { return l.units[n%int64(len(l.units))] }

// ticksAt converts a time of the meeting to RTP ticks.
func (l loop) ticksAt(position time.Duration) int64 {
	whole, rest := int64(position/time.Second), int64(position%time.Second)
	return whole*l.clockRate + rest*l.clockRate/int64(time.Second)
}

// timestamp returns the RTP time at the start of a unit.
func (l loop) timestamp(n int64) int64 { return n*l.ticks - l.advance }

// position returns the time of the meeting at which a unit is due.
func (l loop) position(n int64) time.Duration {
	ticks := l.timestamp(n)
	whole, rest := ticks/l.clockRate, ticks%l.clockRate
	return time.Duration(whole)*time.Second + time.Duration(rest)*time.Second/time.Duration(l.clockRate)
}

// unitAt returns the unit that plays at a time of the meeting.
func (l loop) unitAt(position time.Duration) int64 {
	return (l.ticksAt(position) + l.advance) / l.ticks
}

// maxLag is how far a track may lag behind the clock. A track that is later, for
// example after the machine was suspended, restarts at a key frame.
const maxLag = 2 * time.Second

// cursor is the position in a loop.
type cursor struct {
	loop    loop
	next    int64 // the first unit not yet sent
	running bool
}

// start starts at the next full second, where every source has a key frame. Tracks
// that start within the same second start together.
func (c *cursor) start(now time.Duration) {
	c.next = c.loop.unitAt(now.Truncate(time.Second) + time.Second)
	c.running = true
}

func (c *cursor) stop() { c.running = false }

// due sends all units that are due, in order.
func (c *cursor) due(now time.Duration, send func(unit int64) error) error {
	if !c.running {
		return nil
	}
	if now-c.loop.position(c.next) > maxLag {
		c.start(now)
	}
	for c.loop.position(c.next) <= now {
		if err := send(c.next); err != nil {
			return err
		}
		c.next++
	}
	return nil
}

// wake returns when the next unit is due.
func (c *cursor) wake() time.Duration { return c.loop.position(c.next) }

// clock is the clock of a meeting, for all tracks of all participants. It is
// monotonic.
type clock struct{ start time.Time }

func (c clock) now() time.Duration { return time.Since(c.start) }

// networkTime returns a time of the meeting in the 64-bit NTP format (RFC 3550,
// section 4).
func (c clock) networkTime(position time.Duration) uint64 {
	const from1900To1970 = 2208988800
	at := c.start.UnixNano() + int64(position)
	whole, rest := uint64(at/int64(time.Second)), uint64(at%int64(time.Second))
	return (whole+from1900To1970)<<32 | rest<<32/uint64(time.Second)
}
