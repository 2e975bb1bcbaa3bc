package main

import (
	"context"
	"errors"
	"time"

	"standin/bench/limit"
	"standin/bench/load"
	"standin/bench/process"
	"standin/bench/report"
)

// Units of the metrics.
const (
	perSecond  = "req/s"
	delivered  = "deliveries/s"
	dispatched = "jobs/s"
	p50        = "p50-ms"
	p99        = "p99-ms"
	cpu        = "CPU-µs/op"
	cores      = "cores"
	memory     = "MB"
	startTime  = "start-ms"
)

// warmUp is the longest load before the first round.
const warmUp = 500 * time.Millisecond

// measureFunc measures a round of a contestant.
type measureFunc func(ctx context.Context) (report.Metrics, error)

// contest starts Standin on each database, and limits of some kinds. prepare
// returns how an instance is measured.
func (e *env) contest(ctx context.Context, prepare func(context.Context, *instance) (measureFunc, error),
	limits ...limit.Kind) (all []contestant, err error) {
	for _, database := range e.databases {
		for _, program := range e.programs() {
			s, err := e.start(ctx, program, database)
			if err != nil {
				return all, err
			}
			c := contestant{program: program, database: database, close: s.Stop}
			all = append(all, c)
			measure, err := prepare(ctx, s)
			if err != nil {
				return all, err
			}
			all[len(all)-1].measure = e.withUsage(s, measure)
		}
	}
	started, err := e.startLimits(ctx, limits...)
	return append(all, started...), err
}

// startLimits starts limits of some kinds, and warms them up.
func (e *env) startLimits(ctx context.Context, kinds ...limit.Kind) (all []contestant, err error) {
	for _, kind := range kinds {
		for _, database := range e.databasesOf(kind) {
			l, err := e.startLimit(ctx, kind, database)
			if err != nil {
				return all, err
			}
			requests := creates(limit.Path, limit.Key)
			all = append(all, contestant{program: string(kind), database: database, close: l.Stop, measure: e.closedLoop(l.Address, requests)})
			if _, err := load.Closed(ctx, l.Address, min(warmUp, e.duration), requests); err != nil {
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

// closedLoop measures a closed loop.
func (e *env) closedLoop(address string, next load.Next) measureFunc {
	return func(ctx context.Context) (report.Metrics, error) {
		result, err := load.Closed(ctx, address, e.duration, next)
		return metrics(result), err
	}
}

// requests returns a prepare function of contest for a closed loop.
func (e *env) requests(build func(context.Context, *instance) (load.Next, error)) func(context.Context, *instance) (measureFunc, error) {
	return func(ctx context.Context, s *instance) (measureFunc, error) {
		next, err := build(ctx, s)
		if err != nil {
			return nil, err
		}
		_, err = load.Closed(ctx, s.Address, min(warmUp, e.duration), next)
		return e.closedLoop(s.Address, next), err
	}
}

// withUsage adds the use of the machine by an instance, its database included:
// CPU time per request and the peak memory of the service.
func (e *env) withUsage(s *instance, measure measureFunc) measureFunc {
	return func(ctx context.Context) (report.Metrics, error) {
		sampling, stop := context.WithCancel(ctx)
		peak := make(chan int64, 1)
		go func() { peak <- peakMemory(sampling, s.PID()) }()
		before, start := e.usedBy(s), time.Now()
		m, err := measure(ctx)
		used := e.usedBy(s) - before
		elapsed := time.Since(start)
		stop()
		bytes := <-peak
		if err != nil {
			return nil, err
		}
		m[memory] = megabytes(bytes)
		if rate := m[perSecond]; rate > 0 && m[delivered] == 0 { // else elapsed includes more than the requests
			m[cpu] = float64(used.Microseconds()) / (rate * elapsed.Seconds())
		}
		return m, nil
	}
}

// usedBy returns the CPU time of an instance and its database so far.
func (e *env) usedBy(s *instance) time.Duration {
	if s.database == postgres {
		return process.CPUTime(s.PID(), e.cluster.PID())
	}
	return process.CPUTime(s.PID())
}

// peakMemory samples the memory of a process until ctx ends.
func peakMemory(ctx context.Context, pid int) (peak int64) {
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	for {
		if bytes, err := process.PSS(pid); err == nil { // the process may have ended
			peak = max(peak, bytes)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return peak
		}
	}
}

// contestCreates starts Standin and limits of some kinds on each database, and measures
// creates. prepare returns how those of one program are measured.
func (e *env) contestCreates(
	ctx context.Context, prepare func(ctx context.Context, address string, next load.Next) (measureFunc, error), limits ...limit.Kind,
) (all []contestant, err error) {
	add := func(program, database, address string, next load.Next, stop func() error) error {
		all = append(all, contestant{program: program, database: database, close: stop})
		measure, err := prepare(ctx, address, next)
		all[len(all)-1].measure = measure
		return err
	}
	for _, database := range e.databases {
		for _, program := range e.programs() {
			s, err := e.start(ctx, program, database)
			if err != nil {
				return all, err
			}
			if err := add(program, database, s.Address, creates(jobsPath, s.key), s.Stop); err != nil {
				return all, err
			}
		}
		for _, kind := range limits {
			l, err := e.startLimit(ctx, kind, database)
			if err != nil {
				return all, err
			}
			if err := add(string(kind), database, l.Address, creates(limit.Path, limit.Key), l.Stop); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

// halfPeak measures a program at half of its own peak rate, in an open loop.
func (e *env) halfPeak(ctx context.Context, address string, next load.Next) (measureFunc, error) {
	_, err := load.Closed(ctx, address, min(warmUp, e.duration), next)
	peak, closedErr := load.Closed(ctx, address, e.duration, next)
	return func(ctx context.Context) (report.Metrics, error) {
		result, err := load.Open(ctx, address, e.duration, peak.Rate()/2, next)
		return metrics(result), err
	}, errors.Join(err, closedErr)
}

// oneConnection measures a program with one connection, in a closed loop.
func (e *env) oneConnection(_ context.Context, address string, next load.Next) (measureFunc, error) {
	return e.closedLoop(address, func(connection, n int) []byte {
		if connection > 0 {
			return nil
		}
		return next(connection, n)
	}), nil
}

func metrics(r load.Result) report.Metrics {
	return report.Metrics{
		perSecond: r.Rate(),
		p50:       milliseconds(r.Percentile(0.5)),
		p99:       milliseconds(r.Percentile(0.99)),
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }
