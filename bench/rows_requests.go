package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"standin/bench/limit"
	"standin/bench/load"
	"standin/bench/report"
	"standin/bench/seed"
)

// jobsPath is the path of the jobs.
const jobsPath = "/api/v1/jobs"

// storedBefore is how many jobs are stored before jobs are fetched or listed.
const storedBefore = 1000

// requestRows measure creates and reads.
func requestRows() []row {
	return []row{
		{
			name: "create",
			table: []report.Row{
				{Title: "create", Unit: perSecond, Limit: string(limit.OneTable)},
				{Title: "create, beside a bare server with Standin's table", Unit: perSecond, Limit: string(limit.JobsTable)},
				{Title: "create, beside that server with Standin's checks and log", Unit: perSecond, Limit: string(limit.CheckedJobs)},
				{Title: "memory while creating", Unit: memory},
			},
			prepare: func(ctx context.Context, e *env) ([]contestant, error) {
				return e.contest(ctx, e.requests(createRequests), limit.OneTable, limit.JobsTable, limit.CheckedJobs, limit.NoDatabase)
			},
		},
		readRow("replay", "create with a known externalId", replayRequests),
		readRow("fetch", "fetch", fetchRequests),
		readRow("list", "list of 20", listRequests),
		{
			name: "latency",
			table: []report.Row{
				{Title: "p99 of create at half the peak rate", Unit: p99, Limit: string(limit.OneTable)},
				{Title: "p99 of create, beside a bare server with Standin's table", Unit: p99, Limit: string(limit.JobsTable)},
				{Title: "p99 of create, beside that server with Standin's checks and log", Unit: p99, Limit: string(limit.CheckedJobs)},
			},
			prepare: func(ctx context.Context, e *env) ([]contestant, error) {
				return e.contestCreates(ctx, e.halfPeak, limit.OneTable, limit.JobsTable, limit.CheckedJobs)
			},
		},
		{
			name: "single",
			table: []report.Row{
				{Title: "p50 of create with one connection", Unit: p50, Limit: string(limit.OneTable)},
				{Title: "p50 of create with one connection, beside a bare server with Standin's table", Unit: p50, Limit: string(limit.JobsTable)},
			},
			prepare: func(ctx context.Context, e *env) ([]contestant, error) {
				return e.contestCreates(ctx, e.oneConnection, limit.OneTable, limit.JobsTable)
			},
		},
	}
}

// readRow returns a row that is compared with the server without a database.
func readRow(name, title string, requests func(context.Context, *instance) (load.Next, error)) row {
	return row{
		name:  name,
		table: []report.Row{{Title: title, Unit: perSecond, Limit: string(limit.NoDatabase)}},
		prepare: func(ctx context.Context, e *env) ([]contestant, error) {
			return e.contest(ctx, e.requests(requests), limit.NoDatabase)
		},
	}
}

// creates returns requests that create jobs with unique external IDs.
func creates(path, key string) load.Next { return createsOf(path, key, newJob(0)) }

// createsOf is creates for jobs like j.
func createsOf(path, key string, j job) load.Next {
	prefix := rand.Text() + "-" // 27 characters
	placeholder := prefix + strings.Repeat("0", 9)
	j.ExternalID = placeholder
	before, after, _ := strings.Cut(string(encode(http.MethodPost, path, key, j)), placeholder)
	var created atomic.Int64
	return func(int, int) []byte {
		request := make([]byte, 0, len(before)+len(placeholder)+len(after))
		request = append(append(request, before...), prefix...)
		request = fmt.Appendf(request, "%09d", created.Add(1))
		return append(request, after...)
	}
}

func createRequests(_ context.Context, s *instance) (load.Next, error) {
	return creates(jobsPath, s.key), nil
}

// replayRequests repeat the creation of jobs.
func replayRequests(ctx context.Context, s *instance) (load.Next, error) {
	bodies := make([][]byte, 200)
	for i := range bodies {
		if _, err := s.createJob(ctx, newJob(i)); err != nil {
			return nil, err
		}
		bodies[i] = encode(http.MethodPost, jobsPath, s.key, newJob(i))
	}
	return rotation(bodies), s.storeJobs(ctx)
}

// fetchRequests fetch different jobs.
func fetchRequests(ctx context.Context, s *instance) (load.Next, error) {
	if err := s.storeJobs(ctx); err != nil {
		return nil, err
	}
	requests := make([][]byte, storedBefore)
	for i := range requests {
		requests[i] = encode(http.MethodGet, jobsPath+"/"+copyID(i), s.key, nil)
	}
	return rotation(requests), nil
}

// listRequests list the newest 20 jobs.
func listRequests(ctx context.Context, s *instance) (load.Next, error) {
	return rotation([][]byte{encode(http.MethodGet, jobsPath+"?limit=20", s.key, nil)}), s.storeJobs(ctx)
}

// storeJobs stores jobs, of which PostgreSQL then has statistics.
func (s *instance) storeJobs(ctx context.Context) error {
	return errors.Join(s.copyJob(ctx, storedBefore, nil), seed.Vacuum(ctx, s.address))
}

// rotation repeats requests. Each connection starts with another one.
func rotation(requests [][]byte) load.Next {
	return func(connection, n int) []byte {
		return requests[(connection*len(requests)/load.Connections+n)%len(requests)]
	}
}
