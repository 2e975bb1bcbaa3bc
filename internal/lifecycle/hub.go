package lifecycle

import (
	"sync"

	"github.com/google/uuid"
)

// hub tells held heartbeats of this node that a command has come.
type hub struct {
	mu      sync.Mutex
	waiting map[uuid.UUID]map[chan struct{}]struct{}
}

func newHub() *hub {
	return &hub{waiting: make(map[uuid.UUID]map[chan struct{}]struct{})}
}

// listen returns a channel that gets a value after each notify of the id, and
// a function to stop listening. News that come before they are read are one.
func (h *hub) listen(id uuid.UUID) (<-chan struct{}, func()) {
	news := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting[id] == nil {
		h.waiting[id] = make(map[chan struct{}]struct{})
	}
	h.waiting[id][news] = struct{}{}
	return news, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.waiting[id], news)
		if len(h.waiting[id]) == 0 {
			delete(h.waiting, id)
		}
	}
}

// notify tells all who listen for the id.
func (h *hub) notify(id uuid.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for news := range h.waiting[id] {
		select {
		case news <- struct{}{}:
		default: // it has news already
		}
	}
}
