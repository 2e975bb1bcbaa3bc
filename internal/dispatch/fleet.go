package dispatch

import (
	"context"
	"time"

	"standin/internal/job"
)

const (
	// foreseen is how far ahead the need for room is looked at.
	foreseen = 24 * time.Hour
	// stretch is the time in which bots that begin are counted together.
	stretch = 5 * time.Minute
)

// Fleet is how all nodes of a database are doing together.
type Fleet struct {
	Jobs            map[job.Status]int      // that have not ended
	Nodes           []job.Node              // that were heard within a lease
	Capacity        int                     // for how many bots there is room, on all nodes
	Bots            int                     // that take room
	Upcoming        []job.UpcomingCount     // live jobs that begin in each 5 minutes of the next 24 hours
	BotUsage        map[string]BotResources // what the bots of a node told last that they take, on average, by its id; 0 for what none told
	OldestHeartbeat time.Duration           // since the bot was heard that is silent for longest; 0 without bots
	ReadAt          time.Time
}

// Short is the first stretch ahead in which more bots begin than there is room
// for; false when there is room for all that are scheduled. Bots that are still
// in their meetings then are not foreseen: nobody knows how long meetings last.
func (f Fleet) FirstShortage() (job.UpcomingCount, bool) {
	for _, ahead := range f.Upcoming {
		if ahead.Jobs > f.Capacity {
			return ahead, true
		}
	}
	return job.UpcomingCount{}, false
}

// Fleet looks at all nodes, for dashboards and metrics. What it costs grows
// with the jobs of the next day, so that it looks anew at most every ten
// seconds.
func (d *Dispatcher) Fleet(ctx context.Context) (Fleet, error) {
	d.fleet.mu.Lock()
	defer d.fleet.mu.Unlock()
	now := d.Now()
	if now.Sub(d.fleet.last.ReadAt) < fleetAge && !now.Before(d.fleet.last.ReadAt) {
		return d.fleet.last, nil
	}
	f, err := d.lookAtFleet(ctx, now)
	if err == nil {
		d.fleet.last = f
	}
	return f, err
}

// fleetAge is how old a look at the fleet may be.
const fleetAge = 10 * time.Second

func (d *Dispatcher) lookAtFleet(ctx context.Context, now time.Time) (f Fleet, err error) {
	f.ReadAt = now
	if f.Jobs, err = d.Store.CountActive(ctx); err != nil {
		return f, err
	}
	if f.Nodes, err = d.Store.Nodes(ctx, now.Add(-d.Lease)); err != nil {
		return f, err
	}
	for _, node := range f.Nodes {
		f.Capacity += node.Capacity
		f.Bots += node.Bots
	}
	if f.Upcoming, err = d.Store.CountUpcoming(ctx, now.Truncate(stretch), now.Add(foreseen), stretch); err != nil {
		return f, err
	}
	bots, err := d.Store.BotStats(ctx, "")
	if err != nil {
		return f, err
	}
	f.BotUsage = averagesOf(bots)
	heard, some, err := d.Store.OldestHeartbeat(ctx)
	if some {
		f.OldestHeartbeat = max(0, now.Sub(heard))
	}
	return f, err
}
