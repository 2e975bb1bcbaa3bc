package session

import (
	"cmp"
	"slices"
	"time"
)

// Timeouts bounds the steps of a session. Zero values take the defaults given
// in brackets.
type Timeouts struct {
	// Open is for loading the meeting's page [60 s].
	Open time.Duration
	// Join is from the loaded page to the pressed join button [90 s]. The job's
	// entry delay starts after it.
	Join time.Duration
	// Unresponsive is how long the page may not respond before it counts as
	// dead [20 s].
	Unresponsive time.Duration
	// Connection is how long the page may report that it has no connection [30 s].
	Connection time.Duration
	// Unknown is how long the page may show an unknown screen during a meeting
	// while no media arrives [60 s].
	Unknown time.Duration
	// Chunk is how long a running recording may produce nothing before it is
	// started again [recorder.Settings.ChunkTimeout].
	Chunk time.Duration
	// RecorderRetry is the pause after the first failed start of a recorder [5 s]. The next
	// pauses are three and twelve times as long.
	RecorderRetry time.Duration
	// NoRecorder is how long starting a recorder may fail before the bot leaves the meeting
	// to another one [5 min].
	NoRecorder time.Duration
	// NoSound is how long the recorded sound may be digital silence while others
	// speak [noSoundAfter].
	NoSound time.Duration
	// NoPackets is how long others may be in the meeting while the page has not received a
	// single packet of sound [noPacketsAfter].
	NoPackets time.Duration
	// Frozen is how long the recorded picture may be the same while video flows
	// [frozenAfter].
	Frozen time.Duration
	// Settle is how long the page must show that the bot is outside again
	// before the bot acts on it [3 s].
	Settle time.Duration
	// Command is for executing one command in the meeting [60 s].
	Command time.Duration
	// Leave is for leaving by the page's own button, before the browser is
	// closed [5 s].
	Leave time.Duration
	// RejoinPause is the pause before the second rejoin within ten minutes
	// [2 s]. The first rejoin is immediate; each further pause is twice as long,
	// up to 30 s.
	RejoinPause time.Duration
	// MaxRejoins is how many times the bot rejoins within ten minutes [8];
	// negative: never.
	MaxRejoins int
}

const (
	browserStartTimeout = 60 * time.Second
	rejoinWindow        = 10 * time.Minute
	maxRejoinPause      = 30 * time.Second
	// maxRetryBeforeAdmission is how long a bot that was never admitted starts
	// new sessions: the service does not wait longer for it to reach the lobby.
	maxRetryBeforeAdmission = 2 * time.Minute
)

func (t Timeouts) withDefaults() Timeouts {
	return Timeouts{
		Open:          cmp.Or(t.Open, 60*time.Second),
		Join:          cmp.Or(t.Join, 90*time.Second),
		Unresponsive:  cmp.Or(t.Unresponsive, 20*time.Second),
		Connection:    cmp.Or(t.Connection, 30*time.Second),
		Unknown:       cmp.Or(t.Unknown, 60*time.Second),
		RecorderRetry: cmp.Or(t.RecorderRetry, 5*time.Second),
		NoRecorder:    cmp.Or(t.NoRecorder, 5*time.Minute),
		NoSound:       cmp.Or(t.NoSound, noSoundAfter),
		NoPackets:     cmp.Or(t.NoPackets, noPacketsAfter),
		Frozen:        cmp.Or(t.Frozen, frozenAfter),
		Chunk:         t.Chunk,
		Settle:        cmp.Or(t.Settle, 3*time.Second),
		Command:       cmp.Or(t.Command, 60*time.Second),
		Leave:         cmp.Or(t.Leave, 5*time.Second),
		RejoinPause:   cmp.Or(t.RejoinPause, 2*time.Second),
		MaxRejoins:    cmp.Or(t.MaxRejoins, 8),
	}
}

// pauseBefore returns the pause before a rejoin that follows n others.
func (t Timeouts) pauseBefore(n int) time.Duration {
	if n == 0 {
		return 0
	}
	pause := t.RejoinPause
	for range n - 1 {
		pause = min(2*pause, maxRejoinPause)
	}
	return min(pause, maxRejoinPause)
}

// recorderPause returns the pause before the next recorder after n failures.
func (t Timeouts) recorderPause(n int) time.Duration {
	return t.RecorderRetry * []time.Duration{0, 1, 3, 12}[min(n, 3)]
}

// seconds converts a setting of the job.
func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// limit allows at most max events within any window.
type limit struct {
	max    int
	window time.Duration
	times  []time.Time
}

// allow counts an event at now. It returns how many events precede it in the
// window, and false if the limit is reached.
func (l *limit) allow(now time.Time) (before int, ok bool) {
	l.times = slices.DeleteFunc(l.times, func(at time.Time) bool { return now.Sub(at) > l.window })
	before = len(l.times)
	if before >= l.max {
		return before, false
	}
	l.times = append(l.times, now)
	return before, true
}
