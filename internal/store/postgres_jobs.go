package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"standin/internal/job"
)

// jobCommitters is the number of transactions of a node that insert new jobs at the
// same time. With two of them, fewer jobs share a commit, and a create takes a seventh
// more CPU time.
const jobCommitters = 1

// compareExternalIDs compares new jobs in an order of externalIds that is the same
// in all groups.
func compareExternalIDs(a, b *grouped[*newJob]) int {
	for _, column := range []int{4, 1, 2} { // external_hash, consumer_id, mode
		if c := cmp.Compare(a.write.values[column].(string), b.write.values[column].(string)); c != 0 {
			return c
		}
	}
	return 0
}

func newPostgresEngine(pool *pgxpool.Pool) *postgresEngine {
	e := &postgresEngine{pool: pool, reads: newPostgresReads(pool)}
	e.jobs = newGroups(jobCommitters, nil, e.commitJobs)
	return e
}

// insertJob implements engine.
func (e *postgresEngine) insertJob(ctx context.Context, r job.Record) (inserted bool, err error) {
	n, err := newJobOf(r)
	if err != nil {
		return false, err
	}
	if err := e.jobs.commit(ctx, n); err != nil {
		return false, fmt.Errorf("insert job: %w", err)
	}
	return n.inserted, nil
}

// commitJobs inserts a group of jobs. If the database refuses one of them, each
// is inserted in its own transaction, so that the failure does not affect the
// others.
func (e *postgresEngine) commitJobs(group []*grouped[*newJob]) {
	// All transactions wait for each other in the same order.
	slices.SortStableFunc(group, compareExternalIDs)
	err := e.retry(context.Background(), func() error { return e.insertJobs(group) })
	if len(group) > 1 && wasRefused(err) {
		for i := range group {
			e.commitJobs(group[i : i+1])
		}
		return
	}
	for _, w := range group {
		w.err = cmp.Or(err, w.err)
	}
}

// wasRefused reports whether the database refused a statement, so that its
// transaction was certainly rolled back.
func wasRefused(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && cmp.Or(pg.SeverityUnlocalized, pg.Severity) == "ERROR"
}

// insertJobs inserts jobs in one transaction, which is one round trip.
func (e *postgresEngine) insertJobs(group []*grouped[*newJob]) error {
	ctx, cancel := context.WithTimeout(context.Background(), transactionTimeout)
	defer cancel()
	ids, rows := make([]string, len(group)), make([][]any, len(group))
	for i, w := range group {
		ids[i], rows[i] = w.write.id, w.write.values
	}
	batch := new(pgx.Batch)
	batch.Queue(`SELECT pg_advisory_xact_lock_shared($1)`, consumersLock)
	batch.Queue(insertJobsQuery, arraysOf(rows)...)
	// Only after the insertion is it certain that no other transaction is erasing
	// a job with one of the externalIds. See preferIndexes for the array that is a
	// subquery.
	batch.Queue(`DELETE FROM jobs USING job_tombstones t
		WHERE jobs.id = ANY((SELECT $1::text[])::text[]) AND t.consumer_id = jobs.consumer_id AND t.mode = jobs.mode AND t.external_hash = jobs.external_hash`, ids)
	results := e.pool.SendBatch(ctx, batch)
	var changed [3]int64 // rows, by statement
	for i := range changed {
		tag, err := results.Exec()
		if err != nil {
			return cmp.Or(err, results.Close())
		}
		changed[i] = tag.RowsAffected()
	}
	if err := results.Close(); err != nil {
		return err
	}
	if stored := changed[1] - changed[2]; stored == 0 || stored == int64(len(group)) {
		for _, w := range group {
			w.write.inserted = stored > 0
		}
		return nil
	}
	stored, err := e.storedJobs(ctx, ids)
	for _, w := range group {
		w.write.inserted, w.err = stored[w.write.id], err
	}
	return nil // the transaction is committed: it must not be repeated
}

// storedJobs returns which of some IDs are those of a job.
func (e *postgresEngine) storedJobs(ctx context.Context, ids []string) (map[string]bool, error) {
	rows, err := e.pool.Query(ctx, `SELECT id FROM jobs WHERE id = ANY($1::text[])`, ids)
	if err != nil {
		return nil, fmt.Errorf("find new jobs: %w", err)
	}
	stored := make(map[string]bool)
	var id string
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error {
		stored[id] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find new jobs: %w", err)
	}
	return stored, nil
}

// consumersLock is the key of the advisory lock of PostgreSQL that DeleteConsumer
// holds, and that groups of new jobs share. Locking the rows of their consumers would
// write these rows.
const consumersLock = 5051932

// insertJobsQuery inserts the jobs whose consumers exist.
const insertJobsQuery = `INSERT INTO jobs (` + newJobColumns + `)
	SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
		$9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::text[], $14::text[],
		$15::text[], $16::bigint[], $17::bigint[], $18::text[], $19::text[], $20::text[]) AS new (` + newJobColumns + `)
	WHERE consumer_id = ANY(ARRAY(SELECT id FROM consumers WHERE id = ANY($2::text[])))
	ON CONFLICT ` + externalKey + ` DO NOTHING`
