package load

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Connections is the number of connections of a load.
const Connections = 64

// Next returns the next complete HTTP/1.1 request of a connection, or nil when
// it has no more. n counts the requests of the connection. Calls for different
// connections are concurrent.
type Next func(connection, n int) []byte

// Result is what a load measured.
type Result struct {
	Requests  int
	Elapsed   time.Duration
	latencies []time.Duration // sorted
}

// Rate returns the requests per second.
func (r Result) Rate() float64 { return float64(r.Requests) / r.Elapsed.Seconds() }

// Percentile returns the latency that a share of the requests, such as 0.99,
// did not exceed.
func (r Result) Percentile(share float64) time.Duration {
	if len(r.latencies) == 0 {
		return 0
	}
	return r.latencies[min(len(r.latencies)-1, int(share*float64(len(r.latencies))))]
}

// Closed sends requests on each connection, each as soon as the previous one
// was answered, for a duration or until there are no more. The first failed
// request ends the load.
func Closed(ctx context.Context, address string, duration time.Duration, next Next) (Result, error) {
	return run(ctx, address, func(start time.Time, number int, c *conn) (latencies []time.Duration, err error) {
		sent := start
		for n := 0; sent.Sub(start) < duration && ctx.Err() == nil; n++ {
			request := next(number, n)
			if request == nil {
				break
			}
			sent = time.Now()
			if err := c.do(request); err != nil {
				return latencies, err
			}
			latencies = append(latencies, time.Since(sent))
		}
		return latencies, nil
	})
}

// Open sends requests at a fixed rate per second for a duration. A latency
// counts from the time at which the request was due, so that it includes the
// wait for a connection.
func Open(ctx context.Context, address string, duration time.Duration, rate float64, next Next) (Result, error) {
	interval := time.Duration(float64(time.Second) / rate)
	total := int64(duration / interval)
	var taken atomic.Int64
	return run(ctx, address, func(start time.Time, number int, c *conn) (latencies []time.Duration, err error) {
		for n := 0; ctx.Err() == nil; n++ {
			at := taken.Add(1) - 1
			if at >= total {
				break
			}
			due := start.Add(time.Duration(at) * interval)
			time.Sleep(time.Until(due))
			if err := c.do(next(number, n)); err != nil {
				return latencies, err
			}
			latencies = append(latencies, time.Since(due))
		}
		return latencies, nil
	})
}

// run calls work for each connection and merges their latencies.
func run(ctx context.Context, address string, work func(time.Time, int, *conn) ([]time.Duration, error)) (Result, error) {
	connections := make([]*conn, Connections)
	for i := range connections {
		c, err := dial(ctx, address)
		if err != nil {
			return Result{}, err
		}
		defer c.Close()
		connections[i] = c
	}
	var all sync.WaitGroup
	latencies, errs := make([][]time.Duration, Connections), make([]error, Connections)
	start := time.Now()
	for i, c := range connections {
		all.Go(func() { latencies[i], errs[i] = work(start, i, c) })
	}
	all.Wait()
	elapsed := time.Since(start)
	for _, err := range append(errs, ctx.Err()) {
		if err != nil {
			return Result{}, err
		}
	}
	merged := slices.Concat(latencies...)
	slices.Sort(merged)
	return Result{Requests: len(merged), Elapsed: elapsed, latencies: merged}, nil
}
