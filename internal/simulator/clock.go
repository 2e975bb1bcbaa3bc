package simulator

import (
	"context"
	"time"
)

// Clock is the clock of simulated bots.
type Clock interface {
	Now() time.Time
	// Timer returns a channel that receives after the duration, and a function
	// that stops the timer.
	Timer(length time.Duration) (elapsed <-chan time.Time, stop func() bool)
}

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) Timer(length time.Duration) (<-chan time.Time, func() bool) {
	timer := time.NewTimer(length)
	return timer.C, timer.Stop
}

// botClock is the clock of one bot. It runs ahead of the underlying clock if
// the bot runs faster than real time, so that all times and durations of a bot
// are consistent.
type botClock struct {
	clock Clock
	speed float64
	ahead time.Duration
	last  time.Time
}

func (p *botClock) now() time.Time { return p.clock.Now().Add(p.ahead) }

// eventTime returns the current time for an event. It is unique to the
// millisecond: the service detects duplicate events by their time.
func (p *botClock) eventTime() time.Time {
	at := p.now().Truncate(time.Millisecond)
	if !at.After(p.last) {
		at = p.last.Add(time.Millisecond)
	}
	p.last = at
	return at
}

// wait waits for the duration, or until wake is ready or ctx is done.
func (p *botClock) wait(ctx context.Context, length time.Duration, wake <-chan struct{}) error {
	started := p.clock.Now()
	end := p.now().Add(length)
	elapsed, stop := p.clock.Timer(time.Duration(float64(length) / p.speed))
	defer stop()
	select {
	case <-elapsed:
		p.ahead = end.Sub(p.clock.Now())
		return nil
	case <-wake:
		p.ahead += time.Duration(float64(p.clock.Now().Sub(started)) * (p.speed - 1))
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
