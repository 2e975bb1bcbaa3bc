package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/store"
)

// forgetNodes is how long a node that is not heard any more is remembered.
const forgetNodes = 7 * 24 * time.Hour

// Node names one service of those that share a database.
type Node struct {
	ID   string // the same each time it starts: its bots may outlive it
	Name string // for people
}

// arrive takes up what this node left behind: its leases end, and its bots have
// their places.
func (d *Dispatcher) arrive(ctx context.Context) error {
	d.startedAt = d.Now()
	err := d.Store.Write(ctx, func(q *store.Queries) error {
		if d.SingleNode {
			// Whoever held these is gone; nobody needs to wait for their leases.
			return errors.Join(q.ReleaseLeases(ctx, d.Now()), q.WakeNodeJobs(ctx, d.Node.ID, d.Now()))
		}
		return errors.Join(q.ReleaseNodeLeases(ctx, d.Node.ID, d.Now()), q.WakeNodeJobs(ctx, d.Node.ID, d.Now()))
	})
	if err != nil {
		return err
	}
	nodes, err := d.Store.Nodes(ctx, d.Now().Add(-forgetNodes))
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if node.ID == d.Node.ID {
			d.starts.previous = node.StartTime
		}
	}
	bots, err := d.Store.NodeJobs(ctx, d.Node.ID)
	if err != nil {
		return err
	}
	for _, r := range bots {
		if d.Launcher.State(r.ID, r.Attempt) != launch.Gone {
			d.Capacity.occupy(r.ID, r.Attempt, r.AttemptStartedAt)
		}
	}
	return nil
}

// keepPresence tells the other nodes that this one is there, until ctx ends.
func (d *Dispatcher) keepPresence(ctx context.Context) {
	ticker := time.NewTicker(d.Lease / 6)
	defer ticker.Stop()
	seen := time.Now()
	for {
		err := d.present(ctx)
		switch away := time.Since(seen); {
		case ctx.Err() != nil:
			return
		case err != nil:
			d.Log.Error("cannot tell that this node is there; after a lease others take over its work", "away", away.Round(time.Second), "error", err)
		default:
			seen = time.Now()
			if away > d.Lease {
				d.Log.Warn("this node was away from its database, or stopped", "for", away.Round(time.Second))
				d.heardAgain(d.Now())
				d.endStrays(ctx)
			}
			d.clearPlaces()
			d.measure(ctx)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// present writes this node's row.
func (d *Dispatcher) present(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, d.Lease)
	defer cancel()
	now := d.Now()
	node := job.Node{
		ID: d.Node.ID, Name: d.Node.Name, StartedAt: d.startedAt, HeartbeatAt: now,
		Bots: d.Capacity.Used(), Capacity: d.Capacity.Total(ctx), FullReason: d.Capacity.FullReason(ctx, now), StartTime: d.starts.percentile90(),
	}
	return d.Store.Write(ctx, func(q *store.Queries) error {
		if err := q.SaveNode(ctx, node); err != nil {
			return err
		}
		return q.DeleteNodes(ctx, now.Add(-forgetNodes))
	})
}

// heardAgain notes that bots could not be heard before a time.
func (d *Dispatcher) heardAgain(since time.Time) { d.listening.Store(since.UnixNano()) }

// endStrays ends the bots of this node whose attempts are no longer its own:
// while it was away another node may have sent another bot.
func (d *Dispatcher) endStrays(ctx context.Context) {
	for id, place := range d.Capacity.reserved() {
		r, err := d.Store.Job(ctx, id)
		if err != nil {
			d.Log.Error("cannot see whether a bot is still wanted", "job", id, "attempt", place.attempt, "error", err)
			continue
		}
		if r.Attempt == place.attempt && r.Node == d.Node.ID {
			continue
		}
		d.Log.Warn("ending a bot in whose place another node has sent one", "job", id, "attempt", place.attempt, "node", r.Node)
		if err := d.Launcher.Stop(ctx, id, place.attempt); err != nil {
			d.Log.Error("cannot end a bot", "job", id, "attempt", place.attempt, "error", err)
			continue
		}
		d.leave(id)
	}
}

// clearPlaces frees the places of bots that are gone; a bot that was not even
// started keeps its place until its launch was given up.
func (d *Dispatcher) clearPlaces() {
	for id, place := range d.Capacity.reserved() {
		old := d.Now().Sub(place.reservedAt) > d.Timeouts.Launch+d.Lease
		switch d.Launcher.State(id, place.attempt) {
		case launch.Gone:
			d.leave(id)
		case launch.NotStarted:
			if old {
				d.leave(id)
			}
		}
	}
}

// leave frees the place of a job's bot; whoever waits for room is looked at.
func (d *Dispatcher) leave(id uuid.UUID) {
	if d.Capacity.release(id) {
		d.Wake()
	}
}

// String is how a node is shown to people.
func (n Node) String() string { return fmt.Sprintf("%s (%s)", n.Name, n.ID) }
