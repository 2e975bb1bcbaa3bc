package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/store/sqldb"
	"standin/internal/webhook"
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
		takers, err := tx.takers(ctx, e.ConsumerID, e.Mode)
		if err != nil {
			return err
		}
		if len(takers) >= MaxEndpoints {
			return &job.Error{Code: job.InvalidState, Message: fmt.Sprintf("there are %d endpoints, which is the maximum", MaxEndpoints)}
		}
		n, err := tx.exec(ctx, `
			INSERT INTO webhook_endpoints (key, id, consumer_id, url, mode, events, live, description, enabled, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
			ON CONFLICT (key) DO UPDATE SET mode = excluded.mode, events = excluded.events, live = excluded.live, description = excluded.description,
				enabled = excluded.enabled, created_at = excluded.created_at
			WHERE webhook_endpoints.mode = ''`,
			webhook.EndpointKey(e.ConsumerID, e.URL), webhook.EndpointID(e.ConsumerID, e.URL), e.ConsumerID, e.URL, e.Mode,
			strings.Join(e.Events, " "), boolInt(webhook.TakesLive(e.Events)), e.Description, boolInt(e.Enabled), millis(e.CreatedAt))
		if err != nil {
			return fmt.Errorf("register a webhook endpoint: %w", err)
		}
		if n == 0 {
			return &job.Error{Code: job.InvalidState, Message: "the URL is registered already, for live or for test jobs"}
		}
		return nil
	})
}

// UpdateEndpoint changes the choice of events, the description and whether events are sent
// to a registered endpoint.
func (s *Store) UpdateEndpoint(ctx context.Context, e webhook.Endpoint) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.exec(ctx, `UPDATE webhook_endpoints SET events = $2, live = $3, description = $4, enabled = $5 WHERE key = $1 AND mode <> ''`,
			e.Key, strings.Join(e.Events, " "), boolInt(webhook.TakesLive(e.Events)), e.Description, boolInt(e.Enabled))
		if err != nil {
			return fmt.Errorf("change a webhook endpoint: %w", err)
		}
		return nil
	})
}

// DeleteEndpoint deletes a registered endpoint. Its waiting deliveries fail.
func (s *Store) DeleteEndpoint(ctx context.Context, e webhook.Endpoint, now time.Time) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if _, err := tx.exec(ctx, `DELETE FROM webhook_endpoints WHERE key = $1`, e.Key); err != nil {
			return fmt.Errorf("delete a webhook endpoint: %w", err)
		}
		_, err := tx.exec(ctx, `UPDATE deliveries SET state = 'failed', due_at = NULL, lease = '', ended_at = $2, end_reason = 'the endpoint was deleted'
			WHERE endpoint = $1 AND state = 'waiting'`, e.Key, millis(now))
		if err != nil {
			return fmt.Errorf("fail the deliveries of a deleted endpoint: %w", err)
		}
		return nil
	})
}

// RetryEndpoint makes the waiting deliveries of an endpoint due now, and lets a dead one be
// probed now.
func (s *Store) RetryEndpoint(ctx context.Context, key string, now time.Time) error {
	err := s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if _, err := tx.exec(ctx, `UPDATE webhook_endpoints SET probe_at = $2 WHERE key = $1 AND probe_at > $2`, key, millis(now)); err != nil {
			return fmt.Errorf("probe a webhook endpoint now: %w", err)
		}
		_, err := tx.exec(ctx, `UPDATE deliveries SET not_before = NULL WHERE endpoint = $1 AND state = 'waiting' AND not_before IS NOT NULL`, key)
		if err != nil {
			return fmt.Errorf("forget when a receiver wanted its deliveries: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.resume(ctx, key, webhook.MaxTries, now)
}

// selectTakers selects the registered endpoints of a consumer for a mode. It uses the index
// webhook_endpoints_registered.
const selectTakers = `SELECT url, events, enabled FROM webhook_endpoints WHERE consumer_id = $1 AND mode = $2 AND mode <> '' ORDER BY key`

func (db *Reader) takers(ctx context.Context, consumer uuid.UUID, mode job.Mode) ([]webhook.Endpoint, error) {
	takers, err := list(ctx, db, func(row sqldb.Row) (e webhook.Endpoint, err error) {
		var events string
		err = row.Scan(&e.URL, &events, &e.Enabled)
		e.Events = strings.Fields(events)
		return e, err
	}, selectTakers, consumer, mode)
	if err != nil {
		return nil, fmt.Errorf("list registered webhook endpoints: %w", err)
	}
	return takers, nil
}

// EnabledEndpoints returns the URLs and choices of a consumer's registered endpoints to which
// events are sent.
func (db *Reader) EnabledEndpoints(ctx context.Context, consumer uuid.UUID, mode job.Mode) ([]webhook.Endpoint, error) {
	takers, err := db.takers(ctx, consumer, mode)
	enabled := takers[:0]
	for _, e := range takers {
		if e.Enabled {
			enabled = append(enabled, e)
		}
	}
	return enabled, err
}

// EmitConsumerEvent puts an event that belongs to no job into the outbox, once for each
// registered endpoint of the consumer that takes it. It is sent within a few seconds after the
// commit. The events of a consumer are delivered in order.
func (tx *Tx) EmitConsumerEvent(ctx context.Context, consumer uuid.UUID, e webhook.Event, now time.Time) error {
	endpoints, err := tx.EnabledEndpoints(ctx, consumer, job.Live)
	if err != nil {
		return err
	}
	var targets []string
	for _, endpoint := range endpoints {
		if webhook.Takes(endpoint.Events, e.Name) {
			targets = append(targets, endpoint.URL)
		}
	}
	if len(targets) == 0 {
		return nil
	}
	of, sequence, err := tx.nextConsumerEvent(ctx, consumer)
	if err != nil {
		return err
	}
	data, err := e.Data(sequence)
	if err != nil {
		return err
	}
	for _, target := range targets {
		err := tx.InsertDelivery(ctx, webhook.Delivery{
			ID: webhook.NewDeliveryID(), ConsumerID: consumer, Mode: job.Live, URL: target, Event: e.Name, Sequence: sequence,
			EmittedAt: now, Data: data, Version: of.WebhookVersion,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// nextConsumerEvent counts an event of a consumer.
func (tx *Tx) nextConsumerEvent(ctx context.Context, consumer uuid.UUID) (of account.Consumer, sequence int64, err error) {
	if _, err := tx.exec(ctx, `UPDATE consumers SET event_sequence = event_sequence + 1 WHERE id = $1`, consumer); err != nil {
		return of, 0, fmt.Errorf("count an event of consumer %s: %w", consumer, err)
	}
	if err := tx.queryRow(ctx, `SELECT event_sequence FROM consumers WHERE id = $1`, consumer).Scan(&sequence); err != nil {
		return of, 0, fmt.Errorf("read the number of an event of consumer %s: %w", consumer, err)
	}
	of, err = tx.Consumer(ctx, consumer)
	return of, sequence, err
}

// EraseConsumerDeliveries deletes the deliveries of a consumer's events without a job that
// happened by a time and are not waiting. It uses the index deliveries_of_consumer.
func (s *Store) EraseConsumerDeliveries(ctx context.Context, consumer uuid.UUID, until time.Time) error {
	const batch = 1000
	for {
		var ids []string
		err := s.Write(ctx, func(ctx context.Context, tx *Tx) (err error) {
			if ids, err = list(ctx, &tx.Reader, scanColumn[string], `SELECT id FROM deliveries
				WHERE consumer_id = $1 AND job_id IS NULL AND emitted_at <= $2 AND state <> 'waiting' ORDER BY emitted_at, id LIMIT $3`,
				consumer, millis(until), batch); err != nil {
				return err
			}
			return tx.execAll(ctx, "erase deliveries", []string{
				`DELETE FROM delivery_tries WHERE delivery_id ` + tx.dialect.In(1),
				`DELETE FROM deliveries WHERE id ` + tx.dialect.In(1),
			}, jsonArray(ids))
		})
		if err != nil {
			return fmt.Errorf("erase the deliveries of consumer %s: %w", consumer, err)
		}
		if len(ids) < batch {
			return nil
		}
	}
}
