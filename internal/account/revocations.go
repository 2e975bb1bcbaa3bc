package account

import (
	"sync"
	"time"
)

// RecheckInterval is how often a long response checks the key or the session that it was
// opened with. Revocations of this process are noticed at once; the interval is for
// those of other nodes and of the command line.
const RecheckInterval = 3 * time.Second

// Revocations tells the long responses of this process that a key or a session may have
// ended. A nil Revocations tells nothing. It is safe for concurrent use.
type Revocations struct {
	mu   sync.Mutex
	next chan struct{}
}

// Next returns a channel that is closed at the next revocation.
func (r *Revocations) Next() <-chan struct{} {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil {
		r.next = make(chan struct{})
	}
	return r.next
}

// Announce reports a revocation, after it was stored.
func (r *Revocations) Announce() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next != nil {
		close(r.next)
		r.next = nil
	}
}
