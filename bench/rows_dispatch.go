package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"standin/bench/load"
	"standin/bench/report"
	"standin/bench/seed"
	"standin/internal/bot/ingest"
	jobs "standin/internal/jobs/job"
)

// dispatchRows measure the dispatcher and the heartbeats of waiting bots.
func dispatchRows() []row {
	return []row{
		{
			name: "dispatch",
			table: []report.Row{
				{Title: "jobs due at once", Unit: dispatched},
				{Title: "p99 of their lateness", Unit: p99},
			},
			prepare: func(ctx context.Context, e *env) ([]contestant, error) {
				return e.contest(ctx, func(ctx context.Context, s *instance) (measureFunc, error) {
					return e.dueAtOnce(ctx, s, s.key, e.due, nil)
				})
			},
		},
		{
			name: "simulated",
			table: []report.Row{
				{Title: "jobs due at once, with simulated bots", Unit: dispatched},
				{Title: "p99 of their lateness", Unit: p99},
			},
			prepare: func(ctx context.Context, e *env) ([]contestant, error) {
				return e.contest(ctx, func(ctx context.Context, s *instance) (measureFunc, error) {
					return e.dueAtOnce(ctx, s, s.testKey, max(1, e.due/5), map[string]any{"simulate": map[string]any{
						"outcome": "lobby_timeout", "seconds": 1, "speed": 100,
					}})
				})
			},
		},
		{
			name: "heartbeat", once: true,
			table: []report.Row{
				{Title: "waiting bots", Unit: cores},
				{Title: "memory with waiting bots", Unit: memory},
			},
			prepare: func(ctx context.Context, e *env) ([]contestant, error) {
				return e.contest(ctx, func(ctx context.Context, s *instance) (measureFunc, error) { return e.heartbeats(ctx, s, e.bots) })
			},
		},
	}
}

// dueDelay is how long before they are due jobs are inserted. The dispatcher
// learns of them within 5 seconds, because they are inserted without it.
const dueDelay = 8 * time.Second

// dueAtOnce measures the dispatch of jobs that are due at the same time, from
// that time to the launch of the last bot.
func (e *env) dueAtOnce(ctx context.Context, s *instance, key string, count int, metadata map[string]any) (measureFunc, error) {
	j := newJob(0)
	if metadata != nil {
		j.Metadata = metadata
	}
	original := *s
	original.key = key
	id, err := original.createJob(ctx, j)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (report.Metrics, error) {
		due := time.Now().Add(dueDelay)
		at := fmt.Sprint(due.UnixMilli())
		copies, err := s.copyOf(ctx, id, count, map[string]string{"join_at": at, "wake_at": at})
		if err != nil {
			return nil, err
		}
		if time.Until(due) < dueDelay/2 {
			return nil, fmt.Errorf("inserting %d jobs took too long", count)
		}
		before := e.usedBy(s)
		all, err := awaitLaunches(ctx, s.address, copies, due)
		if err != nil {
			return nil, err
		}
		last := time.Duration(max(1, all[len(all)-1])) * time.Millisecond
		return report.Metrics{
			dispatched: float64(len(all)) / last.Seconds(),
			p50:        float64(all[len(all)/2]),
			p99:        float64(all[len(all)*99/100]),
			cpu:        float64((e.usedBy(s) - before).Microseconds()) / float64(len(all)),
		}, nil
	}, nil
}

// awaitLaunches waits until the bots of all copies are launched, and returns
// how late they were, in milliseconds.
func awaitLaunches(ctx context.Context, address string, copies seed.Copies, due time.Time) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	select {
	case <-time.After(time.Until(due)):
	case <-ctx.Done():
	}
	ticker := time.NewTicker(time.Second) // the times are read from the database, and each read costs it some work
	defer ticker.Stop()
	for {
		all, err := seed.Latenesses(ctx, address, copies)
		if err != nil || len(all) == copies.Count {
			return all, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d bots are launched: %w", len(all), copies.Count, ctx.Err())
		}
	}
}

// Waiting bots: the service holds the response to each heartbeat for
// heartbeatWait.
const (
	heartbeatWait = 25 * time.Second
	heartbeatRamp = 10 * time.Second // in which all connect
)

// heartbeats measures waiting bots.
func (e *env) heartbeats(ctx context.Context, s *instance, bots int) (measureFunc, error) {
	j := newJob(0)
	j.JoinAt = time.Now().Add(-time.Second).UTC().Truncate(time.Second)
	id, err := s.createJob(ctx, j)
	if err != nil {
		return nil, err
	}
	if err := s.awaitDispatched(ctx, id); err != nil {
		return nil, err
	}
	event, err := json.Marshal(ingest.Event{Kind: jobs.BotRecordingStarted, JobID: id, EmittedAt: time.Now()})
	if err != nil {
		return nil, err
	}
	bot := *s
	bot.key = ingest.Token([]byte(signingKey), id, 0)
	if _, err := bot.call(ctx, http.MethodPost, ingest.EventPath, json.RawMessage(event)); err != nil {
		return nil, err
	}
	copies, err := s.copyOf(ctx, id, bots, nil)
	if err != nil {
		return nil, err
	}
	next := make([]func(n int) []byte, bots)
	for i := range next {
		id := copyID(copies.From + i)
		request := func(wait time.Duration) []byte {
			path := fmt.Sprintf("%s?wait=%d", ingest.HeartbeatPath, int(wait.Seconds()))
			return encode(http.MethodPost, path, ingest.Token([]byte(signingKey), id, 0), ingest.Heartbeat{JobID: id})
		}
		next[i] = func(n int) []byte {
			if n == 0 { // so that the next ones are spread over heartbeatWait
				return request(1 + rand.N(heartbeatWait))
			}
			return request(heartbeatWait)
		}
	}
	return func(ctx context.Context) (report.Metrics, error) {
		m := report.Metrics{}
		err := load.Waiting(ctx, s.Address, heartbeatRamp, heartbeatWait+5*time.Second, next, func(period context.Context) {
			before, start := e.usedBy(s), time.Now()
			<-period.Done()
			m[cores] = (e.usedBy(s) - before).Seconds() / time.Since(start).Seconds()
		})
		return m, err
	}, nil
}
