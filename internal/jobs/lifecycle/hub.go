package lifecycle

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/retry"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/store"
)

const (
	// pollInterval is how often the jobs of waiting heartbeats are checked: the
	// notification of a command that another node queued may be lost, and there is
	// none when another node starts an attempt or fails a job.
	pollInterval = time.Second
	// pollTimeout bounds a check.
	pollTimeout = 10 * time.Second
)

// hub wakes the waiting heartbeats of this node when there is something to
// answer them with.
type hub struct {
	store *store.Store

	stop   context.CancelFunc // ends polling
	polled sync.WaitGroup

	mu        sync.Mutex
	listeners map[uuid.UUID]map[*listener]struct{}
}

// listener is a waiting heartbeat.
type listener struct {
	attempt  int
	notified retry.Signal
}

// listen returns a channel that receives a value after notify is called for the
// job, or when polling finds a command for the bot of the attempt, and a function
// to stop listening. Notifications that were not received yet are merged into one.
func (h *hub) listen(bot ingest.Bot) (notified <-chan struct{}, stop func()) {
	id, l := bot.JobID(), &listener{attempt: bot.Attempt(), notified: retry.NewSignal()}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners[id] == nil {
		h.listeners[id] = make(map[*listener]struct{})
	}
	h.listeners[id][l] = struct{}{}
	return l.notified, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listeners[id], l)
		if len(h.listeners[id]) == 0 {
			delete(h.listeners, id)
		}
	}
}

// notify wakes all listeners of the job.
func (h *hub) notify(id uuid.UUID) { h.wake(id, func(*listener) bool { return true }) }

// wake wakes some listeners of the job.
func (h *hub) wake(id uuid.UUID, selected func(*listener) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners[id] {
		if selected(l) {
			l.notified.Send()
		}
	}
}

// poll checks the jobs of the listeners until ctx ends.
func (h *hub) poll(ctx context.Context) {
	for retry.Sleep(ctx, pollInterval) == nil {
		h.mu.Lock()
		ids := slices.Collect(maps.Keys(h.listeners))
		h.mu.Unlock()
		if len(ids) == 0 {
			continue
		}
		checking, cancel := context.WithTimeout(ctx, pollTimeout)
		found, err := h.store.JobsToAnswer(checking, ids)
		cancel()
		if err != nil {
			continue // the next heartbeat of each bot reports the error
		}
		for _, j := range found {
			h.wake(j.ID, func(l *listener) bool { return j.Commands || j.Status == job.Failed || l.attempt < j.Attempt })
		}
	}
}
