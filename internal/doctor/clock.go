package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"standin/internal/bot/notetaker"
	"standin/internal/retry"
)

const (
	// noticeableSkew is a difference of clocks that causes a warning.
	noticeableSkew = 2 * time.Second
	// harmfulSkew is a difference that delays jobs and approaches the tolerance of
	// five minutes of signed requests and webhooks.
	harmfulSkew = time.Minute
	// driftInterval is how long the wall clock is compared with the monotonic one.
	driftInterval = 100 * time.Millisecond
	// maxDrift is how much they may differ then. NTP slews a clock by far less.
	maxDrift = 20 * time.Millisecond
)

// clockReading is the difference between another clock and this machine's.
type clockReading struct {
	source    string
	ahead     time.Duration
	tolerance time.Duration
}

// newClockReading returns the reading of a server's time that was requested
// before and received after. step is the resolution of the server's time.
func newClockReading(source string, before, after, theirs time.Time, step time.Duration) clockReading {
	trip := after.Sub(before)
	return clockReading{source: source, ahead: theirs.Add(step / 2).Sub(before.Add(trip / 2)).Round(time.Millisecond), tolerance: (trip + step) / 2}
}

// skew returns the smallest possible difference of the clocks.
func (r clockReading) skew() time.Duration { return max(r.ahead.Abs()-r.tolerance, 0) }

// String returns the difference for people.
func (r clockReading) String() string {
	direction := "ahead of"
	if r.ahead < 0 {
		direction = "behind"
	}
	return fmt.Sprintf("%s's is %v %s this one, ± %v", r.source, r.ahead.Abs(), direction, r.tolerance.Round(time.Millisecond))
}

// checkClock checks this machine's clock and time zones.
func checkClock(ctx context.Context, others []clockReading) Check {
	const name = checkName("clock")
	const fix = "keep the clock by NTP (timedatectl set-ntp true, or chrony)"
	zone := "Europe/Berlin" // any that has summer time
	if _, err := time.LoadLocation(zone); err != nil {
		return name.fail("the time zone "+zone+" is unknown: "+err.Error(), "install the time zone database (tzdata)")
	}
	now := time.Now().UTC()
	list, err := notetaker.Embedded()
	if err != nil {
		return name.fail("cannot read the age of this program: "+err.Error(), "reinstall the program: it is damaged")
	}
	if built, err := time.Parse(time.DateOnly, list.Date); err != nil || now.Before(built) {
		return name.fail(fmt.Sprintf("it shows %s, which is before this program was built (%s)", now.Format(time.RFC3339), list.Date), fix)
	}
	if drift := drift(ctx); drift > maxDrift {
		return name.warn(fmt.Sprintf("it was adjusted by %v within %v", drift, driftInterval), fix)
	}
	found := now.Format(time.RFC3339) + "; time zones are known; "
	if len(others) == 0 {
		return name.ok("%s", found+"not compared with another clock: neither PostgreSQL nor an object store is configured")
	}
	var texts []string
	var worst time.Duration
	for _, other := range others {
		texts = append(texts, other.String())
		worst = max(worst, other.skew())
	}
	found += strings.Join(texts, "; ")
	switch {
	case worst > harmfulSkew:
		return name.fail(found, fix+", on both machines")
	case worst > noticeableSkew:
		return name.warn(found, fix+", on both machines")
	}
	return name.ok("%s", found)
}

// drift returns how much the wall clock and the monotonic clock differ over
// driftInterval.
func drift(ctx context.Context) time.Duration {
	start := time.Now()
	_ = retry.Sleep(ctx, driftInterval) // a shorter interval is no error
	end := time.Now()
	wall := end.Round(0).Sub(start.Round(0)) // without the monotonic reading
	return (wall - end.Sub(start)).Abs()
}
