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
	overviewFailures = 15
)

// Overview reads the overview, with the failures of the jobs of a mode. None of its queries
// scans all jobs.
func (db *Reader) Overview(ctx context.Context, mode job.Mode, now time.Time) (o job.Overview, err error) {
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
	if o.Failures, err = db.failureCounts(ctx, mode, now); err != nil {
		return o, fmt.Errorf("count failures: %w", err)
	}
	if o.Reasons, err = db.failureReasons(ctx, mode, now); err != nil {
		return o, fmt.Errorf("count failures by reason: %w", err)
	}
	o.Recent, err = db.FailedJobs(ctx, mode, job.FailureFilter{}, overviewFailures)
	return o, err
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
func (db *Reader) failureCounts(ctx context.Context, mode job.Mode, now time.Time) ([]job.FailureCount, error) {
	from := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-job.OverviewDays)
	return list(ctx, db, func(row sqldb.Row) (c job.FailureCount, err error) {
		var day int64
		err = row.Scan(&day, &c.Code, &c.Jobs)
		c.Day = fromMillis(day * dayMillis)
		return c, err
	}, `SELECT status_since / 86400000 AS day, failure_code, COUNT(*) FROM jobs
		WHERE status = 'failed' AND mode = $1 AND status_since >= $2
		GROUP BY status_since / 86400000, failure_code ORDER BY day, failure_code`, mode, millis(from))
}

// failureReasons counts the failures of the last week, the most frequent first. It uses the
// index jobs_failed alone.
func (db *Reader) failureReasons(ctx context.Context, mode job.Mode, now time.Time) ([]job.FailureReason, error) {
	return list(ctx, db, func(row sqldb.Row) (r job.FailureReason, err error) {
		err = row.Scan(&r.Code, &r.Platform, &r.Day, &r.Week)
		return r, err
	}, `SELECT failure_code, platform, CAST(SUM(CASE WHEN status_since >= $3 THEN 1 ELSE 0 END) AS BIGINT), COUNT(*) AS week FROM jobs
		WHERE status = 'failed' AND mode = $1 AND status_since >= $2
		GROUP BY failure_code, platform ORDER BY week DESC, failure_code, platform`,
		mode, millis(now.AddDate(0, 0, -7)), millis(now.Add(-24*time.Hour)))
}

// FailedJobs returns the newest failed jobs of all consumers that pass a filter, up to limit.
// It finds them in the index jobs_failed.
func (db *Reader) FailedJobs(ctx context.Context, mode job.Mode, filter job.FailureFilter, limit int) ([]job.FailedJob, error) {
	args := []any{mode}
	conditions := ""
	and := func(condition string, value any) {
		args = append(args, value)
		conditions += fmt.Sprintf(" AND "+condition, len(args))
	}
	if filter.Code != "" {
		and("failure_code = $%d", filter.Code)
	}
	if filter.Platform != "" {
		and("platform = $%d", filter.Platform)
	}
	if !filter.Since.IsZero() {
		and("status_since >= $%d", millis(filter.Since))
	}
	if filter.After != (job.FailureCursor{}) {
		args = append(args, millis(filter.After.At), filter.After.ID)
		conditions += fmt.Sprintf(" AND (status_since, id) < ($%d, $%d)", len(args)-1, len(args))
	}
	args = append(args, limit)
	failed, err := list(ctx, db, func(row sqldb.Row) (f job.FailedJob, err error) {
		err = row.Scan(&f.JobID, &f.Consumer, &f.Platform, timeColumn{&f.At}, &f.Code, &f.Detail)
		return f, err
	}, `SELECT j.id, c.name, j.platform, j.status_since, j.failure_code, j.failure_detail
		FROM (SELECT id FROM jobs WHERE status = 'failed' AND mode = $1`+conditions+fmt.Sprintf(` ORDER BY status_since DESC, id DESC LIMIT $%d`, len(args))+`) latest
		JOIN jobs j ON j.id = latest.id JOIN consumers c ON c.id = j.consumer_id ORDER BY j.status_since DESC, j.id DESC`, args...)
	if err != nil {
		return nil, fmt.Errorf("list failed jobs: %w", err)
	}
	return failed, nil
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
