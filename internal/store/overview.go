package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"standin/internal/account"
	"standin/internal/jobs/job"
)

// Overview reads the overview, with the failures of the jobs of a mode. None of its queries
// scans all jobs.
func (db *Reader) Overview(ctx context.Context, mode job.Mode, now time.Time) (o job.Overview, err error) {
	if o.Active, err = db.CountActive(ctx); err != nil {
		return o, err
	}
	if o.Bots, err = db.RunningBots(ctx, 0, 200); err != nil {
		return o, err
	}
	if err = db.queryRow(ctx, "count due deliveries", `SELECT COUNT(*), MIN(due_at) FROM deliveries
		WHERE due_at IS NOT NULL AND due_at <= $1`, now).Scan(&o.Deliveries.Waiting, &o.Deliveries.Since); err != nil {
		return o, err
	}
	if err = db.queryRow(ctx, "count due jobs", `SELECT COUNT(*), MIN(wake_at) FROM jobs WHERE wake_at <= $1`,
		now).Scan(&o.Overdue.Waiting, &o.Overdue.Since); err != nil {
		return o, err
	}
	err = db.queryRow(ctx, "count pending commands", `SELECT COUNT(*) FROM commands c JOIN jobs ON jobs.id = c.job_id
		WHERE c.acked_at IS NULL AND status NOT IN ('completed', 'failed', 'cancelled')`).Scan(&o.Commands)
	if err != nil {
		return o, err
	}
	// This and the next query use the index jobs_failed alone.
	firstDay := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-job.OverviewDays)
	o.Failures, err = List(ctx, db, "count failures", func(r row, c *job.FailureCount) error {
		return r.Scan(&c.Day, &c.Code, &c.Jobs)
	}, `SELECT status_since / 86400000 * 86400000 AS day, failure_code, COUNT(*) FROM jobs
		WHERE status = 'failed' AND mode = $1 AND status_since >= $2
		GROUP BY status_since / 86400000, failure_code ORDER BY day, failure_code`, mode, firstDay)
	if err != nil {
		return o, err
	}
	o.Reasons, err = List(ctx, db, "count failures by reason", func(r row, f *job.FailureReason) error {
		return r.Scan(&f.Code, &f.Platform, &f.Day, &f.Week)
	}, `SELECT failure_code, platform, CAST(SUM(CASE WHEN status_since >= $3 THEN 1 ELSE 0 END) AS BIGINT), COUNT(*) AS week FROM jobs
		WHERE status = 'failed' AND mode = $1 AND status_since >= $2
		GROUP BY failure_code, platform ORDER BY week DESC, failure_code, platform`,
		mode, now.AddDate(0, 0, -7), now.Add(-24*time.Hour))
	if err != nil {
		return o, err
	}
	o.Recent, err = db.FailedJobs(ctx, mode, job.FailureFilter{}, 6)
	return o, err
}

// CountActive counts the jobs of all consumers that have not ended, by status.
// It uses the index jobs_wake alone, which has every job that has not ended.
func (db *Reader) CountActive(ctx context.Context) (map[job.Status]int, error) {
	counts := make(map[job.Status]int)
	err := db.forEach(ctx, "count the jobs that have not ended", func(r row) error {
		var status job.Status
		var n int
		err := r.Scan(&status, &n)
		counts[status] = n
		return err
	}, `SELECT status, COUNT(*) FROM jobs WHERE wake_at IS NOT NULL AND status NOT IN ('completed', 'failed', 'cancelled') GROUP BY status`)
	return counts, err
}

// FailureCauses returns why attempts of live jobs failed in the last job.CauseWeeks, up to limit, the most
// frequent of the last seven days first. It finds them in the index attempt_ends_failed, and counts all
// attempts in attempt_ends_all.
func (db *Reader) FailureCauses(ctx context.Context, now time.Time, limit int) ([]job.CauseCount, error) {
	const week = 7 * 24 * time.Hour
	weeks := ""
	for i := range job.CauseWeeks {
		weeks += fmt.Sprintf(" || COUNT(CASE WHEN ($1 - at) / %d = %d THEN 1 END) || ','", week.Milliseconds(), i)
	}
	return List(ctx, db, "count failures by cause", func(r row, c *job.CauseCount) error {
		return r.Scan(&c.Platform, &c.Account, &c.Code, &c.Cause, &c.Recent, &c.Before, jsonColumn{&c.Weeks}, &c.First, &c.Since, &c.Capture,
			&c.RecentOf, &c.BeforeOf)
	}, `WITH causes AS (
			SELECT platform, account, code, cause, COUNT(CASE WHEN at > $2 THEN 1 END) AS recent, COUNT(CASE WHEN at <= $2 THEN 1 END) AS earlier,
				'['`+strings.TrimSuffix(weeks, "','")+`']' AS weeks, MIN(at) AS first_at, MIN(CASE WHEN at > $2 THEN at END) AS since,
				MAX(CASE WHEN capture = '' THEN '' ELSE job_id || '/captures/' || attempt || '/' || capture END) AS newest
			FROM attempt_ends WHERE cause <> '' AND at > $3 GROUP BY platform, account, code, cause
			ORDER BY recent DESC, MAX(at) DESC LIMIT $4)
		SELECT c.*, (SELECT COUNT(*) FROM attempt_ends e WHERE e.platform = c.platform AND e.account = c.account AND e.at >= c.since),
			(SELECT COUNT(*) FROM attempt_ends e WHERE e.platform = c.platform AND e.account = c.account AND e.at > $3
				AND e.at < COALESCE(c.since, $2))
		FROM causes c ORDER BY recent DESC, since DESC`, now, now.Add(-week), now.Add(-job.CauseWeeks*week), limit)
}

// FailedJobs returns the newest failed jobs of all consumers that pass a filter, up to limit.
// It finds them in the index jobs_failed.
func (db *Reader) FailedJobs(ctx context.Context, mode job.Mode, filter job.FailureFilter, limit int) ([]job.FailedJob, error) {
	c := conditions{args: []any{mode}}
	if filter.Code != "" {
		c.and("failure_code = %s", filter.Code)
	}
	if filter.Platform != "" {
		c.and("platform = %s", filter.Platform)
	}
	c.within("status_since", filter.Since, time.Time{})
	if filter.After != (job.FailureCursor{}) {
		c.and("(status_since, id) < (%s, %s)", filter.After.At, filter.After.ID)
	}
	newest := ` LIMIT ` + c.arg(limit)
	return List(ctx, db, "list failed jobs", func(r row, f *job.FailedJob) error {
		return r.Scan(&f.JobID, &f.Consumer, &f.Platform, &f.At, &f.Code, &f.Detail)
	}, `SELECT j.id, c.name, j.platform, j.status_since, j.failure_code, j.failure_detail
		FROM (SELECT id FROM jobs WHERE status = 'failed' AND mode = $1`+c.text+` ORDER BY status_since DESC, id DESC`+newest+`) latest
		JOIN jobs j ON j.id = latest.id JOIN consumers c ON c.id = j.consumer_id ORDER BY j.status_since DESC, j.id DESC`, c.args...)
}

// Upcoming returns how many live bots will start, and run at once, in each interval of a length until a time, without intervals
// in which none does. A bot leaves when its calendar event ends, or else after the average time of the bots of the last week. Some
// meetings take longer: half of the bots still run in the interval in which they are to leave. It uses the indexes jobs_upcoming,
// jobs_dispatched, calendar_events_job and usage_days_newest.
func (db *Reader) Upcoming(ctx context.Context, from, until time.Time, length time.Duration) ([]job.UpcomingCount, error) {
	usual, err := queryValue[int64](ctx, db, "read how long bots stay", `SELECT
		CAST(COALESCE(SUM(bot_ms) / NULLIF(SUM(completed + failed), 0), 3600000) AS BIGINT)
		FROM (SELECT * FROM usage_days WHERE mode = 'live' AND day >= $1 ORDER BY day DESC LIMIT 1000) AS newest`, from.UnixMilli()/dayMillis-7)
	if err != nil {
		return nil, err
	}
	counts := make([]job.UpcomingCount, until.Sub(from)/length)
	leaving := make([]int, len(counts))
	at := func(t time.Time) int { return min(max(0, int(t.Sub(from)/length)), len(counts)-1) }
	err = db.forEach(ctx, "forecast the bots", func(r row) error {
		var start, end time.Time
		var running, bots int
		if err := r.Scan(&start, &end, &running, &bots); err != nil {
			return err
		}
		first := at(start)
		if running == 0 {
			counts[first].Jobs += bots
		}
		last := max(first+1, at(end))
		for i := first; i < last; i++ {
			counts[i].Bots += bots
		}
		if last < len(leaving) {
			leaving[last] += bots
		}
		return nil
	}, `WITH bots AS (
			SELECT id, join_at, 0 AS running FROM jobs
			WHERE status IN ('scheduled', 'pending') AND mode = 'live' AND join_at >= $1 AND join_at < $2
			UNION ALL
			SELECT id, join_at, 1 FROM jobs
			WHERE status NOT IN ('scheduled', 'pending', 'completed', 'failed', 'cancelled') AND mode = 'live'
		), spans AS (
			SELECT join_at, running,
				COALESCE((SELECT MAX(ends_at) FROM calendar_events WHERE job_id = bots.id AND job_id <> ''), join_at + $4) AS ends
			FROM bots
		) SELECT join_at / $3 * $3, ends / $3 * $3, running, COUNT(*) FROM spans
		GROUP BY 1, 2, 3`, from, until, length, usual)
	for i := range counts {
		counts[i].From = from.Add(time.Duration(i) * length)
		counts[i].Bots += (leaving[i] + 1) / 2
	}
	return slices.DeleteFunc(counts, func(c job.UpcomingCount) bool { return c.Bots == 0 }), err
}

// Unscheduled returns how many live bots began, and were created as shortly before, within a time from now in one of the last
// three weeks, the most of them, and at most 20,000. Because IDs begin with the time of their creation, it uses the primary key.
func (db *Reader) Unscheduled(ctx context.Context, now time.Time, within time.Duration) (most int, err error) {
	firstID := func(t time.Time) string {
		digits := fmt.Sprintf("%012x", t.UnixMilli())
		return digits[:8] + "-" + digits[8:]
	}
	for week := range 3 {
		from := now.AddDate(0, 0, -7*(week+1))
		n, err := queryValue[int](ctx, db, "count bots that were not scheduled", `SELECT COUNT(*) FROM (
				SELECT mode, join_at, created_at FROM jobs WHERE id >= $1 AND id < $2 LIMIT 20000
			) AS created WHERE mode = 'live' AND join_at < created_at + $3`, firstID(from), firstID(from.Add(within)), within)
		if err != nil {
			return 0, err
		}
		most = max(most, n)
	}
	return most, nil
}

const dayMillis = 24 * 60 * 60 * 1000

// usageSums are the sums of what a job.Usage has, each preceded by a comma, with a format for their terms.
func usageSums(format string) (sums string) {
	for _, column := range []string{"completed", "failed", "cancelled", "recorded_ms", "bot_ms", "stored_bytes", "deleted_bytes",
		"core_ms", "memory_ms"} {
		sums += `, CAST(SUM(` + fmt.Sprintf(format, column) + `) AS BIGINT)`
	}
	return sums
}

// Usage returns the usage of a consumer from one day to another, both included. It uses the
// primary key of usage_days.
func (db *Reader) Usage(ctx context.Context, caller account.Caller, from, to time.Time) (job.UsageReport, error) {
	report := job.UsageReport{From: from, To: to}
	days, err := List(ctx, db, "read the usage of a consumer", func(r row, d *job.UsageDay) error {
		return r.Scan(&d.Day, &d.Completed, &d.Failed, &d.Cancelled, &d.Recorded, &d.Bots, &d.StoredBytes, &d.DeletedBytes,
			&d.Cores, &d.Memory)
	}, `SELECT day * 86400000`+usageSums(`%s`)+` FROM usage_days WHERE consumer_id = $1 AND mode = $2 AND day >= $3 AND day <= $4
		GROUP BY day ORDER BY day`, caller.ConsumerID, caller.Mode, from.UnixMilli()/dayMillis, to.UnixMilli()/dayMillis)
	if err != nil {
		return report, err
	}
	report.Days = days
	for _, d := range days {
		report.Total = report.Total.Plus(d.Usage)
	}
	report.Kept, err = queryValue[int64](ctx, db, "read what is stored for a consumer", `SELECT
		CAST(COALESCE(SUM(stored_bytes - deleted_bytes), 0) AS BIGINT) FROM usage_days WHERE consumer_id = $1 AND mode = $2`,
		caller.ConsumerID, caller.Mode)
	return report, err
}

// TeamUsage returns the usage of each consumer from one day to another, both included, by
// name, without consumers that have none and of which nothing is stored.
func (db *Reader) TeamUsage(ctx context.Context, mode job.Mode, from, to time.Time) ([]job.TeamUsage, error) {
	return List(ctx, db, "read the usage of consumers", func(r row, t *job.TeamUsage) error {
		return r.Scan(&t.ConsumerID, &t.Consumer, &t.Completed, &t.Failed, &t.Cancelled, &t.Recorded, &t.Bots,
			&t.StoredBytes, &t.DeletedBytes, &t.Cores, &t.Memory, &t.Kept)
	}, `SELECT c.id, c.name`+usageSums(`CASE WHEN u.day >= $2 AND u.day <= $3 THEN u.%s ELSE 0 END`)+`, CAST(SUM(u.stored_bytes - u.deleted_bytes) AS BIGINT)
		FROM usage_days u JOIN consumers c ON c.id = u.consumer_id
		WHERE u.mode = $1 GROUP BY c.id, c.name
		HAVING MAX(CASE WHEN u.day >= $2 AND u.day <= $3 THEN 1 ELSE 0 END) = 1 OR SUM(u.stored_bytes - u.deleted_bytes) > 0
		ORDER BY c.name`, mode, from.UnixMilli()/dayMillis, to.UnixMilli()/dayMillis)
}
