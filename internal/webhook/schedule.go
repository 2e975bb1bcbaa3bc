package webhook

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"standin/internal/retry"
)

// Schedule lists the delays before the second and each later try, counted from
// the end of the try before. There is one try more than there are delays.
type Schedule []time.Duration

// DefaultSchedule makes eight tries in about 28 hours.
func DefaultSchedule() Schedule {
	return Schedule{
		5 * time.Second,
		5 * time.Minute,
		30 * time.Minute,
		2 * time.Hour,
		5 * time.Hour,
		10 * time.Hour,
		10 * time.Hour,
	}
}

// pause returns the time between two tries of a dead endpoint, whichever
// deliveries they are for: the first delay of the schedule, doubled for each
// probe, up to the second delay.
func (s Schedule) pause(probes int) time.Duration {
	first, longest := s[0], s[min(1, len(s)-1)]
	return min(first<<min(probes, 10), max(first, longest))
}

// length returns how long all tries of a delivery take at most.
func (s Schedule) length() (total time.Duration) {
	for _, delay := range s {
		total += delay
	}
	return time.Duration(float64(total) * (1 + jitter))
}

const (
	jitter        = 0.1 // of a delay, in both directions
	maxRetryAfter = 24 * time.Hour
)

// response is the part of a try that decides about its delivery.
type response struct {
	status     int    // 0: no response
	retryAfter string // the header
	unusable   error  // why no request can be made of the delivery
}

func (r response) acknowledged() bool { return r.status >= 200 && r.status < 300 }

// decide returns the verdict on a try of a delivery. random is in [0, 1). A failed
// probe that was not due by its schedule changes nothing about it.
func (s Schedule) decide(r response, d Delivery, now time.Time, random float64) Verdict {
	early := d.DueAt.After(now)
	failures := d.Failures + 1
	switch {
	case r.acknowledged():
		return Verdict{Outcome: Delivered}
	case r.status == http.StatusGone:
		return Verdict{Outcome: GaveUp, Reason: "the receiver answered 410 Gone"}
	case r.unusable != nil:
		return Verdict{Outcome: GaveUp, Reason: r.unusable.Error()}
	case failures > len(s) && !early:
		return Verdict{Outcome: GaveUp, Reason: fmt.Sprintf("not acknowledged in %d tries", len(s)+1)}
	}
	verdict := Verdict{Outcome: Retry, Uncounted: early, RetryAt: d.DueAt}
	if !early {
		verdict.RetryAt = now.Add(time.Duration(float64(s[failures-1]) * (1 - jitter + 2*jitter*random)))
	}
	if pause := retry.After(r.retryAfter, now, maxRetryAfter); pause > 0 {
		verdict.NotBefore = now.Add(pause)
		verdict.RetryAt = slices.MaxFunc([]time.Time{verdict.RetryAt, verdict.NotBefore}, time.Time.Compare)
	}
	return verdict
}
