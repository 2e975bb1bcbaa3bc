package webhook

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/google/uuid"

	"standin/internal/retry"
)

// maxRecorded limits how many results are stored in one transaction. A durable
// commit waits for the disk, so results are stored in groups.
const maxRecorded = 1024

// maxUnrecorded limits how many results may wait to be stored before claiming
// stops: deliveries often wait for an earlier one to be recorded.
const maxUnrecorded = maxRecorded / 2

// recordAll stores the results of tries until the channel is closed.
func (s *Sender) recordAll(ctx context.Context) {
	for first := range s.results {
		group := s.gather(first)
		lost, err := s.record(ctx, group)
		s.unrecorded.Add(int64(-len(group)))
		for _, result := range group {
			s.logTry(result, err, err == nil && slices.Contains(lost, result.Delivery.ID))
		}
		if err != nil || !s.idle.Load() || slices.ContainsFunc(group, changesDue) {
			s.Wake() // deliveries that wait for these may be due
		}
	}
}

// changesDue reports whether the record of a try may make a delivery due that does
// not wait for the tried one: itself again, or those to an endpoint that responds
// again.
func changesDue(r Result) bool {
	return r.Verdict.Outcome != Delivered || r.UpdateEndpoint || r.Resume
}

// gather returns the first result and those that are ready.
func (s *Sender) gather(first *Result) []Result {
	group := []Result{*first}
	for len(group) < maxRecorded {
		select {
		case next, ok := <-s.results:
			if !ok {
				return group
			}
			group = append(group, *next)
		default:
			return group
		}
	}
	return group
}

// record stores a group. It retries while the leases are likely to be valid: a
// result that is not recorded means that the delivery is sent again.
func (s *Sender) record(ctx context.Context, group []Result) (lost []string, err error) {
	retryCtx, cancel := context.WithTimeout(ctx, s.lease()-s.settings.TryTimeout)
	defer cancel()
	backoff := databaseBackoff()
	for {
		if lost, err = s.recordOnce(ctx, group); err == nil {
			return lost, nil
		}
		if retry.Sleep(retryCtx, backoff.Next()) != nil {
			return nil, fmt.Errorf("record %d tries: %w", len(group), err)
		}
	}
}

// recordOnce continues when ctx is done, because the receivers have responded.
func (s *Sender) recordOnce(ctx context.Context, group []Result) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return s.outbox.RecordTries(ctx, group)
}

// logTry writes the log line of a try.
func (s *Sender) logTry(result Result, err error, lost bool) {
	delivery, try, verdict := result.Delivery, result.Try, result.Verdict
	level := slog.LevelInfo
	attributes := []slog.Attr{
		slog.String("delivery", delivery.ID),
		slog.String("event", delivery.Event),
		slog.String("host", HostOf(delivery.URL)),
		slog.Int("attempt", try.Number),
		slog.Int("status", try.StatusCode),
		slog.Duration("latency", try.Latency),
		slog.String("verdict", string(verdict.Outcome)),
	}
	if delivery.JobID != uuid.Nil {
		attributes = append(attributes, slog.String("job", delivery.JobID.String()))
	}
	if verdict.Outcome == Retry {
		attributes = append(attributes, slog.Time("retry_at", verdict.RetryAt))
	}
	if verdict.Outcome == GaveUp {
		attributes = append(attributes, slog.String("reason", verdict.Reason))
	}
	if text := cmp.Or(try.LoggedError, try.Error); text != "" {
		attributes = append(attributes, slog.String("try_error", text))
	}
	if verdict.Outcome != Delivered {
		level = slog.LevelWarn
	}
	if lost {
		level = slog.LevelWarn
		attributes = append(attributes, slog.String("error", "not recorded: the lease of the delivery was lost"))
	}
	if err != nil {
		level = slog.LevelError
		attributes = append(attributes, slog.String("error", "not recorded: "+err.Error()))
	}
	s.settings.Log.LogAttrs(context.Background(), level, "webhook try", attributes...)
}
