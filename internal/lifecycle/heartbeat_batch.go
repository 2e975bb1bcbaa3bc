package lifecycle

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/store"
)

const (
	// heartbeatInterval is the minimum time between two transactions of a node that
	// record heartbeats. A heartbeat waits for less than that.
	heartbeatInterval = 100 * time.Millisecond
	// maxHeartbeats is the maximum number of heartbeats in a transaction.
	maxHeartbeats = 1024
	// heartbeatTimeout bounds such a transaction, because all later heartbeats wait for
	// it. Then each heartbeat is recorded alone.
	heartbeatTimeout = 10 * time.Second
)

// heartbeat is a heartbeat that shares its transaction, and its result.
type heartbeat struct {
	id      uuid.UUID
	attempt int
	at      time.Time
	stats   json.RawMessage

	alone    bool // it must be recorded in its own transaction
	status   job.Status
	commands []ingest.Command
	err      error
}

// recordHeartbeats records heartbeats in one transaction. Those that may have made it
// fail, and those of jobs that another transaction has locked, do not share it.
func (s *Service) recordHeartbeats(group []*heartbeat) {
	ids := make([]uuid.UUID, 0, len(group))
	latest := make(map[uuid.UUID]*heartbeat, len(group))
	for _, h := range group {
		if latest[h.id] != nil {
			h.alone = true // the other one is recorded first
			continue
		}
		latest[h.id] = h
		ids = append(ids, h.id)
	}
	ctx, cancel := context.WithTimeout(context.Background(), heartbeatTimeout) // the heartbeats have different contexts
	defer cancel()
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		jobs, err := tx.LockFreeBotJobs(ctx, ids)
		if err != nil {
			return err
		}
		for id, h := range latest {
			j, found := jobs[id]
			if h.alone = !found; h.alone {
				continue // it is locked, or does not exist
			}
			if err := s.record(ctx, tx, j, h); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		for _, h := range latest {
			h.alone = true
		}
	}
}

// record records a heartbeat of a job that is locked.
func (s *Service) record(ctx context.Context, tx *store.Tx, j store.BotJob, h *heartbeat) (err error) {
	h.status, h.err = j.Status, nil
	if s.tokenExpired(j.Status, j.StatusSince) {
		h.err = errTokenExpired()
		return nil
	}
	if h.attempt >= j.Attempt {
		if err := tx.SaveHeartbeat(ctx, h.id, h.at, h.stats); err != nil {
			return err
		}
	}
	h.commands, err = commandsFor(ctx, &tx.Reader, j, h.attempt)
	return err
}
