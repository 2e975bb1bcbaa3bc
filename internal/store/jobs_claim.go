package store

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
)

// ClaimJobs leases jobs that are due and moves their wake time to the end of the
// lease, so that the jobs of a crashed dispatcher are claimed again then. It reads
// nothing of a job that could make the claim fail.
//
// The admitted jobs may use capacity. Each consumer in turn gets one, in the order
// of max(joinAt, createdAt); jobs to prelaunch come after due ones. Consumers that only
// calendar invites have created, with neither keys nor users, share one turn, because
// strangers can create as many as they have mail addresses. Only one claim at
// a time admits jobs, and the others skip them: concurrent ones would choose the same
// jobs, and could together exceed the limit of a consumer.
func (tx *Tx) ClaimJobs(ctx context.Context, claim job.Claim) (claimed job.Claimed, err error) {
	where, args := dueCondition(claim)
	others, err := tx.leaseJobs(ctx, claim, `WHERE `+needsNoAdmission+where+` ORDER BY wake_at LIMIT $4`, append(args, claim.Limit)...)
	if err != nil {
		return claimed, err
	}
	// Before the admission, which thus knows all of them and has refused the others.
	where, args = waitingCondition(claim)
	waiting, err := List(ctx, tx.Reader, "find due jobs that wait for capacity", scanColumn[uuid.UUID],
		`SELECT id FROM jobs WHERE wake_at <= $1 AND `+where+` ORDER BY wake_at LIMIT $3`, append(args, claim.Limit)...)
	if err != nil {
		return claimed, err
	}
	admitted, more, err := tx.admitJobs(ctx, claim)
	if err != nil {
		return claimed, err
	}
	for i, j := range admitted {
		admitted[i].Admitted = true
		waiting = slices.DeleteFunc(waiting, func(id uuid.UUID) bool { return id == j.ID })
	}
	var refused []job.ClaimedJob
	if !more {
		refused, err = tx.leaseJobs(ctx, claim, `WHERE `+where+` AND id `+tx.dialect.In(3), append(args, jsonArray(waiting))...)
	}
	return job.Claimed{Jobs: slices.Concat(admitted, refused, others), More: more}, err
}

// leaseJobs leases the selected jobs that no other transaction has locked. The
// arguments of the selection start at $1. In a single statement, PostgreSQL expects the
// selection to have a tenth of all jobs, and reads the whole table to update them.
func (tx *Tx) leaseJobs(ctx context.Context, claim job.Claim, selection string, args ...any) ([]job.ClaimedJob, error) {
	lease := claim.Node + "." + uuid.NewString()
	jobs, err := List(ctx, tx.Reader, "lock the jobs to lease", func(r row, c *job.ClaimedJob) error {
		c.Lease = lease
		return r.Scan(&c.ID, &c.ConsumerID, &c.Attempt)
	}, `SELECT id, consumer_id, attempt FROM jobs `+selection+tx.dialect.SkipLocked, args...)
	if err != nil || len(jobs) == 0 {
		return nil, err
	}
	ids := make([]uuid.UUID, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
	}
	err = tx.exec(ctx, "lease jobs", `UPDATE jobs SET lease = $1, wake_at = $2 WHERE id `+tx.dialect.In(3), lease,
		claim.Now.Add(claim.Lease), jsonArray(ids))
	return jobs, err
}

// admitJobs leases live jobs without an attempt, in the order in which they are to be
// served. more reports that others may still be admitted: by the next claim, or by
// another node that is admitting jobs or has capacity.
func (tx *Tx) admitJobs(ctx context.Context, claim job.Claim) (jobs []job.ClaimedJob, more bool, err error) {
	if limit := min(claim.Limit, claim.Capacity); limit > 0 {
		if tx.dialect.SkipLocked != "" { // SQLite has one writer
			// If no other transaction admits jobs, this one is the only one until it ends.
			locked, err := queryValue[bool](ctx, tx.Reader, "lock the admission of jobs", `SELECT pg_try_advisory_xact_lock(7461927301)`)
			if !locked || err != nil {
				return nil, !locked, err
			}
		}
		where, args := waitingCondition(claim)
		busy, withinLimit := consumerLimit(claim)
		ids, groups := []uuid.UUID{}, make(map[uuid.UUID]uuid.UUID)
		err := tx.forEach(ctx, "find the jobs to admit", func(r row) error {
			// The group is the consumer whose turn the job takes: uuid.Nil for those that only calendar invites have created.
			var id, group uuid.UUID
			err := r.Scan(&id, &group)
			ids, groups[id] = append(ids, id), group
			return err
		}, fmt.Sprintf(`
			WITH waiting AS (
				SELECT id, consumer_id, CASE WHEN join_at > $1 THEN 1 ELSE 0 END AS early,
					CASE WHEN join_at > created_at THEN join_at ELSE created_at END AS due_at
				FROM jobs WHERE `+where+roomIsFree+`
			), ranked AS (
				SELECT id, consumer_id, early, due_at, ROW_NUMBER() OVER (PARTITION BY consumer_id ORDER BY early, due_at, id) AS rank
				FROM waiting
			), first AS (
				SELECT ranked.*, CASE WHEN EXISTS (SELECT 1 FROM api_keys WHERE api_keys.consumer_id = ranked.consumer_id)
					OR EXISTS (SELECT 1 FROM users WHERE users.consumer_id = ranked.consumer_id) THEN consumer_id ELSE '%s' END AS group_id
				FROM ranked WHERE rank <= $3
			), turns AS (
				SELECT first.id, group_id, early, due_at,
					ROW_NUMBER() OVER (PARTITION BY group_id ORDER BY early, rank, COALESCE(position, 0), due_at, first.id) AS turn
				FROM first LEFT JOIN consumer_rotation ON consumer_rotation.consumer_id = first.consumer_id`+busy+`
				WHERE `+withinLimit+`
			)
			SELECT turns.id, group_id FROM turns LEFT JOIN consumer_rotation ON consumer_rotation.consumer_id = group_id
			ORDER BY early, turn, COALESCE(position, 0), due_at, turns.id LIMIT $3`, uuid.Nil), append(args, limit)...)
		if err != nil {
			return nil, false, err
		}
		jobs, err = tx.leaseJobs(ctx, claim, `WHERE `+where+` AND id `+tx.dialect.In(3), append(args, jsonArray(ids))...)
		if err != nil {
			return nil, false, err
		}
		more = len(jobs) < len(ids) // another transaction has locked some of them
		slices.SortFunc(jobs, func(a, b job.ClaimedJob) int { return slices.Index(ids, a.ID) - slices.Index(ids, b.ID) })
		if err := tx.rotateConsumers(ctx, jobs, groups); err != nil {
			return nil, false, err
		}
	}
	if len(jobs) < claim.Capacity {
		return jobs, more || len(jobs) == claim.Limit, nil
	}
	// The node is full. Another one with a heartbeat that is not older than half a lease takes the other jobs.
	_, more, err = first(ctx, tx.Reader, "find a node with capacity", scanColumn[string], `SELECT id FROM nodes
		WHERE id <> $1 AND heartbeat_at > $2 AND full_reason = '' LIMIT 1`, claim.Node, claim.Now.Add(-claim.Lease/2))
	return jobs, more, err
}

// waitingCondition selects live jobs that wait for their first bot: due ones, and
// those to prelaunch. It uses the index jobs_upcoming. Its arguments start at $1.
func waitingCondition(claim job.Claim) (string, []any) {
	return `status IN ('scheduled', 'pending') AND mode = 'live' AND join_at <= $2 AND (lease = '' OR wake_at <= $1)
			AND (prelaunch = '' AND (join_at <= $1 OR status = 'scheduled') OR prelaunch = 'skipped' AND join_at <= $1)
			AND (platform <> 'zoom-sdk' OR status = 'scheduled' OR wake_at <= $1)`, // until Zoom announces the stream
		[]any{claim.Now, claim.Now.Add(claim.Prelaunch)}
}

// roomIsFree excludes jobs of events while their team has a bot in the meeting, or a due job for it that goes first.
// It uses the index jobs_meeting, and $2 of waitingCondition.
const roomIsFree = ` AND (by_event = 0 OR requested = 1 OR NOT EXISTS (SELECT 1 FROM jobs AS other WHERE other.consumer_id = jobs.consumer_id
			AND other.mode = 'live' AND other.meeting_key = jobs.meeting_key AND other.id <> jobs.id
			AND other.join_at BETWEEN jobs.join_at - 93600000 AND jobs.join_at + 93600000 AND (other.` + hasBot + ` OR
				other.status IN ('scheduled', 'pending') AND other.join_at <= $2
				AND (other.by_event - other.requested, other.join_at, other.id) < (1, jobs.join_at, jobs.id))))`

// needsNoAdmission excludes live jobs that wait for their first bot, with the words
// of the index jobs_wake_others.
const needsNoAdmission = `NOT (status IN ('scheduled', 'pending') AND mode = 'live' AND prelaunch IN ('', 'skipped')) AND `

// dueCondition selects due jobs. It uses the index jobs_wake, and jobs_wake_others
// after needsNoAdmission. Its arguments start at $1.
//
// A job with an attempt or a prelaunched bot belongs to the node that runs its bot,
// because no other node can observe the bot. Other nodes claim it when that node has
// sent no heartbeat for a lease, or the job has been due for a lease.
func dueCondition(claim job.Claim) (string, []any) {
	return `wake_at <= $1 AND (node = '' OR node = $2 OR wake_at <= $3
			OR node NOT IN (SELECT id FROM nodes WHERE heartbeat_at > $3))`,
		[]any{claim.Now, claim.Node, claim.Now.Add(-claim.Lease)}
}

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
				SELECT consumer_id FROM jobs WHERE status IN ('scheduled', 'pending') AND mode = 'live'
					AND (lease <> '' AND wake_at > $1 OR prelaunch = 'launched')
			) AS running GROUP BY consumer_id
		) AS busy ON busy.consumer_id = first.consumer_id`, fmt.Sprintf(`rank + COALESCE(bots, 0) <= %d`, claim.PerConsumer)
}

// rotateConsumers moves the consumers of admitted jobs, and those whose turns the jobs
// took, behind all others.
func (tx *Tx) rotateConsumers(ctx context.Context, jobs []job.ClaimedJob, groups map[uuid.UUID]uuid.UUID) error {
	if len(jobs) == 0 {
		return nil
	}
	last, err := queryOne(ctx, tx.Reader, "position", scanColumn[int64], `SELECT COALESCE(MAX(position), 0) FROM consumer_rotation`)
	if err != nil {
		return err
	}
	positions := make(map[uuid.UUID]int64)
	for i, j := range jobs {
		positions[j.ConsumerID] = last + int64(i) + 1
		positions[groups[j.ID]] = last + int64(i) + 1
	}
	// In the same order on every node, so that concurrent claims cannot deadlock.
	var statements batch
	for _, consumer := range slices.SortedFunc(maps.Keys(positions), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }) {
		statements.add(`INSERT INTO consumer_rotation (consumer_id, position) VALUES ($1, $2) ON CONFLICT (consumer_id) DO UPDATE
			SET position = $2`, consumer, positions[consumer])
	}
	_, err = tx.execBatch(ctx, "rotate consumers", statements)
	return err
}

// CanClaim reports whether ClaimJobs may find a job. It does not consider the limit
// of consumers.
func (db *Reader) CanClaim(ctx context.Context, claim job.Claim) (bool, error) {
	// Without the order, PostgreSQL expects to meet a due job soon, and reads the whole table when there is none.
	exists := func(order, where string, args []any) (bool, error) {
		_, ok, err := first(ctx, db, "find due jobs", scanColumn[string], `SELECT id FROM jobs WHERE `+where+` ORDER BY `+order+` LIMIT 1`,
			args...)
		return ok, err
	}
	if claim.Limit <= 0 {
		return false, nil
	}
	if claim.Capacity > 0 {
		where, args := waitingCondition(claim)
		if found, err := exists("join_at", where+roomIsFree, args); found || err != nil {
			return found, err
		}
	}
	where, args := dueCondition(claim)
	return exists("wake_at", where, args)
}

// ExtendLease moves the end of a lease. It returns false when the lease is no longer
// held.
func (tx *Tx) ExtendLease(ctx context.Context, id uuid.UUID, lease string, until time.Time) (bool, error) {
	n, err := tx.Affected(ctx, "extend the lease of a job", `UPDATE jobs SET wake_at = $3 WHERE id = $1 AND lease = $2`, id, lease,
		until)
	return n == 1, err
}

// ReleaseLeases ends all leases, and makes what had one due now. Only a service that does
// not share its database may call it.
func (tx *Tx) ReleaseLeases(ctx context.Context, now time.Time) error {
	return tx.execAll(ctx, "release the leases of an earlier run", []string{
		`UPDATE jobs SET lease = '', wake_at = $1 WHERE wake_at IS NOT NULL AND lease <> ''`,
		`UPDATE deliveries SET lease = '', due_at = $1 WHERE due_at IS NOT NULL AND lease <> ''`,
		`UPDATE recording_tasks SET lease = '', due_at = $1 WHERE due_at IS NOT NULL AND lease <> ''`,
		`UPDATE calendars SET lease = '', due_at = $1 WHERE lease <> ''`,
	}, now)
}

// ReleaseNodeLeases ends the leases on jobs that a node held before it was restarted.
// It uses the index jobs_leased; the slash is the character after the dot that ends
// the node's ID.
func (tx *Tx) ReleaseNodeLeases(ctx context.Context, node string, now time.Time) error {
	return tx.exec(ctx, "release the leases of an earlier run", `UPDATE jobs SET lease = '', wake_at = $1
		WHERE lease <> '' AND lease >= $2 AND lease < $3 AND wake_at IS NOT NULL`,
		now, node+".", node+"/")
}

// WakeNodeJobs makes the jobs due now whose bots a node runs or should run. A node
// that has just started calls it to find out about their bots.
func (tx *Tx) WakeNodeJobs(ctx context.Context, node string, now time.Time) error {
	return tx.execAll(ctx, "wake the jobs of node "+node, []string{
		`UPDATE jobs SET wake_at = $2 WHERE node = $1 AND wake_at > $2 AND lease = '' AND ` + dispatchedCondition(),
		`UPDATE jobs SET wake_at = $2 WHERE node = $1 AND wake_at > $2 AND lease = '' AND ` + prelaunchedCondition,
	}, node, now)
}

// wakeHorizon is how far ahead NextWake looks: later jobs are mostly those whose bots
// other nodes run.
const wakeHorizon = 10 * time.Second

// NextWake returns when the next job is due for a node, or can be prelaunched; false
// when there is none within wakeHorizon. Jobs of other nodes do not count. It uses the
// indexes jobs_wake and jobs_upcoming.
func (db *Reader) NextWake(ctx context.Context, node string, now time.Time, prelaunch time.Duration) (time.Time, bool, error) {
	next, ok, err := first(ctx, db, "find the next due job", scanColumn[time.Time],
		`SELECT wake_at FROM jobs WHERE wake_at <= $2 AND (node = '' OR node = $1) ORDER BY wake_at LIMIT 1`, node, now.Add(wakeHorizon))
	if err != nil || prelaunch == 0 {
		return next, ok, err
	}
	join, scheduled, err := first(ctx, db, "find the next job to prelaunch", scanColumn[time.Time],
		`SELECT join_at FROM jobs WHERE status IN ('scheduled', 'pending') AND mode = 'live' AND join_at > $1
			AND lease = '' AND prelaunch = '' ORDER BY join_at LIMIT 1`, now)
	launch := join.Add(-prelaunch)
	if !launch.After(now) {
		launch = now.Add(time.Second) // a limit keeps it from being claimed
	}
	if scheduled && (!ok || launch.Before(next)) {
		return launch, true, err
	}
	return next, ok, err
}
