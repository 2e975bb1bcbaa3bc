package bot

import (
	"slices"
	"time"
)

// Patience is how long a bot bears what should not last. Zero values take the
// defaults in brackets.
type Timeouts struct {
	// Open is for the meeting's page to load [60 s].
	Open time.Duration
	// Join is for the way from the opened page to the pressed join button
	// [90 s]. The job's entry delay begins only there (specification,
	// AutoLeaveConfig).
	Join time.Duration
	// Page is how long the page may give no answer before it counts as dead
	// [20 s].
	Unresponsive time.Duration
	// Connection is how long the page may say that it has no connection [30 s].
	Connection time.Duration
	// Strange is how long the page may show something unknown in the middle of
	// a meeting while nothing arrives that could be recorded [60 s].
	Unknown time.Duration
	// Settle is how long the page must show that the bot is outside again
	// before that is believed [3 s].
	Settle time.Duration
	// Obey bounds what a command makes the bot do in the meeting [60 s].
	Command time.Duration
	// Leave is how long the page's own way out may take before the browser is
	// simply closed [5 s].
	Leave time.Duration
	// Comeback is the pause before the second return to the meeting within
	// ten minutes; the first return is made at once, and each further pause is
	// twice as long [2 s].
	RejoinPause time.Duration
	// Comebacks is how many returns are made within ten minutes [8]; below 0:
	// none.
	MaxRejoins int
}

// withDefaults fills in what was left out.
func (p Timeouts) withDefaults() Timeouts {
	for _, d := range []struct {
		setting *time.Duration
		value   time.Duration
	}{
		{&p.Open, 60 * time.Second},
		{&p.Join, 90 * time.Second},
		{&p.Unresponsive, 20 * time.Second},
		{&p.Connection, 30 * time.Second},
		{&p.Unknown, 60 * time.Second},
		{&p.Settle, 3 * time.Second},
		{&p.Command, 60 * time.Second},
		{&p.Leave, 5 * time.Second},
		{&p.RejoinPause, 2 * time.Second},
	} {
		if *d.setting <= 0 {
			*d.setting = d.value
		}
	}
	if p.MaxRejoins == 0 {
		p.MaxRejoins = 8
	}
	return p
}

const (
	// startTime is for a browser to start.
	startTime = 60 * time.Second
	// comebackWindow is the time in which returns are counted.
	comebackWindow = 10 * time.Minute
	// longestComeback bounds the pause before a return.
	longestComeback = 30 * time.Second
	// arriveTime is how long a bot that was never let in begins anew: the
	// service does not wait for ever for it to reach the lobby.
	arriveTime = 2 * time.Minute
)

// limit allows so many of something within a while.
type limit struct {
	most   int
	within time.Duration
	times  []time.Time
}

// take counts one more and tells how many there were before it; false when
// there were enough.
func (l *limit) take(now time.Time) (before int, ok bool) {
	l.times = slices.DeleteFunc(l.times, func(at time.Time) bool { return now.Sub(at) > l.within })
	before = len(l.times)
	if before >= l.most {
		return before, false
	}
	l.times = append(l.times, now)
	return before, true
}

// pauseBefore is how long to wait before a return that so many others came
// before.
func (p Timeouts) pauseBefore(others int) time.Duration {
	if others == 0 {
		return 0
	}
	pause := p.RejoinPause
	for range others - 1 {
		pause = min(2*pause, longestComeback)
	}
	return min(pause, longestComeback)
}
