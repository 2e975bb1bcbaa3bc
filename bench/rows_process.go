package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"standin/bench/process"
	"standin/bench/report"
)

// idleTime is how long after its start the memory of a service is read.
const idleTime = 5 * time.Second

// processRows measure the start of the service, its memory and its size.
func processRows() []row {
	return []row{
		{
			name: "start",
			table: []report.Row{
				{Title: "start until healthy, 1000 stored jobs", Unit: startTime},
				{Title: "memory when idle", Unit: memory},
			},
			prepare: func(ctx context.Context, e *env) ([]contestant, error) { return e.starts(ctx) },
		},
		{
			name: "size", once: true,
			table:   []report.Row{{Title: "stripped binary", Unit: memory}},
			prepare: func(_ context.Context, e *env) ([]contestant, error) { return e.sizes(), nil },
		},
	}
}

// starts starts and stops the service on databases that exist.
func (e *env) starts(ctx context.Context) (all []contestant, err error) {
	for _, database := range e.databases {
		for _, program := range e.programs() {
			dir, err := e.newDir()
			if err != nil {
				return all, err
			}
			address, err := e.newDatabase(ctx, database, dir)
			if err != nil {
				return all, err
			}
			s, err := e.startIn(ctx, program, database, dir, address)
			if err != nil {
				return all, err
			}
			if err := errors.Join(s.copyJob(ctx, storedBefore, nil), s.Stop()); err != nil {
				return all, err
			}
			all = append(all, contestant{program: program, database: database, measure: func(ctx context.Context) (report.Metrics, error) {
				return e.startAndStop(ctx, s)
			}})
		}
	}
	return all, nil
}

// startAndStop measures one start of a service whose database exists.
func (e *env) startAndStop(ctx context.Context, s *instance) (m report.Metrics, err error) {
	start := time.Now()
	if err := s.serve(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	for {
		if _, err := s.call(ctx, http.MethodGet, "/healthz", nil); err == nil {
			break
		}
		if time.Since(start) > time.Minute {
			return nil, errors.New("the service is not healthy after a minute")
		}
		time.Sleep(time.Millisecond)
	}
	healthy := time.Since(start)
	select {
	case <-time.After(idleTime):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	bytes, err := process.PSS(s.PID())
	return report.Metrics{startTime: milliseconds(healthy), memory: megabytes(bytes)}, err
}

// sizes measures binaries that it builds.
func (e *env) sizes() []contestant {
	size := func(program string, flags ...string) contestant {
		return contestant{program: program, measure: func(ctx context.Context) (report.Metrics, error) {
			path := filepath.Join(e.dir, "size")
			if err := build(ctx, path, flags...); err != nil {
				return nil, err
			}
			info, err := os.Stat(path)
			if err != nil {
				return nil, fmt.Errorf("measure a binary: %w", err)
			}
			return report.Metrics{memory: megabytes(info.Size())}, os.Remove(path)
		}}
	}
	return []contestant{size(standin, "-ldflags=-s -w"), size("not stripped")}
}
