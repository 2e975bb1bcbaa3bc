package webhook

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Schedule are the waits before the second and each later try, counted from
// the end of the try before. There is one try more than there are waits.
type Schedule []time.Duration

// DefaultSchedule makes eight tries in about 28 hours (contract, Webhooks).
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

// pause is the wait between two tries of a dead endpoint, whichever delivery is
// tried: as after a first failure at first, doubled each time up to the wait
// after a second one.
func (s Schedule) pause(probes int) time.Duration {
	first, longest := s[0], s[min(1, len(s)-1)]
	return min(first<<min(probes, 10), max(first, longest))
}

const (
	jitter        = 0.1            // of a delay, either way
	retryAfterMax = 24 * time.Hour // a receiver cannot put a try off for longer
)

// response is what a try brought to light, as far as the verdict needs it.
type response struct {
	status     int    // 0: no answer
	retryAfter string // the header as it came
	unusable   error  // no request can be made of the delivery
}

func (r response) acknowledged() bool { return r.status >= 200 && r.status < 300 }

// decide says what follows from a try. failures counts this one, should it be
// one; chance is a random number in [0, 1).
func (s Schedule) decide(r response, failures int, now time.Time, chance float64) Verdict {
	switch {
	case r.acknowledged():
		return Verdict{Outcome: Delivered}
	case r.status == http.StatusGone:
		return Verdict{Outcome: GaveUp, Reason: "the receiver answered 410 Gone"}
	case r.unusable != nil:
		return Verdict{Outcome: GaveUp, Reason: r.unusable.Error()}
	case failures > len(s):
		return Verdict{Outcome: GaveUp, Reason: fmt.Sprintf("not acknowledged in %d tries", len(s)+1)}
	}
	delay := float64(s[failures-1]) * (1 - jitter + 2*jitter*chance)
	verdict := Verdict{Outcome: Retry, RetryAt: now.Add(time.Duration(delay))}
	if verdict.NotBefore = retryAfter(r.retryAfter, now); verdict.NotBefore.After(verdict.RetryAt) {
		verdict.RetryAt = verdict.NotBefore
	}
	return verdict
}

// retryAfter reads the header, seconds or a date (RFC 9110, section 10.2.3),
// and returns the time it asks for, at most retryAfterMax from now. It is the
// zero time when the header says nothing readable.
func retryAfter(header string, now time.Time) time.Time {
	header = strings.TrimSpace(header)
	latest := now.Add(retryAfterMax)
	if header != "" && strings.Trim(header, "0123456789") == "" {
		seconds, err := strconv.ParseInt(header, 10, 64)
		if err != nil || seconds > int64(retryAfterMax/time.Second) { // err: out of range
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
