package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"standin/internal/alert"
	"standin/internal/store/sqldb"
	"standin/internal/webhook"
)

// ClaimAlert implements alert.Store.
func (s *Store) ClaimAlert(ctx context.Context, name string, now time.Time, cooldown time.Duration) (claimed bool, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		n, err := tx.exec(ctx, `INSERT INTO alerts (name, firing, sent_at) VALUES ($1, 1, $2)
			ON CONFLICT (name) DO UPDATE SET firing = 1, sent_at = excluded.sent_at WHERE alerts.sent_at <= $3`, name, millis(now), millis(now.Add(-cooldown)))
		if err != nil {
			return fmt.Errorf("claim the alert %s: %w", name, err)
		}
		claimed = n == 1
		return nil
	})
	return claimed, err
}

// ResolveAlert implements alert.Store.
func (s *Store) ResolveAlert(ctx context.Context, name string) (resolved bool, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		n, err := tx.exec(ctx, `UPDATE alerts SET firing = 0 WHERE name = $1 AND firing = 1`, name)
		if err != nil {
			return fmt.Errorf("resolve the alert %s: %w", name, err)
		}
		resolved = n == 1
		return nil
	})
	return resolved, err
}

// Alerts implements alert.Store.
func (db *Reader) Alerts(ctx context.Context) ([]alert.Sent, error) {
	sent, err := list(ctx, db, func(row sqldb.Row) (a alert.Sent, err error) {
		var name string
		err = row.Scan(&name, &a.Firing, timeColumn{&a.At})
		a.Rule, a.Node, _ = strings.Cut(name, " ")
		return a, err
	}, `SELECT name, firing, sent_at FROM alerts ORDER BY sent_at DESC, name`)
	if err != nil {
		return nil, fmt.Errorf("list alerts: %w", err)
	}
	return sent, nil
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
	failing, err := list(ctx, db, func(row sqldb.Row) (e FailingEndpoint, err error) {
		err = row.Scan(&e.Consumer, &e.URL, timeColumn{&e.Since})
		return e, err
	}, `SELECT c.name, e.url, e.failing_since FROM webhook_endpoints e JOIN consumers c ON c.id = e.consumer_id
		WHERE e.failing_since <= $1 AND e.failures >= $2 AND EXISTS (SELECT 1 FROM deliveries d WHERE d.endpoint = e.key AND d.state = 'waiting')
		ORDER BY e.failing_since LIMIT $3`, millis(since), webhook.DeadAfterFailures, limit)
	if err != nil {
		return nil, fmt.Errorf("find failing webhook endpoints: %w", err)
	}
	return failing, nil
}
