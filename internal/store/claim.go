package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// claimQuery selects one kind of claimable jobs.
type claimQuery struct {
	limit int
	where string // starts with the range of an index; its arguments start at $2
	args  []any
}

// claimQueries returns the queries of a claim, in order: jobs that wait for
// capacity, due jobs, jobs to prelaunch. They use the indexes jobs_upcoming,
// jobs_wake and jobs_upcoming.
//
// A job with an attempt belongs to the node that runs its bot, because no other
// node can observe the bot. Other nodes claim it when that node has sent no
// heartbeat for a lease, or the job has been due for a lease.
func claimQueries(c job.Claim) []claimQuery {
	now, expired := millis(c.Now), millis(c.Now.Add(-c.Lease))
	queries := []claimQuery{
		{min(c.Limit, c.Capacity), `status IN ('scheduled', 'pending') AND mode = 'live' AND join_at <= $2
			AND status = 'pending' AND lease = '' ORDER BY join_at`, []any{now}},
		{c.Limit, `wake_at <= $2 AND (node = '' OR node = $3 OR wake_at <= $4
			OR node NOT IN (SELECT id FROM nodes WHERE heartbeat_at > $4)) ORDER BY wake_at`, []any{now, c.Node, expired}},
	}
	if c.Prelaunch > 0 {
		queries = append(queries, claimQuery{min(c.Limit, c.Capacity), `status IN ('scheduled', 'pending') AND mode = 'live' AND join_at > $2 AND join_at <= $3
			AND status = 'scheduled' AND lease = '' ORDER BY join_at`, []any{now, millis(c.Now.Add(c.Prelaunch))}})
	}
	return slices.DeleteFunc(queries, func(q claimQuery) bool { return q.limit <= 0 })
}

// ClaimJobs leases jobs that are due and moves their wake time to the end of
// the lease, so that the jobs of a crashed dispatcher are claimed again then.
// Jobs that wait for capacity come first, ordered by joinAt.
func (q *Queries) ClaimJobs(ctx context.Context, claim job.Claim) ([]job.Record, error) {
	lease, until := newLease(claim.Node), millis(claim.Now.Add(claim.Lease))
	var claimed []job.Record
	for _, query := range claimQueries(claim) {
		set := fmt.Sprintf(`lease = $%d, wake_at = $%d`, len(query.args)+2, len(query.args)+3)
		jobs, err := list(ctx, q, scanJob, `WITH due AS MATERIALIZED (SELECT id FROM jobs WHERE `+query.where+` LIMIT $1`+q.skip+`)
			UPDATE jobs SET `+set+` WHERE id IN (SELECT id FROM due) RETURNING `+jobColumns,
			slices.Concat([]any{query.limit}, query.args, []any{lease, until})...)
		if err != nil {
			return nil, fmt.Errorf("claim due jobs: %w", err)
		}
		slices.SortFunc(jobs, func(a, b job.Record) int { return a.JoinAt.Compare(b.JoinAt) })
		claimed = append(claimed, jobs...)
	}
	return claimed, nil
}

// CanClaim reports whether ClaimJobs would claim a job.
func (q *Queries) CanClaim(ctx context.Context, claim job.Claim) (bool, error) {
	for _, query := range claimQueries(claim) {
		ids, err := list(ctx, q, scanColumn[uuid.UUID], `SELECT id FROM jobs WHERE `+query.where+` LIMIT $1`, slices.Concat([]any{1}, query.args)...)
		if err != nil {
			return false, fmt.Errorf("find due jobs: %w", err)
		}
		if len(ids) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// newLease returns a unique token that starts with the ID of the node.
func newLease(node string) string { return node + "." + uuid.NewString() }

// ExtendLease moves the end of a lease. It returns false when the lease is no
// longer held.
func (q *Queries) ExtendLease(ctx context.Context, id uuid.UUID, lease string, until time.Time) (bool, error) {
	n, err := q.exec(ctx, `UPDATE jobs SET wake_at = $3 WHERE id = $1 AND lease = $2`, id, lease, millis(until))
	if err != nil {
		return false, fmt.Errorf("extend the lease of job %s: %w", id, err)
	}
	return n == 1, nil
}

// ReleaseLeases ends all leases, of jobs and of deliveries, and makes the jobs
// and deliveries due now. Only a service that does not share its database may
// call it.
func (q *Queries) ReleaseLeases(ctx context.Context, now time.Time) error {
	for _, statement := range []string{
		`UPDATE jobs SET lease = '', wake_at = $1 WHERE wake_at IS NOT NULL AND lease <> ''`,
		`UPDATE deliveries SET lease = '', due_at = $1 WHERE due_at IS NOT NULL AND lease <> ''`,
	} {
		if _, err := q.exec(ctx, statement, millis(now)); err != nil {
			return fmt.Errorf("release the leases of an earlier run: %w", err)
		}
	}
	return nil
}

// ReleaseNodeLeases ends the leases on jobs that a node held before it was
// restarted. It uses the index jobs_leased; the slash is the character after
// the dot that ends the node's ID.
func (q *Queries) ReleaseNodeLeases(ctx context.Context, node string, now time.Time) error {
	_, err := q.exec(ctx, `UPDATE jobs SET lease = '', wake_at = $1 WHERE lease <> '' AND lease >= $2 AND lease < $3 AND wake_at IS NOT NULL`,
		millis(now), node+".", node+"/")
	if err != nil {
		return fmt.Errorf("release the leases of an earlier run: %w", err)
	}
	return nil
}

// NextWake returns when the next job is due for a node, or can be prelaunched;
// false when there is none. Jobs of other nodes do not count. It uses the
// indexes jobs_wake and jobs_upcoming.
func (q *Queries) NextWake(ctx context.Context, node string, now time.Time, prelaunch time.Duration) (time.Time, bool, error) {
	next, ok, err := q.earliest(ctx, `SELECT wake_at FROM jobs WHERE wake_at IS NOT NULL AND (node = '' OR node = $1) ORDER BY wake_at LIMIT 1`, node)
	if err != nil || prelaunch == 0 {
		return next, ok, err
	}
	join, scheduled, err := q.earliest(ctx, `
		SELECT join_at FROM jobs WHERE status IN ('scheduled', 'pending') AND mode = 'live' AND join_at > $1 AND status = 'scheduled' AND lease = ''
		ORDER BY join_at LIMIT 1`, millis(now))
	if launch := join.Add(-prelaunch); scheduled && (!ok || launch.Before(next)) {
		return launch, true, err
	}
	return next, ok, err
}

// earliest runs a query for one time; false without a row.
func (q *Queries) earliest(ctx context.Context, query string, args ...any) (time.Time, bool, error) {
	var next time.Time
	err := q.forEach(ctx, func(row scanner) error { return row.Scan(timeColumn{&next}) }, query, args...)
	if err != nil {
		return time.Time{}, false, fmt.Errorf("find the next due job: %w", err)
	}
	return next, !next.IsZero(), nil
}

// WakeJob makes a job due now unless it is leased.
func (q *Queries) WakeJob(ctx context.Context, id uuid.UUID, now time.Time) error {
	_, err := q.exec(ctx, `UPDATE jobs SET wake_at = $2 WHERE id = $1 AND wake_at > $2 AND lease = ''`, id, millis(now))
	if err != nil {
		return fmt.Errorf("wake job %s: %w", id, err)
	}
	return nil
}

// WakeNodeJobs makes the jobs due now whose bots a node runs or should run. A
// node that has just started calls it to find out about their bots.
func (q *Queries) WakeNodeJobs(ctx context.Context, node string, now time.Time) error {
	_, err := q.exec(ctx, `UPDATE jobs SET wake_at = $2 WHERE node = $1 AND wake_at > $2 AND lease = '' AND `+dispatchedCondition(), node, millis(now))
	if err != nil {
		return fmt.Errorf("wake the jobs of node %s: %w", node, err)
	}
	return nil
}
