package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/webhook"
)

// endpointNote is what a group of tries tells of one endpoint.
type endpointNote struct {
	webhook.Endpoint
	reset bool // one was acknowledged; Failures counts from then on
}

// noteEndpoints keeps what tries tell of their endpoints.
func (q *Queries) noteEndpoints(ctx context.Context, results []webhook.Result) error {
	for _, note := range notesOf(results) {
		if err := q.noteEndpoint(ctx, note); err != nil {
			return err
		}
	}
	return nil
}

// notesOf sums tries up, in the order of keys, so that nodes that write the
// same ones do not wait for each other in a circle.
func notesOf(results []webhook.Result) []*endpointNote {
	notes := make(map[string]*endpointNote)
	for _, r := range results {
		delivered := r.Verdict.Outcome == webhook.Delivered
		key := webhook.EndpointKey(r.Delivery.ConsumerID, r.Delivery.URL)
		note := notes[key]
		if delivered && !r.UpdateEndpoint && note == nil {
			continue
		}
		if note == nil {
			note = &endpointNote{Endpoint: webhook.Endpoint{Key: key, ConsumerID: r.Delivery.ConsumerID, URL: r.Delivery.URL}}
			notes[key] = note
		}
		ended := endOf(r.Try)
		note.LastTryAt = ended
		if delivered {
			note.reset, note.LastDeliveredAt = true, ended
			note.Failures, note.FailingSince = 0, time.Time{}
			continue
		}
		if note.Failures++; note.FailingSince.IsZero() {
			note.FailingSince = r.Try.StartedAt
		}
		note.LastStatus, note.LastError = r.Try.StatusCode, r.Try.Error
	}
	sorted := make([]*endpointNote, 0, len(notes))
	for _, note := range notes {
		sorted = append(sorted, note)
	}
	slices.SortFunc(sorted, func(a, b *endpointNote) int { return cmp.Compare(a.Key, b.Key) })
	return sorted
}

// resumedAtOnce is how many deliveries one write makes due, so that others have
// their turns.
const resumedAtOnce = 1000

// resumeAnswering makes due what waits for endpoints that answer again: all of it
// where one that is kept as dead has acknowledged a try now, and what has not
// failed yet where the sender asks for it. It comes before the tries are
// recorded: after a crash in between the dead are still kept as dead, and the
// next acknowledgement goes on.
func (s *Store) resumeAnswering(ctx context.Context, results []webhook.Result) error {
	backAt := make(map[string]time.Time)
	for _, note := range notesOf(results) {
		if note.reset {
			backAt[note.Key] = note.LastDeliveredAt
		}
	}
	dead, err := s.deadAmong(ctx, slices.Sorted(maps.Keys(backAt)))
	if err != nil {
		return err
	}
	for _, key := range dead {
		if err := s.resume(ctx, key, math.MaxInt32, backAt[key]); err != nil {
			return err
		}
	}
	for _, r := range results {
		key := webhook.EndpointKey(r.Delivery.ConsumerID, r.Delivery.URL)
		if !r.Resume || slices.Contains(dead, key) {
			continue
		}
		if err := s.resume(ctx, key, 0, endOf(r.Try)); err != nil {
			return err
		}
	}
	return nil
}

// deadAmong returns which endpoints are kept as dead.
func (q *Queries) deadAmong(ctx context.Context, keys []string) (dead []string, err error) {
	err = q.inGroups(ctx, keys, []any{webhook.DeadAfterFailures}, func(ctx context.Context, places string, args []any) error {
		return q.collect(ctx, func(rows *sql.Rows) error {
			var key string
			err := rows.Scan(&key)
			dead = append(dead, key)
			return err
		}, `SELECT key FROM webhook_endpoints WHERE failures >= $1 AND key IN (`+places+`)`, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("look for webhook endpoints that are back: %w", err)
	}
	return dead, nil
}

// waitingPlace is where a delivery stands among those that wait for its
// endpoint, in the index deliveries_ahead.
type waitingPlace struct {
	job      uuid.UUID
	sequence int64
}

// resume makes due what waits for an endpoint and has failed at most so often, but
// nothing earlier than its receiver wished.
func (s *Store) resume(ctx context.Context, key string, failures int, now time.Time) error {
	for after, more := (waitingPlace{}), true; more; {
		err := s.Write(ctx, func(q *Queries) (err error) {
			after, more, err = q.resumeGroup(ctx, key, failures, after, now)
			return err
		})
		if err != nil {
			return fmt.Errorf("go on with a webhook endpoint that is back: %w", err)
		}
	}
	return nil
}

// resumeGroup makes the next group due.
func (q *Queries) resumeGroup(ctx context.Context, key string, failures int, after waitingPlace, now time.Time) (last waitingPlace, more bool, err error) {
	var ids []string
	err = q.collect(ctx, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id, &last.job, &last.sequence)
		ids = append(ids, id)
		return err
	}, `SELECT id, job_id, sequence FROM deliveries
		WHERE endpoint = $1 AND state = 'waiting' AND (job_id, sequence) > ($2, $3) AND failures <= $5
		ORDER BY job_id, sequence LIMIT $4`, key, after.job, after.sequence, resumedAtOnce, failures)
	if err != nil {
		return last, false, err
	}
	return last, len(ids) == resumedAtOnce, q.update(ctx, ids, []any{millis(now)}, func(places string) string {
		return `UPDATE deliveries SET due_at = CASE WHEN not_before > $1 THEN not_before ELSE $1 END
			WHERE state = 'waiting' AND lease = '' AND due_at > $1 AND id IN (` + places + `)`
	})
}

func (q *Queries) noteEndpoint(ctx context.Context, note *endpointNote) error {
	reset := 0
	if note.reset {
		reset = 1
	}
	failed := 0 // whether there is a failure to show
	if note.LastStatus != 0 || note.LastError != "" || note.Failures > 0 {
		failed = 1
	}
	_, err := q.exec(ctx, `
		INSERT INTO webhook_endpoints (key, consumer_id, url, failures, failing_since, last_try_at, last_status, last_error, last_delivered_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (key) DO UPDATE SET
			failures = CASE WHEN $10 = 1 THEN excluded.failures ELSE webhook_endpoints.failures + excluded.failures END,
			failing_since = CASE WHEN $10 = 1 THEN excluded.failing_since ELSE COALESCE(webhook_endpoints.failing_since, excluded.failing_since) END,
			last_try_at = excluded.last_try_at,
			last_status = CASE WHEN $11 = 1 THEN excluded.last_status ELSE webhook_endpoints.last_status END,
			last_error = CASE WHEN $11 = 1 THEN excluded.last_error ELSE webhook_endpoints.last_error END,
			last_delivered_at = COALESCE(excluded.last_delivered_at, webhook_endpoints.last_delivered_at)`,
		note.Key, note.ConsumerID, note.URL, note.Failures, nullMillis(note.FailingSince), millis(note.LastTryAt),
		note.LastStatus, keptText(note.LastError), nullMillis(note.LastDeliveredAt), reset, failed)
	if err != nil {
		return fmt.Errorf("keep how a webhook endpoint does: %w", err)
	}
	return nil
}

// ListEndpoints returns up to limit of a consumer's endpoints that have been
// tried, behind a key, and whether there are more. It uses the index
// webhook_endpoints_consumer, and deliveries_ahead for what waits.
func (q *Queries) ListEndpoints(ctx context.Context, consumer uuid.UUID, after string, limit int) (page []webhook.Endpoint, more bool, err error) {
	err = q.collect(ctx, func(rows *sql.Rows) error {
		e, err := scanEndpoint(rows)
		page = append(page, e)
		return err
	}, `
		SELECT e.key, e.consumer_id, e.url, e.failures, e.failing_since, e.last_try_at, e.last_status, e.last_error, e.last_delivered_at,
			(SELECT COUNT(*) FROM deliveries w WHERE w.endpoint = e.key AND w.state = 'waiting'),
			(SELECT MIN(w.due_at) FROM deliveries w WHERE w.endpoint = e.key AND w.state = 'waiting')
		FROM webhook_endpoints e WHERE e.consumer_id = $1 AND e.key > $2 ORDER BY e.key LIMIT $3`, consumer, after, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("list webhook endpoints: %w", err)
	}
	if more = len(page) > limit; more {
		page = page[:limit]
	}
	return page, more, nil
}

func scanEndpoint(rows *sql.Rows) (webhook.Endpoint, error) {
	var e webhook.Endpoint
	var tried int64
	var since, delivered, next sql.NullInt64
	err := rows.Scan(&e.Key, &e.ConsumerID, &e.URL, &e.Failures, &since, &tried, &e.LastStatus, &e.LastError, &delivered, &e.Waiting, &next)
	e.FailingSince, e.LastTryAt, e.LastDeliveredAt, e.NextTryAt = fromNull(since), fromMillis(tried), fromNull(delivered), fromNull(next)
	e.LastError = fromKeptText(e.LastError)
	return e, err
}
