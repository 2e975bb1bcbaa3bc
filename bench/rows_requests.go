package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"standin/bench/limit"
	"standin/bench/load"
	"standin/bench/report"
)

// warmUp is the load before the first round.
const warmUp = 500 * time.Millisecond

// Units of the metrics.
const (
	perSecond = "req/s"
	p50       = "p50-ms"
	p99       = "p99-ms"
)

// requestRows measure the rate of requests.
func requestRows() []row {
	return []row{
		{
			name: "create", title: "create", unit: perSecond, limit: string(limit.OneTable),
			prepare: func(ctx context.Context, e *env) ([]contestant, error) {
				return e.contest(ctx, createRequests, limit.OneTable, limit.JobsTable, limit.NoDatabase)
			},
		},
		{
			name: "replay", title: "create with a known externalId", unit: perSecond, limit: string(limit.NoDatabase),
			prepare: func(ctx context.Context, e *env) ([]contestant, error) {
				return e.contest(ctx, replayRequests, limit.NoDatabase)
			},
		},
		{
			name: "fetch", title: "fetch", unit: perSecond, limit: string(limit.NoDatabase),
			prepare: func(ctx context.Context, e *env) ([]contestant, error) {
				return e.contest(ctx, fetchRequests, limit.NoDatabase)
			},
		},
		{
			name: "list", title: "list of 20", unit: perSecond, limit: string(limit.NoDatabase),
			prepare: func(ctx context.Context, e *env) ([]contestant, error) {
				return e.contest(ctx, listRequests, limit.NoDatabase)
			},
		},
	}
}

// contest starts Standin on each database, and limits of some kinds, and warms
// all of them up. requests returns the requests to an instance.
func (e *env) contest(ctx context.Context, requests func(context.Context, *instance) (load.Next, error), limits ...limit.Kind) (all []contestant, err error) {
	add := func(program, database, address string, next load.Next, stop func() error) error {
		all = append(all, contestant{program: program, database: database, close: stop, measure: func(ctx context.Context, _ int) (report.Metrics, error) {
			result, err := load.Closed(ctx, address, e.duration, next)
			return metrics(result), err
		}})
		_, err := load.Closed(ctx, address, warmUp, next)
		return err
	}
	for _, database := range e.databases {
		for program := range e.binaries() {
			s, err := e.start(ctx, program, database)
			if err != nil {
				return all, err
			}
			next, err := requests(ctx, s)
			if err != nil {
				return append(all, contestant{close: s.Stop}), err
			}
			if err := add(program, database, s.Address, next, s.Stop); err != nil {
				return all, err
			}
		}
	}
	for _, kind := range limits {
		for _, database := range e.databasesOf(kind) {
			l, err := e.startLimit(ctx, kind, database)
			if err != nil {
				return all, err
			}
			if err := add(string(kind), database, l.Address, creates(limit.Path, ""), l.Stop); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

// databasesOf returns the databases on which a limit program runs.
func (e *env) databasesOf(kind limit.Kind) []string {
	if kind == limit.NoDatabase {
		return []string{""}
	}
	return e.databases
}

func metrics(r load.Result) report.Metrics {
	return report.Metrics{
		perSecond: r.Rate(),
		p50:       milliseconds(r.Percentile(0.5)),
		p99:       milliseconds(r.Percentile(0.99)),
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// creates returns requests that create jobs with unique external IDs.
func creates(path, key string) load.Next {
	prefix := rand.Text() + "-" // 27 characters
	placeholder := prefix + strings.Repeat("0", 9)
	j := newJob(0)
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
	return creates("/api/v1/jobs", s.key), nil
}

// replayRequests repeat the creation of 1000 jobs.
func replayRequests(ctx context.Context, s *instance) (load.Next, error) {
	bodies := make([][]byte, 1000)
	for i := range bodies {
		if _, err := s.createJob(ctx, newJob(i)); err != nil {
			return nil, err
		}
		bodies[i] = encode(http.MethodPost, "/api/v1/jobs", s.key, newJob(i))
	}
	return rotation(bodies), nil
}

// fetchRequests fetch 1000 jobs.
func fetchRequests(ctx context.Context, s *instance) (load.Next, error) {
	requests := make([][]byte, 1000)
	for i := range requests {
		id, err := s.createJob(ctx, newJob(i))
		if err != nil {
			return nil, err
		}
		requests[i] = encode(http.MethodGet, "/api/v1/jobs/"+id, s.key, nil)
	}
	return rotation(requests), nil
}

// listRequests list the newest 20 of 1000 jobs.
func listRequests(ctx context.Context, s *instance) (load.Next, error) {
	for i := range 1000 {
		if _, err := s.createJob(ctx, newJob(i)); err != nil {
			return nil, err
		}
	}
	return rotation([][]byte{encode(http.MethodGet, "/api/v1/jobs?limit=20", s.key, nil)}), nil
}

// rotation repeats requests. Each connection starts with another one.
func rotation(requests [][]byte) load.Next {
	return func(connection, n int) []byte {
		return requests[(connection*len(requests)/load.Connections+n)%len(requests)]
	}
}
