package store

import (
	"context"
	"fmt"
	"time"

	"standin/internal/job"
	"standin/internal/store/sqldb"
)

// SaveNode inserts or updates a node.
func (tx *Tx) SaveNode(ctx context.Context, n job.Node) error {
	_, err := tx.exec(ctx, `
		INSERT INTO nodes (id, name, base_url, started_at, heartbeat_at, bots, capacity, full_reason, start_ms)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (id) DO UPDATE SET name = $2, base_url = $3, started_at = $4, heartbeat_at = $5, bots = $6, capacity = $7, full_reason = $8, start_ms = $9`,
		n.ID, n.Name, n.BaseURL, millis(n.StartedAt), millis(n.HeartbeatAt), n.Bots, n.Capacity, n.FullReason, n.StartTime.Milliseconds())
	if err != nil {
		return fmt.Errorf("save node %s: %w", n.ID, err)
	}
	return nil
}

// Nodes returns the nodes with a heartbeat after a time, by name.
func (db *Reader) Nodes(ctx context.Context, since time.Time) ([]job.Node, error) {
	nodes, err := list(ctx, db, func(row sqldb.Row) (n job.Node, err error) {
		err = row.Scan(&n.ID, &n.Name, timeColumn{&n.StartedAt}, timeColumn{&n.HeartbeatAt},
			&n.Bots, &n.Capacity, &n.FullReason, durationColumn{&n.StartTime})
		return n, err
	}, `SELECT id, name, started_at, heartbeat_at, bots, capacity, full_reason, start_ms
		FROM nodes WHERE heartbeat_at > $1 ORDER BY name, id`, millis(since))
	if err != nil {
		return nil, fmt.Errorf("read nodes: %w", err)
	}
	return nodes, nil
}

// DeleteNodes deletes the nodes without a heartbeat after a time.
func (tx *Tx) DeleteNodes(ctx context.Context, since time.Time) error {
	if _, err := tx.exec(ctx, `DELETE FROM nodes WHERE heartbeat_at <= $1`, millis(since)); err != nil {
		return fmt.Errorf("delete silent nodes: %w", err)
	}
	return nil
}

// NodeJobs returns the live jobs whose bots a node runs or should run, or whose
// prelaunched bots it is to stop.
func (db *Reader) NodeJobs(ctx context.Context, node string) ([]job.Record, error) {
	var jobs []job.Record
	for _, condition := range []string{dispatchedCondition(), prelaunchedCondition} {
		some, err := list(ctx, db, scanJob, `SELECT `+jobColumns+` FROM jobs WHERE node = $1 AND mode = 'live' AND `+condition, node)
		if err != nil {
			return nil, fmt.Errorf("read the jobs of node %s: %w", node, err)
		}
		jobs = append(jobs, some...)
	}
	return jobs, nil
}

// BaseURL returns where consumers reach the service, as the node that was last seen has
// it; empty if no service has run yet.
func (db *Reader) BaseURL(ctx context.Context) (string, error) {
	return db.firstText(ctx, `SELECT base_url FROM nodes ORDER BY heartbeat_at DESC LIMIT 1`)
}

// NodeName returns the name of a node; empty when it is unknown.
func (db *Reader) NodeName(ctx context.Context, id string) (string, error) {
	return db.firstText(ctx, `SELECT name FROM nodes WHERE id = $1`, id)
}

// BotStats returns the last statistics of the live bots of a node, or of all
// nodes when it is empty. It uses the index jobs_dispatched.
func (db *Reader) BotStats(ctx context.Context, node string) ([]job.BotStats, error) {
	stats, err := list(ctx, db, func(row sqldb.Row) (b job.BotStats, err error) {
		err = row.Scan(&b.JobID, &b.Attempt, &b.Node, timeColumn{&b.HeartbeatAt}, (*[]byte)(&b.Stats))
		return b, err
	}, `SELECT id, attempt, node, heartbeat_at, stats FROM jobs
		WHERE ($1 = '' OR node = $1) AND mode = 'live' AND heartbeat_at IS NOT NULL AND stats <> '' AND `+dispatchedCondition(), node)
	if err != nil {
		return nil, fmt.Errorf("read the statistics of bots: %w", err)
	}
	return stats, nil
}

// OldestHeartbeat returns the time of the last heartbeat of the bot that has
// been silent the longest; false when no bot has sent one.
func (db *Reader) OldestHeartbeat(ctx context.Context) (time.Time, bool, error) {
	var oldest time.Time
	err := db.queryRow(ctx, `SELECT MIN(heartbeat_at) FROM jobs WHERE `+dispatchedCondition()).Scan(timeColumn{&oldest})
	if err != nil {
		return time.Time{}, false, fmt.Errorf("find the oldest heartbeat: %w", err)
	}
	return oldest, !oldest.IsZero(), nil
}
