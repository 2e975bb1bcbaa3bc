package store

import (
	"context"
	"strings"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/operation/alert"
)

// SaveNode inserts or updates a node.
func (tx *Tx) SaveNode(ctx context.Context, n job.Node) error {
	return tx.exec(ctx, "save a node", `
		INSERT INTO nodes (id, name, base_url, started_at, heartbeat_at, bots, capacity, full_reason, start_ms)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (id) DO UPDATE SET name = $2, base_url = $3, started_at = $4, heartbeat_at = $5, bots = $6, capacity = $7,
		full_reason = $8, start_ms = $9`,
		n.ID, n.Name, n.BaseURL, n.StartedAt, n.HeartbeatAt, n.Bots, n.Capacity, n.FullReason, n.StartTime)
}

// Nodes returns the nodes with a heartbeat after a time, by name.
func (db *Reader) Nodes(ctx context.Context, since time.Time) ([]job.Node, error) {
	return List(ctx, db, "read nodes", func(r row, n *job.Node) error {
		return r.Scan(&n.ID, &n.Name, &n.StartedAt, &n.HeartbeatAt,
			&n.Bots, &n.Capacity, &n.FullReason, &n.StartTime)
	}, `SELECT id, name, started_at, heartbeat_at, bots, capacity, full_reason, start_ms
		FROM nodes WHERE heartbeat_at > $1 ORDER BY name, id`, since)
}

// DeleteNodes deletes the nodes without a heartbeat after a time.
func (tx *Tx) DeleteNodes(ctx context.Context, since time.Time) error {
	return tx.exec(ctx, "delete silent nodes", `DELETE FROM nodes WHERE heartbeat_at <= $1`, since)
}

// NodeJobs returns the live jobs whose bots a node runs or should run, or whose
// prelaunched bots it is to stop.
func (db *Reader) NodeJobs(ctx context.Context, node string) ([]job.Record, error) {
	var jobs []job.Record
	for _, condition := range []string{dispatchedCondition(), prelaunchedCondition} {
		some, err := List(ctx, db, "read the jobs of a node", scanJob, `SELECT `+jobColumns+` FROM jobs WHERE node = $1 AND mode = 'live' AND `+
			condition, node)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, some...)
	}
	return jobs, nil
}

// BaseURL returns where consumers reach the service, as the node that was last seen has
// it; empty if no service has run yet.
func (db *Reader) BaseURL(ctx context.Context) (string, error) {
	url, _, err := first(ctx, db, "read the URL of the service", scanColumn[string], `SELECT base_url FROM nodes ORDER BY heartbeat_at DESC
		LIMIT 1`)
	return url, err
}

// NodeName returns the name of a node; empty when it is unknown.
func (db *Reader) NodeName(ctx context.Context, id string) (string, error) {
	name, _, err := first(ctx, db, "read the name of a node", scanColumn[string], `SELECT name FROM nodes WHERE id = $1`, id)
	return name, err
}

// ClaimAlert implements alert.Store.
func (s *Store) ClaimAlert(ctx context.Context, name, channel string, firing bool, now, until, since time.Time) (claimed bool, err error) {
	query, args := `UPDATE alerts SET claimed_until = $3 WHERE name = $1 AND channel = $2 AND claimed_until <= $4 AND firing = 1`,
		[]any{name, channel, until, now}
	if firing {
		query, args = `INSERT INTO alerts (name, channel, firing, sent_at, claimed_until) VALUES ($1, $2, 0, 0, $3)
			ON CONFLICT (name, channel) DO UPDATE SET claimed_until = $3 WHERE alerts.claimed_until <= $4 AND alerts.sent_at <= $5`,
			append(args, since)
	}
	n, err := s.affected(ctx, "claim an alert", query, args...)
	return n == 1, err
}

// RecordAlert implements alert.Store.
func (s *Store) RecordAlert(ctx context.Context, name, channel string, firing bool, now time.Time) error {
	var sentAt any // that all is well again does not count for the cooldown
	if firing {
		sentAt = now
	}
	return s.exec(ctx, "record an alert", `UPDATE alerts SET firing = $3, sent_at = COALESCE($4, sent_at), claimed_until = 0
		WHERE name = $1 AND channel = $2`, name, channel, firing, sentAt)
}

// Alerts implements alert.Store.
func (db *Reader) Alerts(ctx context.Context) ([]alert.Sent, error) {
	return List(ctx, db, "list alerts", func(r row, a *alert.Sent) error {
		var name string
		err := r.Scan(&name, &a.Firing, &a.At)
		a.Rule, a.Node, _ = strings.Cut(name, " ")
		return err
	}, `SELECT name, MAX(firing), MAX(sent_at) FROM alerts WHERE sent_at > 0 GROUP BY name ORDER BY 3 DESC, 1`)
}
