package store

import (
	"context"
	"fmt"
	"strings"
)

// newJobsOf returns the new jobs of a group.
func newJobsOf(group []*groupedWrite) (jobs []*newJob) {
	for _, w := range group {
		if w.write.job != nil {
			jobs = append(jobs, w.write.job)
		}
	}
	return jobs
}

// maxInsertBatch is the maximum number of jobs that a statement inserts. More of them
// take as long each.
const maxInsertBatch = 8

// insertQueries are the statements that insert a batch of jobs, by its size, unless there
// was one with the externalId.
var insertQueries = map[int]string{
	1: insertNewJobsQuery(1), 2: insertNewJobsQuery(2), 4: insertNewJobsQuery(4), maxInsertBatch: insertNewJobsQuery(maxInsertBatch),
}

func insertNewJobsQuery(count int) string {
	list := func(item string, n int) string { return strings.Repeat(item+", ", n-1) + item }
	row := "(" + list("?", strings.Count(newJobColumns, ",")+1) + ")"
	return `INSERT INTO jobs (` + newJobColumns + `)
		SELECT * FROM (VALUES ` + list(row, count) + `)
		WHERE NOT EXISTS (SELECT 1 FROM job_tombstones t WHERE t.consumer_id = column2 AND t.mode = column3 AND t.external_hash = column5)
		ON CONFLICT ` + externalKey + ` DO NOTHING`
}

// insertNewJobs inserts jobs and sets which of them were inserted.
func insertNewJobs(tx *sqliteTx, jobs []*newJob) error {
	var args []any
	for len(jobs) > 0 {
		count := batchSize(min(len(jobs), maxInsertBatch))
		args = args[:0]
		for _, n := range jobs[:count] {
			args = append(args, n.values...)
		}
		if err := insertNewJobBatch(tx, insertQueries[count], args, jobs[:count]); err != nil {
			return err
		}
		jobs = jobs[count:]
	}
	return nil
}

// insertNewJobBatch inserts jobs with a query and their values.
func insertNewJobBatch(tx *sqliteTx, query string, args []any, jobs []*newJob) error {
	ctx := context.Background()
	inserted, err := tx.exec(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("insert job: %w", err)
	}
	for _, n := range jobs {
		n.inserted = inserted == int64(len(jobs))
		if n.inserted || inserted == 0 {
			continue
		}
		if err := tx.queryRow(ctx, `SELECT EXISTS (SELECT 1 FROM jobs WHERE id = ?)`, n.id).Scan(&n.inserted); err != nil {
			return fmt.Errorf("find a new job: %w", err)
		}
	}
	return nil
}
