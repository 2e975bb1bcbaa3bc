package bot

import (
	"slices"
	"time"
)

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
