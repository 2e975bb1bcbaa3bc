package store

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// prelaunchRetry is how soon a job that can be prelaunched, and was not claimed
// because of a limit, is looked at again.
const prelaunchRetry = time.Second

// admissionLock is the key of the advisory lock of PostgreSQL that a claim holds
// while it admits jobs.
const admissionLock = 7_461_927_301

// ClaimJobs leases jobs that are due and moves their wake time to the end of
// the lease, so that the jobs of a crashed dispatcher are claimed again then.
//
// The admitted jobs may use capacity. Each consumer in turn gets one, in the
// order of max(joinAt, createdAt); jobs to prelaunch come after due ones. The
// other jobs need no capacity, or there is none for them.
//
// One claim at a time admits jobs: concurrent ones would rank and choose the
// same jobs, and could together exceed the limit of a consumer. A claim that is
// not the one leaves all waiting jobs to it.
//
// change, which may be nil, changes each admitted job before it is saved.
func (q *Queries) ClaimJobs(ctx context.Context, claim job.Claim, change func(*job.Record) error) (claimed job.Claimed, err error) {
	limit := min(claim.Limit, claim.Capacity)
	if limit > 0 {
		if claimed.More, err = q.admissionBusy(ctx); err != nil {
			return claimed, err
		}
		if !claimed.More {
			if claimed.Admitted, err = q.admitJobs(ctx, claim, limit, change); err != nil {
				return claimed, fmt.Errorf("claim jobs that wait for capacity: %w", err)
			}
			claimed.More = len(claimed.Admitted) == claim.Limit && claim.Limit < claim.Capacity
		}
	}
	if len(claimed.Admitted) >= claim.Capacity { // the node is full
		if claimed.More, err = q.otherNodeHasCapacity(ctx, claim); err != nil {
			return claimed, err
		}
	}
	where, args := dueCondition(claim)
	if claimed.More {
		where = needsNoAdmission + where // those that wait may still be admitted
	}
	claimed.Others, err = list(ctx, q, unpacked(q, scanJob), `WITH due AS MATERIALIZED (SELECT id FROM jobs WHERE `+where+` LIMIT $1 + 0`+q.skip+`)
		UPDATE jobs SET lease = $5, wake_at = $6 WHERE id IN (SELECT id FROM due) RETURNING `+q.selects.record,
		slices.Concat([]any{claim.Limit}, args, []any{newLease(claim.Node), millis(claim.Now.Add(claim.Lease))})...)
	if err != nil {
		return claimed, fmt.Errorf("claim due jobs: %w", err)
	}
	slices.SortFunc(claimed.Others, func(a, b job.Record) int { return a.JoinAt.Compare(b.JoinAt) })
	return claimed, nil
}

// AdmissionBusy reports whether another node is admitting jobs now.
func (s *Store) AdmissionBusy(ctx context.Context) (bool, error) {
	if s.engine.notifierConfig() == nil {
		return false, nil // SQLite has a single node
	}
	var locked bool
	if err := s.queryRow(ctx, `SELECT pg_try_advisory_xact_lock_shared($1)`, admissionLock).Scan(&locked); err != nil {
		return false, fmt.Errorf("find out whether a node admits jobs: %w", err)
	}
	return !locked, nil
}

// admissionBusy reports whether another transaction admits jobs. If none does,
// this one is the only one until it ends. SQLite has one writer.
func (q *Queries) admissionBusy(ctx context.Context) (bool, error) {
	if q.skip == "" {
		return false, nil
	}
	var locked bool
	if err := q.queryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, admissionLock).Scan(&locked); err != nil {
		return false, fmt.Errorf("lock the admission of jobs: %w", err)
	}
	return !locked, nil
}

// otherNodeHasCapacity reports whether another node can run another bot, by a
// heartbeat that is not older than half a lease. It takes the jobs that this node
// has no capacity for.
func (q *Queries) otherNodeHasCapacity(ctx context.Context, claim job.Claim) (bool, error) {
	ids, err := list(ctx, q, scanColumn[string], `SELECT id FROM nodes WHERE id <> $1 AND heartbeat_at > $2 AND full_because = '' LIMIT 1`,
		claim.Node, millis(claim.Now.Add(-claim.Lease/2)))
	if err != nil {
		return false, fmt.Errorf("find a node with capacity: %w", err)
	}
	return len(ids) > 0, nil
}

// admitJobs leases up to limit live jobs without an attempt, in the order in
// which they are to be served.
func (q *Queries) admitJobs(ctx context.Context, claim job.Claim, limit int, change func(*job.Record) error) ([]job.Record, error) {
	where, args := waitingCondition(claim)
	busy, position := consumerLimit(claim)
	ids, err := list(ctx, q, scanColumn[uuid.UUID], `
		WITH waiting AS (
			SELECT id, consumer_id, CASE WHEN join_at > $2 THEN 1 ELSE 0 END AS early,
				CASE WHEN join_at > created_at THEN join_at ELSE created_at END AS due_at
			FROM jobs WHERE `+where+`
		), ranked AS (
			SELECT id, consumer_id, early, due_at, ROW_NUMBER() OVER (PARTITION BY consumer_id ORDER BY early, due_at, id) AS position
			FROM waiting
		)
		SELECT ranked.id FROM ranked LEFT JOIN dispatch_turns ON dispatch_turns.consumer_id = ranked.consumer_id`+busy+`
		WHERE position <= $1 + 0 AND `+position+` -- so that PostgreSQL stops at the limit of each consumer
		ORDER BY early, position, COALESCE(turn, 0), due_at, ranked.id LIMIT $1 + 0`, slices.Concat([]any{limit}, args)...)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	sequence := make(map[uuid.UUID]int, len(ids))
	for i, id := range ids {
		sequence[id] = i
	}
	jobs, err := q.lockWaiting(ctx, claim, ids)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(jobs, func(a, b job.Record) int { return sequence[a.ID] - sequence[b.ID] })
	if err := q.leaseJobs(ctx, claim, jobs, change); err != nil {
		return nil, err
	}
	return jobs, q.takeTurns(ctx, jobs)
}

// lockWaiting locks those of some jobs that still wait for their first bot: another
// transaction may have changed one of them. The condition is checked after the
// look-up by ID: with both in one WHERE, PostgreSQL may scan all waiting jobs and
// compare each with all IDs.
func (q *Queries) lockWaiting(ctx context.Context, claim job.Claim, ids []uuid.UUID) ([]job.Record, error) {
	where, args := waitingCondition(claim)
	return list(ctx, q, unpacked(q, scanJob), `
		WITH found AS MATERIALIZED (SELECT jobs.*, CASE WHEN `+where+` THEN 1 ELSE 0 END AS waiting FROM jobs WHERE id `+q.in+q.skip+`)
		SELECT `+q.selects.record+` FROM found WHERE waiting = 1`, slices.Concat([]any{joinIDs(ids)}, args)...)
}

// leaseJobs leases locked jobs, and saves them as change leaves them.
func (q *Queries) leaseJobs(ctx context.Context, claim job.Claim, jobs []job.Record, change func(*job.Record) error) error {
	lease, until := newLease(claim.Node), claim.Now.Add(claim.Lease)
	changes := make([]JobChange, len(jobs))
	for i := range jobs {
		r := &jobs[i]
		changes[i].Before = *r
		r.Lease, r.WakeAt = lease, until
		if change != nil {
			if err := change(r); err != nil {
				return err
			}
		}
		changes[i].After = *r
	}
	if err := q.preferIndexes(ctx); err != nil {
		return err
	}
	return q.SaveJobChanges(ctx, changes)
}

// waitingCondition selects live jobs that wait for their first bot: due ones, and
// those to prelaunch. It uses the index jobs_upcoming. Its arguments start at $2.
func waitingCondition(claim job.Claim) (string, []any) {
	return `status IN ('scheduled', 'pending') AND mode = 'live' AND join_at <= $3 AND lease = ''
			AND (prelaunch = '' AND (join_at <= $2 OR status = 'scheduled') OR prelaunch = 'skipped' AND join_at <= $2)`,
		[]any{millis(claim.Now), millis(claim.Now.Add(claim.Prelaunch))}
}

// dueCondition selects due jobs. It uses the index jobs_wake, and jobs_wake_others
// after needsNoAdmission. Its arguments start at $2.
//
// A job with an attempt or a prelaunched bot belongs to the node that runs its bot, because no other
// node can observe the bot. Other nodes claim it when that node has sent no
// heartbeat for a lease, or the job has been due for a lease.
func dueCondition(claim job.Claim) (string, []any) {
	return `wake_at <= $2 AND (node = '' OR node = $3 OR wake_at <= $4
			OR node NOT IN (SELECT id FROM nodes WHERE heartbeat_at > $4)) ORDER BY wake_at`,
		[]any{millis(claim.Now), claim.Node, millis(claim.Now.Add(-claim.Lease))}
}

// needsNoAdmission excludes live jobs that wait for their first bot, with the words
// of the index jobs_wake_others.
const needsNoAdmission = `NOT (status IN ('scheduled', 'pending') AND mode = 'live' AND prelaunch IN ('', 'skipped')) AND `

// consumerLimit is the condition that a consumer runs fewer bots than its limit,
// counting the waiting jobs ahead of the ranked one, and the join that it needs.
func consumerLimit(claim job.Claim) (join, condition string) {
	if claim.PerConsumer == 0 {
		return "", "1 = 1"
	}
	return ` LEFT JOIN (
			SELECT consumer_id, COUNT(*) AS bots FROM (
				SELECT consumer_id FROM jobs WHERE mode = 'live' AND ` + dispatchedCondition() + `
				UNION ALL
				SELECT consumer_id FROM jobs WHERE status IN ('scheduled', 'pending') AND mode = 'live' AND (lease <> '' OR prelaunch = 'launched')
			) AS running GROUP BY consumer_id
		) AS busy ON busy.consumer_id = ranked.consumer_id`, fmt.Sprintf(`position + COALESCE(bots, 0) <= %d`, claim.PerConsumer)
}

// takeTurns moves the consumers of admitted jobs behind all others.
func (q *Queries) takeTurns(ctx context.Context, jobs []job.Record) error {
	if len(jobs) == 0 {
		return nil
	}
	last, err := one(q.queryRow(ctx, `SELECT COALESCE(MAX(turn), 0) FROM dispatch_turns`), scanColumn[int64], "turn")
	if err != nil {
		return err
	}
	turns := make(map[uuid.UUID]int64)
	for _, r := range jobs {
		last++
		turns[r.ConsumerID] = last
	}
	// In the same order on every node, so that concurrent claims cannot deadlock.
	consumers := slices.SortedFunc(maps.Keys(turns), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	for _, consumer := range consumers {
		_, err := q.exec(ctx, `INSERT INTO dispatch_turns (consumer_id, turn) VALUES ($1, $2)
			ON CONFLICT (consumer_id) DO UPDATE SET turn = $2`, consumer, turns[consumer])
		if err != nil {
			return err
		}
	}
	return nil
}

// CanClaim reports whether ClaimJobs may find a job. It does not consider the
// limit of consumers.
func (q *Queries) CanClaim(ctx context.Context, claim job.Claim) (bool, error) {
	exists := func(where string, args []any) (bool, error) {
		ids, err := list(ctx, q, scanColumn[uuid.UUID], `SELECT id FROM jobs WHERE `+where+` LIMIT $1 + 0`, slices.Concat([]any{1}, args)...)
		if err != nil {
			return false, fmt.Errorf("find due jobs: %w", err)
		}
		return len(ids) > 0, nil
	}
	if claim.Limit <= 0 {
		return false, nil
	}
	if claim.Capacity > 0 {
		if found, err := exists(waitingCondition(claim)); found || err != nil {
			return found, err
		}
	}
	return exists(dueCondition(claim))
}

// LockFreeJobs adds those of some jobs to jobs that exist and that no other
// transaction has locked, by the end of the next Flush. It locks them until the
// transaction ends.
func (q *Queries) LockFreeJobs(ctx context.Context, ids []uuid.UUID, jobs map[uuid.UUID]job.Record) error {
	if err := q.preferIndexes(ctx); err != nil {
		return err
	}
	scan := unpacked(q, scanJob)
	return q.forEachLater(ctx, func(row scanner) error {
		r, err := scan(row)
		jobs[r.ID] = r
		return err
	}, doing("lock %d jobs", len(ids)), `SELECT `+q.selects.record+` FROM jobs WHERE id `+q.in+q.skip, joinIDs(ids))
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

// wakeHorizon is how far ahead NextWake looks: later jobs are mostly those whose
// bots other nodes run.
const wakeHorizon = 10 * time.Second

// NextWake returns when the next job is due for a node, or can be prelaunched;
// false when there is none within wakeHorizon. Jobs of other nodes do not count.
// It uses the indexes jobs_wake and jobs_upcoming.
func (q *Queries) NextWake(ctx context.Context, node string, now time.Time, prelaunch time.Duration) (time.Time, bool, error) {
	next, ok, err := q.earliest(ctx, `SELECT wake_at FROM jobs WHERE wake_at <= $2 AND (node = '' OR node = $1) ORDER BY wake_at LIMIT 1`, node, millis(now.Add(wakeHorizon)))
	if err != nil || prelaunch == 0 {
		return next, ok, err
	}
	join, scheduled, err := q.earliest(ctx, `
		SELECT join_at FROM jobs WHERE status IN ('scheduled', 'pending') AND mode = 'live' AND join_at > $1 AND status = 'scheduled' AND lease = '' AND prelaunch = ''
		ORDER BY join_at LIMIT 1`, millis(now))
	launch := join.Add(-prelaunch)
	if !launch.After(now) {
		launch = now.Add(prelaunchRetry) // a limit keeps it from being claimed
	}
	if scheduled && (!ok || launch.Before(next)) {
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
	for _, condition := range []string{dispatchedCondition(), prelaunchedCondition} {
		_, err := q.exec(ctx, `UPDATE jobs SET wake_at = $2 WHERE node = $1 AND wake_at > $2 AND lease = '' AND `+condition, node, millis(now))
		if err != nil {
			return fmt.Errorf("wake the jobs of node %s: %w", node, err)
		}
	}
	return nil
}
