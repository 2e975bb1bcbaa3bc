package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/store"
)

// nodeRetention is how long a silent node is remembered.
const nodeRetention = 7 * 24 * time.Hour

// Node identifies one of the services that share a database.
type Node struct {
	ID      string // the same after each restart: the node's bots may outlive it
	Name    string // for people
	BaseURL string // where consumers reach the service
}

// joinFleet resumes what this node left behind when it stopped: its leases end,
// and its running bots get their slots.
func (d *Dispatcher) joinFleet(ctx context.Context) error {
	d.startedAt = d.Now()
	err := d.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if d.SingleNode {
			// Whoever held these leases is gone; nobody needs to wait for their end.
			return errors.Join(tx.ReleaseLeases(ctx, d.Now()), tx.WakeNodeJobs(ctx, d.Node.ID, d.Now()))
		}
		return errors.Join(tx.ReleaseNodeLeases(ctx, d.Node.ID, d.Now()), tx.WakeNodeJobs(ctx, d.Node.ID, d.Now()))
	})
	if err != nil {
		return err
	}
	nodes, err := d.Store.Nodes(ctx, d.Now().Add(-nodeRetention))
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if node.ID == d.Node.ID {
			d.startTimes.previous = node.StartTime
		}
	}
	bots, err := d.Store.NodeJobs(ctx, d.Node.ID)
	if err != nil {
		return err
	}
	for _, r := range bots {
		if r.Prelaunch != job.PrelaunchWithdrawn && d.Launcher.State(r.ID, r.Attempt) != launch.Gone {
			d.Capacity.occupy(r.ID, r.Attempt, r.AttemptStartedAt)
		}
	}
	return nil
}

// sendHeartbeats keeps this node's row in the database up to date until ctx
// ends. A node that was away longer than a lease stops the bots that another
// node has replaced.
func (d *Dispatcher) sendHeartbeats(ctx context.Context) {
	next := time.Tick(d.Lease / 6)
	last := time.Now()
	for {
		err := d.sendHeartbeat(ctx)
		away := time.Since(last)
		if err == nil && away > d.Lease {
			d.reachableSince(d.Now())
		}
		d.heartbeatError.Store(&err)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			d.Log.Error("cannot record this node's heartbeat; after a lease other nodes take over its jobs",
				"since", away.Round(time.Second), "error", err)
		default:
			last = time.Now()
			if away > d.Lease {
				d.Log.Warn("this node was suspended, or could not reach its database", "for", away.Round(time.Second))
				d.stopReplaced(ctx)
			}
			for id, slot := range d.Capacity.reserved() { // those whose bot has ended, or was never started
				state := d.Launcher.State(id, slot.attempt)
				stale := d.Now().Sub(slot.reservedAt) > d.Timeouts.Launch+d.Lease
				if state == launch.Gone || state == launch.NotStarted && stale {
					d.releaseSlot(id)
				}
			}
			d.recordUsage(ctx)
		}
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
	}
}

// HeartbeatError returns why this node's last heartbeat was not recorded; nil if it was.
func (d *Dispatcher) HeartbeatError() error {
	if err := d.heartbeatError.Load(); err != nil {
		return *err
	}
	return nil
}

// sendHeartbeat writes this node's row.
func (d *Dispatcher) sendHeartbeat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, d.Lease)
	defer cancel()
	now := d.Now()
	node := job.Node{
		ID: d.Node.ID, Name: d.Node.Name, BaseURL: d.Node.BaseURL, StartedAt: d.startedAt, HeartbeatAt: now,
		Bots: d.Capacity.Used(), Capacity: d.Capacity.Total(ctx), FullReason: d.Capacity.FullReason(ctx,
			now), StartTime: d.startTimes.percentile90(),
	}
	if err := d.Broken(); err != nil { // its jobs are tried all the same, and fail if the launcher does not recover in time
		node.Capacity, node.FullReason = 0, "no bot can be launched: "+err.Error()
	}
	return d.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.SaveNode(ctx, node); err != nil {
			return err
		}
		return tx.DeleteNodes(ctx, now.Add(-nodeRetention))
	})
}

// reachableSince records that bots could not reach the service before a time.
func (d *Dispatcher) reachableSince(at time.Time) { d.reachable.Store(at.UnixNano()) }

// reachableAt returns since when every bot could reach the service, which cannot record what a bot sends
// while this node cannot write.
func (d *Dispatcher) reachableAt() time.Time {
	now := d.Now()
	if d.HeartbeatError() != nil {
		return now
	}
	if d.reachable.Load() > now.UnixNano() { // the clock was ahead
		d.reachableSince(now)
	}
	return time.Unix(0, d.reachable.Load()).UTC()
}

// stopReplaced stops the bots of this node whose attempts are no longer its
// own: while it was away, another node may have launched another bot.
func (d *Dispatcher) stopReplaced(ctx context.Context) {
	for id, slot := range d.Capacity.reserved() {
		r, err := d.Store.Job(ctx, id)
		if err != nil {
			d.Log.Error("cannot check whether a bot was replaced", "job", id, "attempt", slot.attempt, "error", err)
			continue
		}
		if r.Attempt == slot.attempt && r.Node == d.Node.ID {
			continue
		}
		d.Log.Warn("stopping a bot that another node has replaced", "job", id, "attempt", slot.attempt, "node", r.Node)
		if err := d.Launcher.Stop(ctx, id, slot.attempt); err != nil {
			d.Log.Error("cannot stop a bot", "job", id, "attempt", slot.attempt, "error", err)
			continue
		}
		d.releaseSlot(id)
	}
}

// releaseSlot frees the slot of a job's bot, and wakes the dispatcher for the
// jobs that wait for capacity.
func (d *Dispatcher) releaseSlot(id uuid.UUID) {
	if d.Capacity.release(id) {
		d.Wake()
	}
}

// recordUsage updates the capacity with what the bots of this node report.
func (d *Dispatcher) recordUsage(ctx context.Context) {
	if !d.Capacity.measuresUsage() {
		return
	}
	bots, err := d.Store.BotStats(ctx, d.Node.ID)
	if err != nil {
		if ctx.Err() == nil {
			d.Log.Error("cannot read the usage of this node's bots; the last known usage counts", "error", err)
		}
		return
	}
	for _, bot := range bots {
		d.Capacity.recordUsage(bot.JobID, bot.Attempt, bot.HeartbeatAt, usageOf(bot))
	}
}
