package store

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"standin/internal/job"
)

// readGroups is the number of groups of each kind of read that a node runs at the
// same time. With more of them, fewer reads share a round trip.
const readGroups = 2

// gatheringConn is a conn that runs concurrent reads together.
type gatheringConn interface {
	conn
	// jobView is Queries.JobView.
	jobView(ctx context.Context, id uuid.UUID) (job.Job, error)
	// gather runs a query that takes a few milliseconds at most, because others
	// wait for it. read gets its rows, and is called again if the group failed.
	gather(ctx context.Context, read func(rows) error, query string, args ...any) error
}

// postgresReads is a pool that runs frequent short reads in groups. The reads
// that arrive while a group runs are the next group, which takes one round trip.
// A group is sent after all of its reads were requested, so that they see
// everything that was committed before.
type postgresReads struct {
	postgresPool
	jobs    *groups[*jobRead]
	queries *groups[*queryRead]
}

// jobRead is a job that is to be read.
type jobRead struct {
	id    uuid.UUID
	job   job.Job
	found bool
}

// queryRead is a query that is to be run.
type queryRead struct {
	query string
	args  []any
	read  func(rows) error
}

func newPostgresReads(pool *pgxpool.Pool) *postgresReads {
	r := &postgresReads{postgresPool: postgresPool{pool}}
	r.jobs = newGroups(readGroups, runtime.Gosched, func(group []*grouped[*jobRead]) { runTogether(group, r.readJobs) })
	r.queries = newGroups(readGroups, runtime.Gosched, func(group []*grouped[*queryRead]) { runTogether(group, r.runQueries) })
	return r
}

func (r *postgresReads) close() {
	r.jobs.close()
	r.queries.close()
}

// jobView implements gatheringConn.
func (r *postgresReads) jobView(ctx context.Context, id uuid.UUID) (job.Job, error) {
	read := &jobRead{id: id}
	if err := r.jobs.commit(ctx, read); err != nil {
		return job.Job{}, fmt.Errorf("read job: %w", err)
	}
	if !read.found {
		return job.Job{}, notFound("job")
	}
	return read.job, nil
}

// gather implements gatheringConn.
func (r *postgresReads) gather(ctx context.Context, read func(rows) error, query string, args ...any) error {
	return r.queries.commit(ctx, &queryRead{query, args, read})
}

// runTogether runs a group of reads. If that fails, each of them runs on its own,
// so that the failure of one does not affect the others.
func runTogether[T any](group []*grouped[T], run func(context.Context, []*grouped[T]) error) {
	ctx, cancel := context.WithTimeout(context.Background(), transactionTimeout)
	defer cancel()
	err := run(ctx, group)
	if err != nil && len(group) > 1 {
		for i := range group {
			group[i].err = run(ctx, group[i:i+1])
		}
		return
	}
	for _, w := range group {
		w.err = err
	}
}

// readJobsQuery looks up each job in the primary key, however small the table was
// when the query was planned, and has the same plan for every number of jobs.
const readJobsQuery = `SELECT ` + viewColumns + ` FROM unnest((SELECT $1::text[])) AS wanted (wanted_id),
	LATERAL (SELECT * FROM jobs WHERE id = wanted_id LIMIT 1) AS found`

// readJobs reads a group of jobs in one statement.
func (r *postgresReads) readJobs(ctx context.Context, group []*grouped[*jobRead]) error {
	slices.SortFunc(group, func(a, b *grouped[*jobRead]) int { return bytes.Compare(a.write.id[:], b.write.id[:]) })
	ids := make([]string, len(group))
	for i, w := range group {
		ids[i] = w.write.id.String()
	}
	found, err := r.query(ctx, readJobsQuery, slices.Compact(ids))
	if err != nil {
		return err
	}
	scan := viewScanner()
	return scanAll(found, func(row scanner) error {
		j, err := scan(row)
		if err != nil {
			return err
		}
		first, _ := slices.BinarySearchFunc(group, j.ID, func(w *grouped[*jobRead], id uuid.UUID) int { return bytes.Compare(w.write.id[:], id[:]) })
		for _, w := range group[first:] {
			if w.write.id != j.ID {
				break
			}
			w.write.job, w.write.found = j, true
		}
		return nil
	})
}

// runQueries runs a group of queries in one batch.
func (r *postgresReads) runQueries(ctx context.Context, group []*grouped[*queryRead]) (err error) {
	if len(group) == 1 {
		found, err := r.query(ctx, group[0].write.query, group[0].write.args...)
		if err != nil {
			return err
		}
		return group[0].write.read(found)
	}
	batch := &pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, 0, len(group))}
	for _, w := range group {
		batch.Queue(w.write.query, w.write.args...)
	}
	results := r.pool.SendBatch(ctx, batch)
	defer func() { err = cmp.Or(err, results.Close()) }()
	for _, w := range group {
		found, err := results.Query()
		if err != nil {
			return err
		}
		if err := w.write.read(postgresRows{Rows: found}); err != nil {
			return err
		}
	}
	return nil
}
