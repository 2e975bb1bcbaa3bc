package main

import (
	"context"
	"errors"
	"time"

	"standin/bench/fleet"
	"standin/bench/process"
	"standin/bench/report"
)

// launchTimeout bounds the launch of all bots of a simulated fleet.
const launchTimeout = 15 * time.Minute

// fleetRows simulate many nodes on one PostgreSQL. The nodes run in this
// program, so that these rows always measure the working tree.
func fleetRows() []row {
	return []row{
		{
			name: "nodes", once: true,
			table: []report.Row{{Title: "dispatch, by simulated nodes", Unit: dispatched}},
			prepare: func(_ context.Context, e *env) (all []contestant, err error) {
				for _, nodes := range []int{1, 4, 16, 64} {
					all = append(all, e.fleet(nodes, e.due))
				}
				return all, nil
			},
		},
		{
			name: "fleet", once: true, slow: true,
			table: []report.Row{{Title: "dispatch in a simulated fleet, by nodes", Unit: dispatched}, {Title: "p99 of its lateness", Unit: p99}},
			prepare: func(_ context.Context, e *env) ([]contestant, error) {
				return []contestant{e.fleet(e.fleetNodes, e.fleetBots)}, nil
			},
		},
	}
}

// fleet simulates nodes whose jobs are due at the same time.
func (e *env) fleet(nodes, bots int) contestant {
	return contestant{program: standin, database: postgres, scale: nodes, measure: func(ctx context.Context) (m report.Metrics, err error) {
		if e.cluster == nil {
			return report.Metrics{}, nil // without PostgreSQL there is one node
		}
		address, err := e.cluster.NewDatabase(ctx)
		if err != nil {
			return nil, err
		}
		dir, err := e.newDir()
		if err != nil {
			return nil, err
		}
		f, err := fleet.Start(ctx, fleet.Settings{
			Address: address, Dir: dir, Nodes: nodes, Bots: bots, Heartbeat: e.heartbeatInterval, Timeout: launchTimeout,
		})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		before := process.CPUTime(e.cluster.PID())
		r, err := f.Run(ctx)
		if err != nil {
			return nil, err
		}
		last := float64(max(1, r.Latenesses[bots-1])) / 1000
		return report.Metrics{
			dispatched: float64(bots) / last, p50: float64(r.Latenesses[bots/2]), p99: float64(r.Latenesses[bots*99/100]),
			"bots": float64(bots), "repeated": float64(r.Repeated), "fewest-bots": float64(r.FewestBots), "most-bots": float64(r.MostBots),
			"database-CPU-s": (process.CPUTime(e.cluster.PID()) - before).Seconds(),
		}, nil
	}}
}
