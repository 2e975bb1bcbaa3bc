package webhook

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
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
	if verdict.NotBefore = retryAfter(r.retryAfter, now); verdict.NotBefore.After(verdict.RetryAt) {
		verdict.RetryAt = verdict.NotBefore
	}
	return verdict
}

// retryAfter parses the header, seconds or a date (RFC 9110, section 10.2.3),
// and returns the time it names, at most maxRetryAfter from now. It returns
// the zero time if the header is missing or malformed.
func retryAfter(header string, now time.Time) time.Time {
	header = strings.TrimSpace(header)
	latest := now.Add(maxRetryAfter)
	if header != "" && strings.Trim(header, "0123456789") == "" {
		seconds, err := strconv.ParseInt(header, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) { // err: out of range
			return latest
		}
		return now.Add(time.Duration(seconds) * time.Second)
	}
	date, err := http.ParseTime(header)
	if err != nil {
		return time.Time{}
	}
	if date.After(latest) {
		return latest
	}
	return date
}
