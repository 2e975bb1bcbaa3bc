package simulator

import (
	"context"
	"time"
)

// Clock is the time that simulated bots go by.
type Clock interface {
	Now() time.Time
	// Timer gives a channel that is ready once the time has passed, and a
	// function that releases it early.
	Timer(length time.Duration) (passed <-chan time.Time, stop func() bool)
}

// wallClock is the machine's own clock.
type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) Timer(length time.Duration) (<-chan time.Time, func() bool) {
	timer := time.NewTimer(length)
	return timer.C, timer.Stop
}

// pace is one bot's time. It runs ahead of the clock where the bot is told to
// go through its meeting faster, so that what the bot tells of lengths and
// moments agrees with itself at any speed.
type pace struct {
	clock Clock
	speed float64
	ahead time.Duration
	last  time.Time
}

func (p *pace) now() time.Time { return p.clock.Now().Add(p.ahead) }

// stamp is now for an event: every event of a bot has its own millisecond,
// for by that the service tells duplicates (contract, State machine).
func (p *pace) stamp() time.Time {
	at := p.now().Truncate(time.Millisecond)
	if !at.After(p.last) {
		at = p.last.Add(time.Millisecond)
	}
	p.last = at
	return at
}

// pass lets the time pass, or less of it when there is news or ctx ends.
func (p *pace) pass(ctx context.Context, length time.Duration, news <-chan struct{}) error {
	began := p.clock.Now()
	end := p.now().Add(length)
	passed, stop := p.clock.Timer(time.Duration(float64(length) / p.speed))
	defer stop()
	select {
	case <-passed:
		p.ahead = end.Sub(p.clock.Now())
		return nil
	case <-news:
		p.ahead += time.Duration(float64(p.clock.Now().Sub(began)) * (p.speed - 1))
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
