package main

import (
	"context"
	"errors"

	"standin/bench/load"
	"standin/bench/report"
	"standin/bench/seed"
)

// growthRows measure how cost grows. Their results have a scale.
func growthRows() []row {
	return []row{
		{
			name:  "stored",
			table: []report.Row{{Title: "create, by stored jobs", Unit: perSecond}},
			prepare: func(ctx context.Context, e *env) ([]contestant, error) {
				return e.scaled(ctx, sizes(1000, e.stored), func(ctx context.Context, s *instance, stored int) (measureFunc, error) {
					if err := s.copyJob(ctx, stored, map[string]string{
						"join_at": "original.join_at + i * 1000", "wake_at": "original.wake_at + i * 1000",
					}); err != nil {
						return nil, err
					}
					// otherwise both run beside the rounds of all sizes
					if err := errors.Join(seed.StopAutovacuum(ctx, s.address), seed.Vacuum(ctx, s.address)); err != nil {
						return nil, err
					}
					next := creates(jobsPath, s.key)
					_, err := load.Closed(ctx, s.Address, warmUp, next)
					return e.closedLoop(s.Address, next), err
				})
			},
		},
		{
			name: "receivers", once: true,
			table: []report.Row{{Title: "webhooks, the sender alone, by receivers", Unit: delivered}},
			prepare: func(ctx context.Context, e *env) (all []contestant, err error) {
				for _, count := range []int{1, 10, 100} {
					started, err := e.withReceivers(ctx, count, e.outbox)
					for i := range started {
						started[i].scale = count
					}
					all = append(all, started...)
					if err != nil {
						return all, err
					}
				}
				return all, nil
			},
		},
		{
			name: "bots", once: true, slow: true,
			table: []report.Row{{Title: "waiting bots, by their number", Unit: cores}, {Title: "memory, by waiting bots", Unit: memory}},
			prepare: func(ctx context.Context, e *env) ([]contestant, error) {
				return e.scaled(ctx, []int{1000, e.bots / 2, e.bots}, e.heartbeats)
			},
		},
	}
}

// sizes returns sizes from smallest to largest, each ten times the one before.
func sizes(smallest, largest int) (all []int) {
	for size := smallest; size < largest; size *= 10 {
		all = append(all, size)
	}
	return append(all, largest)
}

// scaled is contest with an instance for each scale.
func (e *env) scaled(ctx context.Context, scales []int,
	prepare func(context.Context, *instance, int) (measureFunc, error)) (all []contestant, err error) {
	for _, scale := range scales {
		started, err := e.contest(ctx, func(ctx context.Context, s *instance) (measureFunc, error) { return prepare(ctx, s, scale) })
		for i := range started {
			started[i].scale = scale
		}
		all = append(all, started...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}
