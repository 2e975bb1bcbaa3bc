package webhook

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/retry"
	"standin/internal/jobs/job"
)

// record stores the result of a try. It retries while the lease is likely to be valid: a
// result that is not recorded means that the delivery is sent again.
func (s *Sender) record(ctx context.Context, result Result) {
	ctx = context.WithoutCancel(ctx)
	retryCtx, cancel := context.WithTimeout(ctx, s.lease()-s.settings.TryTimeout)
	defer cancel()
	backoff := retry.Backoff{Min: minDatabaseDelay, Max: maxDatabaseDelay}
	for {
		recording, cancel := context.WithTimeout(ctx, recordTimeout)
		lost, err := s.outbox.RecordTry(recording, result)
		cancel()
		if err != nil && retry.Sleep(retryCtx, backoff.Next()) == nil {
			continue
		}
		delivery, try, verdict := result.Delivery, result.Try, result.Verdict
		level := slog.LevelInfo
		attributes := []any{
			"delivery", delivery.ID, "event", delivery.Event, "host", HostOf(delivery.URL), "attempt", try.Number,
			"status", try.StatusCode, "latency", try.Latency, "verdict", string(verdict.Outcome),
		}
		if delivery.JobID != uuid.Nil {
			attributes = append(attributes, "job", delivery.JobID.String())
		}
		if verdict.Outcome == Retry {
			attributes = append(attributes, "retry_at", verdict.RetryAt)
			if !result.ProbeAt.IsZero() { // it may be tried then
				attributes = append(attributes, "probe_at", result.ProbeAt)
			}
		}
		if verdict.Outcome == PermanentFailure {
			attributes = append(attributes, "reason", verdict.Reason)
		}
		if text := cmp.Or(try.LoggedError, try.Error); text != "" {
			attributes = append(attributes, "try_error", text)
		}
		if verdict.Outcome != Delivered {
			level = slog.LevelWarn
		}
		if lost {
			level = slog.LevelWarn
			attributes = append(attributes, "error", "not recorded: the lease of the delivery was lost")
		}
		if err != nil {
			level = slog.LevelError
			attributes = append(attributes, "error", "not recorded: "+err.Error())
		}
		s.settings.Log.Log(context.Background(), level, "webhook try", attributes...)
		// The record of a try may make a delivery due: one that waits for it, itself again, or those
		// to an endpoint that responds again.
		if err != nil || !s.idle.Load() || verdict.Outcome != Delivered || result.UpdateEndpoint || result.Resume {
			s.Wake()
		}
		return
	}
}

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

// decide returns the verdict on a try of a delivery. random is in [0, 1). A failed
// probe that was not due by its schedule changes nothing about it.
func (s Schedule) decide(t Try, d Delivery, now time.Time, random float64) Verdict {
	early := d.DueAt.After(now)
	failures := d.Failures + 1
	switch {
	case t.Acknowledged():
		return Verdict{Outcome: Delivered}
	case t.StatusCode == http.StatusGone:
		return Verdict{Outcome: PermanentFailure, Reason: "the receiver answered 410 Gone"}
	case t.unusable:
		return Verdict{Outcome: PermanentFailure, Reason: t.Error}
	case failures > len(s) && !early:
		return Verdict{Outcome: PermanentFailure, Reason: fmt.Sprintf("not acknowledged in %d tries", len(s)+1)}
	}
	verdict := Verdict{Outcome: Retry, Uncounted: early, RetryAt: d.DueAt}
	if !early {
		verdict.RetryAt = now.Add(time.Duration(float64(s[failures-1]) * (1 - jitter + 2*jitter*random)))
	}
	if pause := retry.After(t.retryAfter, now, maxRetryAfter); pause > 0 {
		verdict.NotBefore = now.Add(pause)
		verdict.RetryAt = job.Latest(verdict.RetryAt, verdict.NotBefore)
	}
	return verdict
}
