package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"standin/internal/job"
)

// SaveNode keeps what a node says of itself.
func (q *Queries) SaveNode(ctx context.Context, n job.Node) error {
	_, err := q.exec(ctx, `
		INSERT INTO nodes (id, name, started_at, heartbeat_at, bots, room, full_because, start_ms)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (id) DO UPDATE SET name = $2, started_at = $3, heartbeat_at = $4, bots = $5, room = $6, full_because = $7, start_ms = $8`,
		n.ID, keptText(n.Name), millis(n.StartedAt), millis(n.HeartbeatAt), n.Bots, n.Capacity, n.FullReason, n.StartTime.Milliseconds())
	if err != nil {
		return fmt.Errorf("keep that node %s is there: %w", n.ID, err)
	}
	return nil
}

// Nodes returns all nodes that were heard since a time, by their names.
func (q *Queries) Nodes(ctx context.Context, since time.Time) ([]job.Node, error) {
	var nodes []job.Node
	err := q.collect(ctx, func(rows *sql.Rows) error {
		var n job.Node
		var started, heard, start int64
		err := rows.Scan(&n.ID, &n.Name, &started, &heard, &n.Bots, &n.Capacity, &n.FullReason, &start)
		n.Name, n.StartedAt, n.HeartbeatAt = fromKeptText(n.Name), fromMillis(started), fromMillis(heard)
		n.StartTime = time.Duration(start) * time.Millisecond
		nodes = append(nodes, n)
		return err
	}, `SELECT id, name, started_at, heartbeat_at, bots, room, full_because, start_ms
		FROM nodes WHERE heartbeat_at > $1 ORDER BY name, id`, millis(since))
	if err != nil {
		return nil, fmt.Errorf("read the nodes: %w", err)
	}
	return nodes, nil
}

// DeleteNodes removes the nodes that were not heard since a time.
func (q *Queries) DeleteNodes(ctx context.Context, since time.Time) error {
	if _, err := q.exec(ctx, `DELETE FROM nodes WHERE heartbeat_at <= $1`, millis(since)); err != nil {
		return fmt.Errorf("forget nodes that are gone: %w", err)
	}
	return nil
}

// NodeJobs returns the live jobs whose bots a node runs, or should.
func (q *Queries) NodeJobs(ctx context.Context, node string) ([]job.Record, error) {
	var records []job.Record
	err := q.collect(ctx, func(rows *sql.Rows) error {
		r, err := scanJob(rows)
		records = append(records, r)
		return err
	}, `SELECT `+jobColumns+` FROM jobs WHERE node = $1 AND mode = 'live' AND `+withBot(), node)
	if err != nil {
		return nil, fmt.Errorf("read the jobs of node %s: %w", node, err)
	}
	return records, nil
}

// BotStats returns what the live bots of a node told of themselves last; those
// of all nodes when it is empty. It uses the index jobs_unended.
func (q *Queries) BotStats(ctx context.Context, node string) ([]job.BotStats, error) {
	var all []job.BotStats
	err := q.collect(ctx, func(rows *sql.Rows) error {
		var bot job.BotStats
		var heard int64
		var stats string
		err := rows.Scan(&bot.JobID, &bot.Attempt, &bot.Node, &heard, &stats)
		bot.HeartbeatAt, bot.Stats = fromMillis(heard), json.RawMessage(stats)
		all = append(all, bot)
		return err
	}, `SELECT id, attempt, node, heartbeat_at, stats FROM jobs
		WHERE ($1 = '' OR node = $1) AND mode = 'live' AND heartbeat_at IS NOT NULL AND stats <> '' AND `+withBot(), node)
	if err != nil {
		return nil, fmt.Errorf("read what bots tell of themselves: %w", err)
	}
	return all, nil
}

// WakeNodeJobs makes the jobs due now whose bots a node runs, or should: it has
// just started, and sees to what became of them.
func (q *Queries) WakeNodeJobs(ctx context.Context, node string, now time.Time) error {
	_, err := q.exec(ctx, `UPDATE jobs SET wake_at = $2 WHERE node = $1 AND wake_at > $2 AND lease = '' AND `+withBot(), node, millis(now))
	if err != nil {
		return fmt.Errorf("make the jobs of node %s due: %w", node, err)
	}
	return nil
}
