package dispatch

import (
	"cmp"
	"context"
	"sync"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/store"
)

const (
	// forecastTime is how far ahead the demand for bots is counted, and weekTime how far ahead it is
	// counted every weekAge.
	forecastTime, weekTime, weekAge = 24 * time.Hour, 7 * 24 * time.Hour, 10 * time.Minute
	// ReserveTime is how far ahead nodes are ordered.
	ReserveTime = 15 * time.Minute
	// forecastInterval is the interval in which starting bots are counted
	// together.
	forecastInterval = 5 * time.Minute
	// fleetAge is how old a Fleet that is returned may be.
	fleetAge = 10 * time.Second
)

// Fleet describes all nodes of a database together.
type Fleet struct {
	Jobs            map[job.Status]int // that have not ended
	Nodes           []job.Node         // with a heartbeat within a lease
	Capacity        int                // bots that fit on all nodes
	Bots            int                // that use capacity
	Upcoming, Week  []job.UpcomingCount
	Unscheduled     int                     // bots that began unscheduled within ReserveTime in one of the last weeks
	BotUsage        map[string]BotResources // average last reported by the bots of a node, by its ID; 0 when none reported
	OldestHeartbeat time.Duration           // age of the last heartbeat of the bot that is silent for longest; 0 without bots
	ReadAt, weekAt  time.Time
}

// FleetReader reads the state of all nodes, for dashboards and metrics. Its
// cost grows with the jobs of the next day, so that it reads at most every ten
// seconds.
type FleetReader struct {
	store *store.Store
	lease time.Duration
	now   func() time.Time

	mu   sync.Mutex
	last Fleet
}

// NewFleetReader returns a FleetReader. A node counts while its last heartbeat
// is not older than a lease, which is DefaultLease when 0.
func NewFleetReader(s *store.Store, lease time.Duration, now func() time.Time) *FleetReader {
	return &FleetReader{store: s, lease: cmp.Or(lease, DefaultLease), now: now}
}

// Fleet returns the state of all nodes.
func (r *FleetReader) Fleet(ctx context.Context) (f Fleet, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if now.Sub(r.last.ReadAt) < fleetAge && !now.Before(r.last.ReadAt) {
		return r.last, nil
	}
	f.ReadAt = now
	if f.Jobs, err = r.store.CountActive(ctx); err != nil {
		return f, err
	}
	if f.Nodes, err = r.store.Nodes(ctx, now.Add(-r.lease)); err != nil {
		return f, err
	}
	for _, node := range f.Nodes {
		f.Capacity += node.Capacity
		f.Bots += node.Bots
	}
	if f.Upcoming, err = r.store.Upcoming(ctx, now.Truncate(forecastInterval), now.Add(forecastTime), forecastInterval); err != nil {
		return f, err
	}
	if f.Unscheduled, err = r.store.Unscheduled(ctx, now, ReserveTime); err != nil {
		return f, err
	}
	if f.Week, f.weekAt = r.last.Week, r.last.weekAt; now.Sub(f.weekAt) >= weekAge || now.Before(f.weekAt) {
		f.weekAt = now
		if f.Week, err = r.store.Upcoming(ctx, now.Truncate(forecastInterval), now.Add(weekTime), forecastInterval); err != nil {
			return f, err
		}
	}
	bots, err := r.store.BotStats(ctx, "")
	if err != nil {
		return f, err
	}
	all := make(map[string]averages)
	for _, bot := range bots {
		used := all[bot.Node]
		used.add(usageOf(bot))
		all[bot.Node] = used
	}
	f.BotUsage = make(map[string]BotResources, len(all))
	for node, used := range all {
		f.BotUsage[node] = BotResources{Cores: used.cores.value(), Memory: uint64(used.memory.value())}
	}
	oldest, found, err := r.store.OldestHeartbeat(ctx)
	if found {
		f.OldestHeartbeat = max(0, now.Sub(oldest))
	}
	if err == nil {
		r.last = f
	}
	return f, err
}
