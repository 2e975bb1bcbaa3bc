package lifecycle

import (
	"sync"

	"github.com/google/uuid"
)

// hub wakes the waiting heartbeats of this node when a command is queued.
type hub struct {
	mu        sync.Mutex
	listeners map[uuid.UUID]map[chan struct{}]struct{}
}

func newHub() *hub {
	return &hub{listeners: make(map[uuid.UUID]map[chan struct{}]struct{})}
}

// listen returns a channel that receives a value after notify is called for the
// job, and a function to stop listening. Notifications that were not received
// yet are merged into one.
func (h *hub) listen(id uuid.UUID) (notified <-chan struct{}, stop func()) {
	listener := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners[id] == nil {
		h.listeners[id] = make(map[chan struct{}]struct{})
	}
	h.listeners[id][listener] = struct{}{}
	return listener, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listeners[id], listener)
		if len(h.listeners[id]) == 0 {
			delete(h.listeners, id)
		}
	}
}

// notify wakes all listeners of the job.
func (h *hub) notify(id uuid.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for listener := range h.listeners[id] {
		select {
		case listener <- struct{}{}:
		default: // it has a notification already
		}
	}
}
