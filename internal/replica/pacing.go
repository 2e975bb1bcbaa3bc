package replica

import "time"

// loop is one track of a source: units of equal length (pictures, or packets of
// sound) that repeat for ever. Units are numbered on and on; unit n carries the
// content n modulo the loop's size. Everything about a unit is computed from its
// number, never added up, so neither sound nor picture can drift, from the clock
// or from each other.
type loop struct {
	clockRate int64 // of the RTP timestamps, in Hz
	ticks     int64 // length of a unit in that clock
	lead      int64 // ticks by which unit 0 begins before the loop does
	units     [][]byte
}

func (l loop) content(n int64) []byte { return l.units[n%int64(len(l.units))] }

// ticksAt is a moment of the meeting in the track's clock.
func (l loop) ticksAt(position time.Duration) int64 {
	whole, rest := int64(position/time.Second), int64(position%time.Second)
	return whole*l.clockRate + rest*l.clockRate/int64(time.Second)
}

// timestamp is the track's clock at the beginning of a unit.
func (l loop) timestamp(n int64) int64 { return n*l.ticks - l.lead }

// position is the moment of the meeting at which a unit is due.
func (l loop) position(n int64) time.Duration {
	ticks := l.timestamp(n)
	whole, rest := ticks/l.clockRate, ticks%l.clockRate
	return time.Duration(whole)*time.Second + time.Duration(rest)*time.Second/time.Duration(l.clockRate)
}

// unitAt is the unit that plays at a moment of the meeting.
func (l loop) unitAt(position time.Duration) int64 { return (l.ticksAt(position) + l.lead) / l.ticks }

// tooLate is how far a track may lag behind the clock, on a machine that stood
// still, before it gives up catching up and begins anew at a key picture.
const tooLate = 2 * time.Second

// cursor walks through a loop as time passes.
type cursor struct {
	loop    loop
	next    int64 // the first unit not yet sent
	running bool
}

// begin makes the cursor start at the next whole second, where every source has
// a key picture. Tracks that begin in the same second begin together.
func (c *cursor) begin(now time.Duration) {
	c.next = c.loop.unitAt(now.Truncate(time.Second) + time.Second)
	c.running = true
}

func (c *cursor) stop() { c.running = false }

// due hands out, in order, the units whose time has come, and remembers them as
// sent. After a late wake it hands out all that were missed.
func (c *cursor) due(now time.Duration, send func(unit int64) error) error {
	if !c.running {
		return nil
	}
	if now-c.loop.position(c.next) > tooLate {
		c.begin(now)
	}
	for c.loop.position(c.next) <= now {
		if err := send(c.next); err != nil {
			return err
		}
		c.next++
	}
	return nil
}

// wake is when the cursor has something to send again.
func (c *cursor) wake() time.Duration { return c.loop.position(c.next) }

// clock is the one time of a meeting: every track of every participant is paced
// and stamped by it. It is monotonic; the wall clock is read once.
type clock struct{ start time.Time }

func newClock() clock { return clock{start: time.Now()} }

func (c clock) now() time.Duration { return time.Since(c.start) }

// networkTime is a moment of the meeting in the 64 bit format of sender reports
// (RFC 3550, section 4): seconds since 1900 and their 2^32nd parts.
func (c clock) networkTime(position time.Duration) uint64 {
	const from1900To1970 = 2208988800
	at := c.start.UnixNano() + int64(position)
	whole, rest := uint64(at/int64(time.Second)), uint64(at%int64(time.Second))
	return (whole+from1900To1970)<<32 | rest<<32/uint64(time.Second)
}
