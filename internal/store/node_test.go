package store_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/store"
)

// TestBotStats checks that only live bots that have sent a heartbeat have
// statistics.
func TestBotStats(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s).ID
		const reported = `{"bytesRecorded":1,"coresUsed":1.6,"memoryBytes":734003200}`
		keep := func(mode job.Mode, change func(*job.Record)) job.Record {
			r := newJob(consumer)
			r.Mode = mode
			insert(t, s, r)
			r.Status, r.Attempts, r.Attempt, r.Node = job.InMeeting, 3, 2, "a"
			r.HeartbeatAt, r.Stats = now.Add(time.Second), json.RawMessage(reported)
			change(&r)
			write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.SaveJob(ctx, store.JobChange{Record: r}) })
			return r
		}
		wanted := keep(job.Live, func(*job.Record) {})
		keep(job.Test, func(*job.Record) {})
		keep(job.Live, func(r *job.Record) { r.Node = "b" })
		keep(job.Live, func(r *job.Record) { r.Status, r.WakeAt = job.Completed, time.Time{} })
		keep(job.Live, func(r *job.Record) { r.HeartbeatAt = time.Time{} })
		keep(job.Live, func(r *job.Record) { r.Stats = nil })
		bots, err := s.BotStats(t.Context(), "a")
		if err != nil || len(bots) != 1 {
			t.Fatalf("statistics of node a: %+v (%v)", bots, err)
		}
		got := bots[0]
		var stats ingest.Stats
		if err := json.Unmarshal(got.Stats, &stats); err != nil || stats != (ingest.Stats{
			BytesRecorded: 1, CoresUsed: 1.6, MemoryBytes: 700 << 20,
		}) {
			t.Errorf("reported: %+v (%v)", stats, err)
		}
		if got.JobID != wanted.ID || got.Attempt != 2 || got.Node != "a" || !got.HeartbeatAt.Equal(now.Add(time.Second)) {
			t.Errorf("got %+v", got)
		}
		if all, err := s.BotStats(t.Context(), ""); err != nil || len(all) != 2 {
			t.Errorf("statistics of all nodes: %+v (%v)", all, err)
		}
	})
}

// TestNodes inserts, updates and deletes nodes.
func TestNodes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		heartbeat(t, s, "a", now)
		heartbeat(t, s, "b", now.Add(time.Second))
		heartbeat(t, s, "a", now.Add(2*time.Second))
		nodes, err := s.Nodes(t.Context(), now.Add(time.Second))
		if err != nil || len(nodes) != 1 || nodes[0].ID != "a" || !nodes[0].HeartbeatAt.Equal(now.Add(2*time.Second)) || nodes[0].Capacity != 4 {
			t.Errorf("nodes with recent heartbeats: %+v (%v)", nodes, err)
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteNodes(ctx, now.Add(time.Second)) })
		if nodes, err := s.Nodes(t.Context(), now.Add(-time.Hour)); err != nil || len(nodes) != 1 {
			t.Errorf("remaining nodes: %+v (%v)", nodes, err)
		}
	})
}
