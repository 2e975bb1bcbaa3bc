package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"standin/internal/job"

	"github.com/google/uuid"
)

// claimQuery is one of the ways for a job to be taken.
type claimQuery struct {
	limit int
	which string // begins with the range of an index; its arguments are $2 and further
	args  []any
}

// claimQueries are those that a claim has. A job with an attempt belongs to the node
// that runs its bot: no other can tell what became of the bot. Others take it
// when that node is not heard for a lease, or has left the job lying for as
// long. The indexes are jobs_upcoming, jobs_wake, jobs_upcoming.
func claimQueries(c job.Claim) []claimQuery {
	now, left := millis(c.Now), millis(c.Now.Add(-c.Lease))
	queries := []claimQuery{
		{min(c.Limit, c.Capacity), `status IN ('scheduled', 'pending') AND mode = 'live' AND join_at <= $2
			AND status = 'pending' AND lease = '' ORDER BY join_at`, []any{now}},
		{c.Limit, `wake_at <= $2 AND (node = '' OR node = $3 OR wake_at <= $4
			OR node NOT IN (SELECT id FROM nodes WHERE heartbeat_at > $4)) ORDER BY wake_at`, []any{now, c.Node, left}},
		{min(c.Limit, c.Capacity), `status IN ('scheduled', 'pending') AND mode = 'live' AND join_at > $2 AND join_at <= $3
			AND status = 'scheduled' AND lease = '' ORDER BY join_at`, []any{now, millis(c.Now.Add(c.Prelaunch))}},
	}
	if c.Prelaunch == 0 {
		queries = queries[:2]
	}
	return slices.DeleteFunc(queries, func(w claimQuery) bool { return w.limit <= 0 })
}

// ClaimJobs leases jobs whose time has come, and pushes their time to the
// lease's end: a dispatcher that dies leaves its jobs to be claimed again
// then. Jobs that wait for room come first, in the order of their joinAt.
func (q *Queries) ClaimJobs(ctx context.Context, claim job.Claim) ([]job.Record, error) {
	lease, until := leaseToken(claim.Node), millis(claim.Now.Add(claim.Lease))
	var claimed []job.Record
	for _, query := range claimQueries(claim) {
		var taken []job.Record
		set := fmt.Sprintf(`lease = $%d, wake_at = $%d`, len(query.args)+2, len(query.args)+3)
		err := q.collect(ctx, func(rows *sql.Rows) error {
			r, err := scanJob(rows)
			taken = append(taken, r)
			return err
		}, `WITH due AS MATERIALIZED (SELECT id FROM jobs WHERE `+query.which+` LIMIT $1`+q.skip+`)
			UPDATE jobs SET `+set+` WHERE id IN (SELECT id FROM due) RETURNING `+jobColumns,
			slices.Concat([]any{query.limit}, query.args, []any{lease, until})...)
		if err != nil {
			return nil, fmt.Errorf("take due jobs: %w", err)
		}
		slices.SortFunc(taken, func(a, b job.Record) int { return a.JoinAt.Compare(b.JoinAt) })
		claimed = append(claimed, taken...)
	}
	return claimed, nil
}

// CanClaim reports whether there is anything that the claim would take.
func (q *Queries) CanClaim(ctx context.Context, claim job.Claim) (bool, error) {
	for _, query := range claimQueries(claim) {
		waits := false
		err := q.collect(ctx, func(rows *sql.Rows) error {
			var id uuid.UUID
			waits = true
			return rows.Scan(&id)
		}, `SELECT id FROM jobs WHERE `+query.which+` LIMIT $1`, slices.Concat([]any{1}, query.args)...)
		if err != nil {
			return false, fmt.Errorf("look for due jobs: %w", err)
		}
		if waits {
			return true, nil
		}
	}
	return false, nil
}

// leaseToken makes a token that nobody had before, and that tells whose it is.
func leaseToken(node string) string { return node + "." + uuid.NewString() }

// ExtendLease pushes a leased job's time further; false when the lease is no
// longer held.
func (q *Queries) ExtendLease(ctx context.Context, id uuid.UUID, lease string, until time.Time) (bool, error) {
	n, err := q.exec(ctx, `UPDATE jobs SET wake_at = $3 WHERE id = $1 AND lease = $2`, id, lease, millis(until))
	if err != nil {
		return false, fmt.Errorf("extend the lease of job %s: %w", id, err)
	}
	return n == 1, nil
}

// ReleaseLeases ends all leases, of jobs and of deliveries, and makes what was
// leased due now. It is for a service that shares its database with no other.
func (q *Queries) ReleaseLeases(ctx context.Context, now time.Time) error {
	for _, statement := range []string{
		`UPDATE jobs SET lease = '', wake_at = $1 WHERE wake_at IS NOT NULL AND lease <> ''`,
		`UPDATE deliveries SET lease = '', due_at = $1 WHERE due_at IS NOT NULL AND lease <> ''`,
	} {
		if _, err := q.exec(ctx, statement, millis(now)); err != nil {
			return fmt.Errorf("end the leases of an earlier run: %w", err)
		}
	}
	return nil
}

// ReleaseNodeLeases ends the leases on jobs that a node held before it was
// started again. It uses the index jobs_leased: a dot is followed by a slash.
func (q *Queries) ReleaseNodeLeases(ctx context.Context, node string, now time.Time) error {
	_, err := q.exec(ctx, `UPDATE jobs SET lease = '', wake_at = $1 WHERE lease <> '' AND lease >= $2 AND lease < $3 AND wake_at IS NOT NULL`,
		millis(now), node+".", node+"/")
	if err != nil {
		return fmt.Errorf("end the leases of an earlier run: %w", err)
	}
	return nil
}

// NextWake returns when the next job is due that a node may take as a matter
// of course, or comes so close that its lead begins; false when none waits. It
// uses the indexes jobs_wake and jobs_upcoming.
func (q *Queries) NextWake(ctx context.Context, node string, now time.Time, lead time.Duration) (time.Time, bool, error) {
	next, waits, err := q.earliest(ctx, `SELECT wake_at FROM jobs WHERE wake_at IS NOT NULL AND (node = '' OR node = $1) ORDER BY wake_at LIMIT 1`, node)
	if err != nil || lead == 0 {
		return next, waits, err
	}
	upcoming, comes, err := q.earliest(ctx, `
		SELECT join_at FROM jobs WHERE status IN ('scheduled', 'pending') AND mode = 'live' AND join_at > $1 AND status = 'scheduled' AND lease = ''
		ORDER BY join_at LIMIT 1`, millis(now))
	if early := upcoming.Add(-lead); comes && (!waits || early.Before(next)) {
		return early, true, err
	}
	return next, waits, err
}

// earliest runs a query for one time.
func (q *Queries) earliest(ctx context.Context, query string, args ...any) (time.Time, bool, error) {
	var next sql.NullInt64
	err := q.collect(ctx, func(rows *sql.Rows) error { return rows.Scan(&next) }, query, args...)
	if err != nil {
		return time.Time{}, false, fmt.Errorf("find the next due job: %w", err)
	}
	return fromNull(next), next.Valid, nil
}

// Nudge makes a job due now, unless somebody holds it.
func (q *Queries) WakeJob(ctx context.Context, id uuid.UUID, now time.Time) error {
	_, err := q.exec(ctx, `UPDATE jobs SET wake_at = $2 WHERE id = $1 AND wake_at > $2 AND lease = ''`, id, millis(now))
	if err != nil {
		return fmt.Errorf("make job %s due: %w", id, err)
	}
	return nil
}
