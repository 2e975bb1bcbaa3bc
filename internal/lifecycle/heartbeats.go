package lifecycle

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/store"
)

const (
	// beatInterval is the minimum time between two transactions of a node that
	// record heartbeats. A heartbeat waits for less than that.
	beatInterval = 100 * time.Millisecond
	// maxBeats is the maximum number of heartbeats in a transaction.
	maxBeats = 1024
	// beatTimeout bounds such a transaction, because all later heartbeats wait for
	// it. Then each heartbeat is recorded alone.
	beatTimeout = 10 * time.Second
)

// beats collects heartbeats of different jobs that share a transaction.
type beats struct {
	mu      sync.Mutex
	waiting []*groupedBeat
	running bool      // runBeats runs
	last    time.Time // when the last transaction started
}

// groupedBeat is a heartbeat that shares its transaction.
type groupedBeat struct {
	id      uuid.UUID
	attempt int
	at      time.Time
	stats   json.RawMessage
	done    chan struct{}

	alone    bool // it must be recorded in its own transaction
	status   job.Status
	commands []ingest.Command
	err      error
}

// recordTogether records a heartbeat without acknowledgements in a transaction
// that it shares with others. The result is alone when that is not possible.
func (s *Service) recordTogether(ctx context.Context, id uuid.UUID, attempt int, stats json.RawMessage) *groupedBeat {
	b := &groupedBeat{id: id, attempt: attempt, at: s.Now(), stats: stats, done: make(chan struct{})}
	s.beats.mu.Lock()
	s.beats.waiting = append(s.beats.waiting, b)
	start := !s.beats.running
	s.beats.running = true
	s.beats.mu.Unlock()
	if start {
		go s.runBeats() // ends with the last waiting heartbeat
	}
	select {
	case <-b.done:
		return b
	case <-ctx.Done():
		return &groupedBeat{err: ctx.Err()} // b may be recorded nevertheless
	}
}

// runBeats records groups of the waiting heartbeats until none is left.
func (s *Service) runBeats() {
	for {
		time.Sleep(beatInterval - time.Since(s.beats.last)) // only this goroutine uses last
		s.beats.last = time.Now()
		s.beats.mu.Lock()
		n := min(len(s.beats.waiting), maxBeats)
		group := s.beats.waiting[:n:n]
		s.beats.waiting = s.beats.waiting[n:]
		s.beats.mu.Unlock()
		s.recordGroup(group)
		for _, b := range group {
			close(b.done)
		}
		s.beats.mu.Lock()
		s.beats.running = len(s.beats.waiting) > 0
		running := s.beats.running
		s.beats.mu.Unlock()
		if !running {
			return
		}
	}
}

// recordGroup records heartbeats in one transaction. Those that may have made it
// fail, and those of jobs that another transaction has locked, do not share it.
func (s *Service) recordGroup(group []*groupedBeat) {
	ids := make([]uuid.UUID, 0, len(group))
	latest := make(map[uuid.UUID]*groupedBeat, len(group))
	for _, b := range group {
		if latest[b.id] != nil {
			b.alone = true // the other one is recorded first
			continue
		}
		latest[b.id] = b
		ids = append(ids, b.id)
	}
	ctx, cancel := context.WithTimeout(context.Background(), beatTimeout) // the heartbeats have different contexts
	defer cancel()
	err := s.Store.Write(ctx, func(q *store.Queries) error {
		jobs, err := q.LockFreeBotJobs(ctx, ids)
		if err != nil {
			return err
		}
		for id, b := range latest {
			j, found := jobs[id]
			if b.alone = !found; b.alone {
				continue // it is locked, or does not exist
			}
			if err := s.recordBeat(ctx, q, j, b); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		for _, b := range latest {
			b.alone = true
		}
	}
}

// recordBeat records a heartbeat of a job that is locked.
func (s *Service) recordBeat(ctx context.Context, q *store.Queries, j store.BotJob, b *groupedBeat) error {
	b.status, b.err = j.Status, nil
	if s.tokenExpired(j.Status, j.StatusSince) {
		b.err = errTokenExpired()
		return nil
	}
	if b.attempt >= j.Attempt {
		if err := q.SaveHeartbeat(ctx, b.id, b.at, b.stats); err != nil {
			return err
		}
	}
	return commandsFor(ctx, q, j, b.attempt, &b.commands)
}
