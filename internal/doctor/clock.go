package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"standin/internal/bot/notetaker"
)

const (
	// noticeableSkew is a difference of clocks that is worth a word.
	noticeableSkew = 2 * time.Second
	// harmfulSkew is one with which signatures of requests and webhooks come
	// near their tolerance of five minutes, and jobs start at the wrong time.
	harmfulSkew = time.Minute
	// clockTest is how long the wall clock is held against the monotonic one.
	clockTest = 100 * time.Millisecond
	// tolerableDrift is by how much they may differ then: a clock that is
	// being corrected is slewed by far less.
	tolerableDrift = 20 * time.Millisecond
)

// reading is how far another clock is ahead of this machine's.
type reading struct {
	of     string
	ahead  time.Duration
	within time.Duration // how exact that is
}

// compared makes a reading of what a server said, asked between two moments.
// The server tells time in whole steps.
func compared(of string, before, after, theirs time.Time, step time.Duration) reading {
	trip := after.Sub(before)
	return reading{of: of, ahead: theirs.Add(step / 2).Sub(before.Add(trip / 2)).Round(time.Millisecond), within: (trip + step) / 2}
}

// skew is by how much the clocks certainly differ.
func (r reading) skew() time.Duration { return max(r.ahead.Abs()-r.within, 0) }

func (r reading) String() string {
	how := "ahead of"
	if r.ahead < 0 {
		how = "behind"
	}
	return fmt.Sprintf("%s's is %v %s this one, give or take %v", r.of, r.ahead.Abs(), how, r.within.Round(time.Millisecond))
}

// checkClock looks at this machine's clock and zones.
func checkClock(ctx context.Context, others []reading) Check {
	const name = verdict("clock")
	const mend = "keep the clock by NTP (timedatectl set-ntp true, or chrony)"
	zone := "Europe/Berlin" // any that has summer time
	if _, err := time.LoadLocation(zone); err != nil {
		return name.fail("the zone "+zone+" is not known: "+err.Error(), "install the time zone database (tzdata)")
	}
	now := time.Now().UTC()
	list, err := notetaker.Embedded()
	if err != nil {
		return name.fail("cannot tell how old this program is: "+err.Error(), "get the program anew: it is damaged")
	}
	if made, err := time.Parse(time.DateOnly, list.Date); err != nil || now.Before(made) {
		return name.fail(fmt.Sprintf("it shows %s, which is before this program was made (%s)", now.Format(time.RFC3339), list.Date), mend)
	}
	if drift := drift(ctx); drift > tolerableDrift {
		return name.warn(fmt.Sprintf("it was moved by %v within %v", drift, clockTest), mend)
	}
	found := now.Format(time.RFC3339) + "; zones are known; "
	if len(others) == 0 {
		return name.ok("%s", found+"not compared with another clock, since neither PostgreSQL nor an object store is there to ask")
	}
	var told []string
	var worst time.Duration
	for _, other := range others {
		told = append(told, other.String())
		worst = max(worst, other.skew())
	}
	found += strings.Join(told, "; ")
	switch {
	case worst > harmfulSkew:
		return name.fail(found, mend+", here and there")
	case worst > noticeableSkew:
		return name.warn(found, mend+", here and there")
	}
	return name.ok("%s", found)
}

// drift tells how much more or less than the monotonic clock the wall clock
// went on for a moment.
func drift(ctx context.Context) time.Duration {
	began := time.Now()
	wait := time.NewTimer(clockTest)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
	}
	ended := time.Now()
	wall := ended.Round(0).Sub(began.Round(0)) // without the monotonic reading
	return (wall - ended.Sub(began)).Abs()
}
