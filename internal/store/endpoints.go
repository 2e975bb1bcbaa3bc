package store

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
)

// MaxEndpoints is how many endpoints a consumer can register for a mode.
const MaxEndpoints = 50

// RegisterEndpoint adds an endpoint. The URL may be one that jobs name already. The error is
// a *job.Error with InvalidState when it is registered, or when there are too many.
func (s *Store) RegisterEndpoint(ctx context.Context, e webhook.Endpoint) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if err := tx.LockConsumer(ctx, e.ConsumerID); err != nil { // for the count
			return err
		}
		registered, err := queryValue[int](ctx, tx.Reader, "count registered webhook endpoints", `SELECT COUNT(*) FROM webhook_endpoints
			WHERE consumer_id = $1 AND mode = $2 AND registered = 1`, e.ConsumerID, e.Mode)
		if err != nil {
			return err
		}
		if registered >= MaxEndpoints {
			return job.NewInvalidState("there are %d endpoints, which is the maximum", MaxEndpoints)
		}
		n, err := tx.Affected(ctx, "register a webhook endpoint", `
			INSERT INTO webhook_endpoints (key, id, consumer_id, url, mode, events, description, enabled, created_at, registered)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1)
			ON CONFLICT (key) DO UPDATE SET registered = 1, events = excluded.events, description = excluded.description,
				enabled = excluded.enabled, created_at = excluded.created_at
			WHERE webhook_endpoints.registered = 0`,
			webhook.EndpointKey(e.ConsumerID, e.Mode, e.URL), webhook.EndpointID(e.ConsumerID, e.Mode, e.URL), e.ConsumerID, e.URL, e.Mode,
			strings.Join(e.Events, " "), e.Description, e.Enabled, e.CreatedAt)
		if err == nil && n == 0 {
			err = job.NewInvalidState("the URL is registered already")
		}
		return err
	})
}

// UpdateEndpoint changes the choice of events, the description and whether events are sent
// to a registered endpoint.
func (s *Store) UpdateEndpoint(ctx context.Context, e webhook.Endpoint) error {
	return s.exec(ctx, "change a webhook endpoint", `UPDATE webhook_endpoints SET events = $2, description = $3, enabled = $4
		WHERE key = $1 AND registered = 1`,
		e.Key, strings.Join(e.Events, " "), e.Description, e.Enabled)
}

// DeleteEndpoint deletes a registered endpoint. The deliveries that wait only because of it
// fail; those whose job names the URL go on.
func (s *Store) DeleteEndpoint(ctx context.Context, e webhook.Endpoint, now time.Time) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if err := tx.exec(ctx, "delete a webhook endpoint", `DELETE FROM webhook_endpoints WHERE key = $1`, e.Key); err != nil {
			return err
		}
		return tx.exec(ctx, "fail the deliveries of a deleted endpoint", `UPDATE deliveries
			SET state = 'failed', due_at = NULL, lease = '', ended_at = $2, end_reason = 'the endpoint was deleted'
			WHERE endpoint = $1 AND by_endpoint = 1 AND state = 'waiting'`, e.Key, now)
	})
}

// RetryEndpoint makes the waiting deliveries of an endpoint due now, and lets a dead one be
// probed now.
func (s *Store) RetryEndpoint(ctx context.Context, key string, now time.Time) error {
	err := s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if err := tx.exec(ctx, "probe a webhook endpoint now", `UPDATE webhook_endpoints SET probe_at = $2
			WHERE key = $1 AND probe_at > $2`, key, now); err != nil {
			return err
		}
		return tx.exec(ctx, "forget when a receiver wanted its deliveries", `UPDATE deliveries SET not_before = NULL
			WHERE endpoint = $1 AND state = 'waiting' AND not_before IS NOT NULL`, key)
	})
	if err != nil {
		return err
	}
	return s.resume(ctx, key, webhook.MaxTries, now)
}

// EnabledEndpoints implements webhook.ConsumerTx.
func (db *Reader) EnabledEndpoints(ctx context.Context, consumer uuid.UUID, mode job.Mode) ([]webhook.Endpoint, error) {
	team, err := db.Team(ctx, consumer)
	return team.Endpoints[mode], err
}

// Team is a consumer with its registered endpoints to which events are sent.
type Team struct {
	account.Consumer
	Endpoints map[job.Mode][]webhook.Endpoint // by mode
}

// Team returns a team, or a *job.Error with NotFound. It uses the index webhook_endpoints_registered.
func (db *Reader) Team(ctx context.Context, id uuid.UUID) (Team, error) {
	team := Team{Endpoints: make(map[job.Mode][]webhook.Endpoint)}
	err := db.forEach(ctx, "read a consumer with its webhook endpoints", func(r row) error {
		var url, events, mode sql.NullString
		err := scanConsumer(r.with(&url, &events, &mode), &team.Consumer)
		if url.Valid {
			of := job.Mode(mode.String)
			team.Endpoints[of] = append(team.Endpoints[of], webhook.Endpoint{URL: url.String, Events: strings.Fields(events.String)})
		}
		return err
	}, `SELECT c.*, e.url, e.events, e.mode FROM (`+selectConsumer+`) AS c
		LEFT JOIN webhook_endpoints e ON e.consumer_id = c.id AND e.registered = 1 AND e.enabled = 1 ORDER BY e.key`, id)
	if err == nil && team.ID == uuid.Nil {
		err = notFound("consumer")
	}
	return team, err
}

// CountConsumerEvent implements webhook.ConsumerTx.
func (tx *Tx) CountConsumerEvent(ctx context.Context, consumer uuid.UUID) (sequence int64, version int, err error) {
	err = tx.queryRow(ctx, "count an event of a consumer", `UPDATE consumers SET event_sequence = event_sequence + 1 WHERE id = $1
		RETURNING event_sequence, webhook_version`, consumer).Scan(&sequence, &version)
	return sequence, version, err
}

// saveEndpoint adds a try to its endpoint. One that failed has a failure and the time since when.
const saveEndpoint = `
	INSERT INTO webhook_endpoints (key, id, consumer_id, url, mode, failures, failing_since, probe_at, last_try_at, latency_ms,
		last_status, last_error, last_delivered_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
	ON CONFLICT (key) DO UPDATE SET
		failures = CASE WHEN $6 = 0 THEN 0 ELSE webhook_endpoints.failures + 1 END,
		failing_since = CASE WHEN $6 = 0 THEN NULL ELSE COALESCE(webhook_endpoints.failing_since, excluded.failing_since) END,
		probe_at = CASE WHEN $6 = 0 THEN NULL ELSE COALESCE(excluded.probe_at, webhook_endpoints.probe_at) END,
		last_try_at = excluded.last_try_at, latency_ms = excluded.latency_ms,
		last_status = CASE WHEN $6 = 0 THEN webhook_endpoints.last_status ELSE excluded.last_status END,
		last_error = CASE WHEN $6 = 0 THEN webhook_endpoints.last_error ELSE excluded.last_error END,
		last_delivered_at = COALESCE(excluded.last_delivered_at, webhook_endpoints.last_delivered_at)`

// resume makes the waiting deliveries of an endpoint due that have failed at most the
// given number of times. It respects their not_before times.
func (s *Store) resume(ctx context.Context, key string, maxFailures int, now time.Time) error {
	return s.exec(ctx, "resume a webhook endpoint", `UPDATE deliveries SET due_at = CASE WHEN not_before > $2 THEN not_before ELSE $2 END
		WHERE endpoint = $1 AND state = 'waiting' AND lease = '' AND due_at > $2 AND failures <= $3`, key, now, maxFailures)
}

// selectEndpoints selects endpoints and what waits for them. Any of the waiting deliveries
// that is due makes a dead endpoint be probed; otherwise the next try is of one that is not
// blocked. It uses the index deliveries_waiting.
const selectEndpoints = `
	SELECT e.key, e.id, e.consumer_id, e.url, e.mode, e.registered, e.events, e.description, e.enabled, e.created_at,
		e.failures, e.failing_since, e.probe_at, e.last_try_at, e.latency_ms, e.last_status, e.last_error, e.last_delivered_at,
		(SELECT COUNT(*) FROM deliveries w WHERE w.endpoint = e.key AND w.state = 'waiting'),
		CASE WHEN e.failures >= $2 THEN (SELECT MIN(w.due_at) FROM deliveries w WHERE w.endpoint = e.key AND w.state = 'waiting')
			ELSE (SELECT MIN(d.due_at) FROM deliveries d WHERE d.endpoint = e.key AND d.state = 'waiting'
				AND NOT EXISTS (SELECT 1 FROM deliveries ahead WHERE ` + aheadOf + `)) END
	FROM webhook_endpoints e WHERE e.consumer_id = $3 AND e.mode = $4`

// ListEndpoints returns up to limit of a consumer's endpoints after a key, and whether there
// are more: those that it has registered for a mode, and the URLs of jobs that have been
// tried. It uses the index webhook_endpoints_consumer.
func (db *Reader) ListEndpoints(ctx context.Context, caller account.Caller, after string, limit int,
	now time.Time) (endpoints []webhook.Endpoint, more bool, err error) {
	return page(ctx, db, "list webhook endpoints", limit, scanEndpoint(now), unboundedSize, selectEndpoints+` AND e.key > $5 ORDER BY e.key LIMIT $6`,
		now.Add(webhook.BlocksWithin), webhook.DeadAfterFailures, caller.ConsumerID, caller.Mode, after, limit+1)
}

// Endpoint returns one of these endpoints, or a *job.Error with NotFound.
func (db *Reader) Endpoint(ctx context.Context, caller account.Caller, id uuid.UUID, now time.Time) (webhook.Endpoint, error) {
	return queryOne(ctx, db, "webhook endpoint", scanEndpoint(now), selectEndpoints+` AND e.id = $5`,
		now.Add(webhook.BlocksWithin), webhook.DeadAfterFailures, caller.ConsumerID, caller.Mode, id)
}

// scanEndpoint returns a function that scans selectEndpoints as of now.
func scanEndpoint(now time.Time) func(row, *webhook.Endpoint) error {
	return func(r row, e *webhook.Endpoint) error {
		var events string
		var probeAt time.Time
		err := r.Scan(&e.Key, &e.ID, &e.ConsumerID, &e.URL, &e.Mode, &e.Registered, &events, &e.Description, &e.Enabled,
			&e.CreatedAt,
			&e.Failures, &e.FailingSince, &probeAt, &e.LastTryAt, &e.Latency, &e.LastStatus,
			&e.LastError,
			&e.LastDeliveredAt, &e.Waiting, &e.NextTryAt)
		e.Events = strings.Fields(events)
		if !e.NextTryAt.IsZero() {
			e.NextTryAt = webhook.NextTry(e.NextTryAt, time.Time{}, time.Time{}, probeAt, now, false)
		}
		return err
	}
}

// FailingEndpoint is a dead webhook endpoint for which webhooks wait.
type FailingEndpoint struct {
	Consumer string // name
	URL      string
	Since    time.Time
}

// FailingEndpoints returns up to limit endpoints that are dead and have failed since a time,
// the longest failing first. It uses the index webhook_endpoints_failing.
func (db *Reader) FailingEndpoints(ctx context.Context, since time.Time, limit int) ([]FailingEndpoint, error) {
	return List(ctx, db, "find failing webhook endpoints", func(r row, e *FailingEndpoint) error {
		return r.Scan(&e.Consumer, &e.URL, &e.Since)
	}, `SELECT c.name, e.url, e.failing_since FROM webhook_endpoints e JOIN consumers c ON c.id = e.consumer_id
		WHERE e.failing_since <= $1 AND e.failures >= $2 AND EXISTS (SELECT 1 FROM deliveries d WHERE d.endpoint = e.key AND d.state = 'waiting')
		ORDER BY e.failing_since LIMIT $3`, since, webhook.DeadAfterFailures, limit)
}
