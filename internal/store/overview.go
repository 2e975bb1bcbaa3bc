package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"standin/internal/job"
	"standin/internal/store/sqldb"
)

// Bounds of the lists of an overview.
const (
	overviewBots     = 200
	overviewFailures = 25
)

// Overview reads the overview. None of its queries scans all jobs.
func (db *Reader) Overview(ctx context.Context, now time.Time) (o job.Overview, err error) {
	if o.Active, err = db.CountActive(ctx); err != nil {
		return o, err
	}
	if o.Bots, err = db.RunningBots(ctx, 0, overviewBots); err != nil {
		return o, fmt.Errorf("list running bots: %w", err)
	}
	if o.Deliveries, err = db.backlog(ctx, `SELECT COUNT(*), MIN(due_at) FROM deliveries WHERE due_at IS NOT NULL AND due_at <= $1`, millis(now)); err != nil {
		return o, fmt.Errorf("count due deliveries: %w", err)
	}
	if o.Overdue, err = db.backlog(ctx, `SELECT COUNT(*), MIN(wake_at) FROM jobs WHERE wake_at <= $1`, millis(now)); err != nil {
		return o, fmt.Errorf("count due jobs: %w", err)
	}
	err = db.queryRow(ctx, `SELECT COUNT(*) FROM commands c JOIN jobs ON jobs.id = c.job_id
		WHERE c.acked_at IS NULL AND status NOT IN ('completed', 'failed', 'cancelled')`).Scan(&o.Commands)
	if err != nil {
		return o, fmt.Errorf("count pending commands: %w", err)
	}
	if o.Failures, err = db.failureCounts(ctx, now); err != nil {
		return o, fmt.Errorf("count failures: %w", err)
	}
	if o.Recent, err = db.recentFailures(ctx); err != nil {
		return o, fmt.Errorf("list failures: %w", err)
	}
	return o, nil
}

// CountActive counts the jobs of all consumers that have not ended, by status.
// It uses the index jobs_wake alone, which has every job that has not ended.
func (db *Reader) CountActive(ctx context.Context) (map[job.Status]int, error) {
	counts := make(map[job.Status]int)
	err := db.forEach(ctx, func(row sqldb.Row) error {
		var status job.Status
		var n int
		err := row.Scan(&status, &n)
		counts[status] = n
		return err
	}, `SELECT status, COUNT(*) FROM jobs WHERE wake_at IS NOT NULL AND status NOT IN ('completed', 'failed', 'cancelled') GROUP BY status`)
	if err != nil {
		return nil, fmt.Errorf("count the jobs that have not ended: %w", err)
	}
	return counts, nil
}

// dispatchedCondition is the condition of jobs whose bot runs or should run. It
// uses the index jobs_dispatched, whose condition it repeats literally, with a
// range for each status.
func dispatchedCondition() string {
	var statuses []string
	for _, status := range job.Statuses() {
		if status.Dispatched() {
			statuses = append(statuses, "'"+string(status)+"'")
		}
	}
	return `status NOT IN ('scheduled', 'pending', 'completed', 'failed', 'cancelled') AND status IN (` + strings.Join(statuses, ", ") + `)`
}

// prelaunchedCondition is the condition of jobs with a prelaunched bot that runs,
// or may run and is to be stopped. It uses the index jobs_prelaunched, whose
// condition it repeats literally.
const prelaunchedCondition = `prelaunch IN ('launched', 'withdrawn')`

// RunningBots returns running bots, those with the oldest heartbeats first, without
// the first skip of them. It uses the index jobs_dispatched.
func (db *Reader) RunningBots(ctx context.Context, skip, limit int) ([]job.RunningBot, error) {
	return list(ctx, db, func(row sqldb.Row) (b job.RunningBot, err error) {
		err = row.Scan(&b.JobID, &b.Consumer, &b.Mode, &b.Status, &b.Platform, &b.Attempt,
			timeColumn{&b.StatusSince}, timeColumn{&b.LaunchedAt}, timeColumn{&b.HeartbeatAt}, &b.LaunchError)
		return b, err
	}, `SELECT j.id, c.name, j.mode, j.status, j.platform, j.attempt, j.status_since, j.launched_at, j.heartbeat_at, j.launch_error
		FROM jobs j JOIN consumers c ON c.id = j.consumer_id
		WHERE `+dispatchedCondition()+`
		ORDER BY COALESCE(j.heartbeat_at, j.launched_at, j.status_since), j.id LIMIT $1 OFFSET $2`, limit, skip)
}

// backlog reads a count and the earliest time. It uses the indexes
// deliveries_due and jobs_wake.
func (db *Reader) backlog(ctx context.Context, query string, args ...any) (b job.Backlog, err error) {
	err = db.queryRow(ctx, query, args...).Scan(&b.Waiting, timeColumn{&b.Since})
	return b, err
}

// failureCounts uses the index jobs_failed alone.
func (db *Reader) failureCounts(ctx context.Context, now time.Time) ([]job.FailureCount, error) {
	from := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-job.OverviewDays)
	return list(ctx, db, func(row sqldb.Row) (c job.FailureCount, err error) {
		var day int64
		err = row.Scan(&day, &c.Code, &c.Jobs)
		c.Day = time.Unix(day*24*60*60, 0).UTC()
		return c, err
	}, `SELECT status_since / 86400000 AS day, failure_code, COUNT(*) FROM jobs
		WHERE status = 'failed' AND status_since >= $1
		GROUP BY status_since / 86400000, failure_code ORDER BY day, failure_code`, millis(from))
}

// recentFailures uses the index jobs_failed.
func (db *Reader) recentFailures(ctx context.Context) ([]job.RecentFailure, error) {
	return list(ctx, db, func(row sqldb.Row) (r job.RecentFailure, err error) {
		err = row.Scan(&r.JobID, &r.Consumer, &r.Mode, timeColumn{&r.At}, &r.Code, &r.Detail)
		return r, err
	}, `SELECT j.id, c.name, j.mode, j.status_since, j.failure_code, j.failure_detail
		FROM (SELECT id FROM jobs WHERE status = 'failed' ORDER BY status_since DESC LIMIT $1) latest JOIN jobs j ON j.id = latest.id
		JOIN consumers c ON c.id = j.consumer_id ORDER BY j.status_since DESC, j.id`, overviewFailures)
}

// CountUpcoming counts the live jobs without a bot whose joinAt is in
// [from, until), by intervals that start at multiples of their length.
// Intervals without jobs are omitted. It uses the index jobs_upcoming alone.
func (db *Reader) CountUpcoming(ctx context.Context, from, until time.Time, length time.Duration) ([]job.UpcomingCount, error) {
	step := length.Milliseconds()
	counts, err := list(ctx, db, func(row sqldb.Row) (c job.UpcomingCount, err error) {
		var number int64
		err = row.Scan(&number, &c.Jobs)
		c.From = fromMillis(number * step)
		return c, err
	}, `SELECT join_at / $3 AS number, COUNT(*) FROM jobs
		WHERE status IN ('scheduled', 'pending') AND mode = 'live' AND join_at >= $1 AND join_at < $2
		GROUP BY number ORDER BY number`, millis(from), millis(until), step)
	if err != nil {
		return nil, fmt.Errorf("count upcoming jobs: %w", err)
	}
	return counts, nil
}
