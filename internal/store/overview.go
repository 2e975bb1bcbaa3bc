package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"standin/internal/job"
)

// Bounds of an overview.
const (
	overviewBots   = 200
	overviewErrors = 25
)

// Overview reads it. None of its queries goes through all jobs.
func (q *Queries) Overview(ctx context.Context, now time.Time) (o job.Overview, err error) {
	if o.Active, err = q.CountActive(ctx); err != nil {
		return o, err
	}
	if o.Bots, err = q.runningBots(ctx); err != nil {
		return o, fmt.Errorf("list running bots: %w", err)
	}
	if o.Deliveries, err = q.queue(ctx, `SELECT COUNT(*), MIN(due_at) FROM deliveries WHERE due_at IS NOT NULL AND due_at <= $1`, millis(now)); err != nil {
		return o, fmt.Errorf("count the deliveries that are due: %w", err)
	}
	if o.Overdue, err = q.queue(ctx, `SELECT COUNT(*), MIN(wake_at) FROM jobs WHERE wake_at <= $1`, millis(now)); err != nil {
		return o, fmt.Errorf("count the jobs that are due: %w", err)
	}
	err = q.queryRow(ctx, `SELECT COUNT(*) FROM commands c JOIN jobs ON jobs.id = c.job_id
		WHERE c.acked_at IS NULL AND status NOT IN ('completed', 'failed', 'cancelled')`).Scan(&o.Commands)
	if err != nil {
		return o, fmt.Errorf("count the commands that wait: %w", err)
	}
	if o.Failures, err = q.failures(ctx, now); err != nil {
		return o, fmt.Errorf("count failures: %w", err)
	}
	if o.Recent, err = q.recentFailures(ctx); err != nil {
		return o, fmt.Errorf("list failures: %w", err)
	}
	return o, nil
}

// queue reads a count and its earliest time. It uses the indexes
// deliveries_due and jobs_wake.
func (q *Queries) queue(ctx context.Context, query string, args ...any) (job.Backlog, error) {
	var waiting job.Backlog
	var since sql.NullInt64
	err := q.queryRow(ctx, query, args...).Scan(&waiting.Waiting, &since)
	waiting.Since = fromNull(since)
	return waiting, err
}

// runningBots uses the index jobs_unended, see CountActive.
func (q *Queries) runningBots(ctx context.Context) (bots []job.RunningBot, err error) {
	err = q.collect(ctx, func(rows *sql.Rows) error {
		var b job.RunningBot
		var since int64
		var launched, heard sql.NullInt64
		err := rows.Scan(&b.JobID, &b.Consumer, &b.Mode, &b.Status, &b.Platform, &b.Attempt, &since, &launched, &heard, &b.LaunchError)
		b.StatusSince, b.LaunchedAt, b.HeartbeatAt, b.LaunchError = fromMillis(since), fromNull(launched), fromNull(heard), fromKeptText(b.LaunchError)
		bots = append(bots, b)
		return err
	}, `SELECT j.id, c.name, j.mode, j.status, j.platform, j.attempt, j.status_since, j.launched_at, j.heartbeat_at, j.launch_error
		FROM jobs j JOIN consumers c ON c.id = j.consumer_id
		WHERE j.status NOT IN ('completed', 'failed', 'cancelled')
			AND j.status IN ('dispatching', 'joining', 'entering_lobby', 'in_meeting', 'recording_started', 'recording_paused',
				'recording_stopped', 'permission_requested', 'finalizing', 'post_processing', 'media_uploading')
		ORDER BY COALESCE(j.heartbeat_at, j.launched_at, j.status_since), j.id LIMIT $1`, overviewBots)
	return bots, err
}

const dayMillis = 24 * 60 * 60 * 1000

// failures uses the index jobs_failed alone.
func (q *Queries) failures(ctx context.Context, now time.Time) (counts []job.FailureCount, err error) {
	from := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-job.OverviewDays)
	err = q.collect(ctx, func(rows *sql.Rows) error {
		var c job.FailureCount
		var day int64
		err := rows.Scan(&day, &c.Code, &c.Jobs)
		c.Day = fromMillis(day * dayMillis)
		counts = append(counts, c)
		return err
	}, `SELECT status_since / 86400000 AS day, failure_code, COUNT(*) FROM jobs
		WHERE status = 'failed' AND status_since >= $1
		GROUP BY status_since / 86400000, failure_code ORDER BY day, failure_code`, millis(from))
	return counts, err
}

// recentFailures uses the index jobs_failed.
func (q *Queries) recentFailures(ctx context.Context) (recent []job.RecentFailure, err error) {
	err = q.collect(ctx, func(rows *sql.Rows) error {
		var r job.RecentFailure
		var at int64
		err := rows.Scan(&r.JobID, &r.Consumer, &r.Mode, &at, &r.Code, &r.Detail)
		r.At, r.Detail = fromMillis(at), fromKeptText(r.Detail)
		recent = append(recent, r)
		return err
	}, `SELECT j.id, c.name, j.mode, j.status_since, j.failure_code, j.failure_detail
		FROM (SELECT id FROM jobs WHERE status = 'failed' ORDER BY status_since DESC LIMIT $1) latest JOIN jobs j ON j.id = latest.id
		JOIN consumers c ON c.id = j.consumer_id ORDER BY j.status_since DESC, j.id`, overviewErrors)
	return recent, err
}
