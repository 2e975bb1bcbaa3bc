package webhook

import (
	"context"
	"sync"

	"github.com/google/uuid"
)

// direct is how a Sender gets new deliveries without a claim.
type direct struct {
	mu      sync.Mutex
	ctx     context.Context // of tries; nil when Run does not claim
	refused []Delivery      // to be released
}

// Lease leases a delivery that is about to be inserted into the outbox, and returns
// true, if the sender can send it at once. After the commit it is passed to Send.
// Otherwise the delivery is inserted without a lease, and the sender claims it.
//
// The sender takes no new deliveries while older ones wait: they come first.
func (s *Sender) Lease(d *Delivery) bool {
	if !s.caughtUp.Load() || s.unrecorded.Load() > maxUnrecorded || !s.scheduler.takesNew(*d) {
		return false
	}
	d.Lease, d.LeasedTo, d.Attempt = uuid.NewString(), s.now().Add(s.lease), 1
	return true
}

// Send sends deliveries that were inserted with a lease, and releases those that it
// cannot send now. It does not wait for tries. A delivery that is leased and not
// passed to Send is due at the end of its lease.
func (s *Sender) Send(deliveries []Delivery) {
	if !s.sendDirect(deliveries) {
		s.release(context.Background(), deliveries)
	}
}

// sendDirect is Send while Run claims; otherwise it returns false.
func (s *Sender) sendDirect(deliveries []Delivery) bool {
	s.direct.mu.Lock()
	defer s.direct.mu.Unlock()
	if s.direct.ctx == nil {
		return false
	}
	started, refused := s.scheduler.addNew(deliveries)
	s.start(s.direct.ctx, started)
	if len(refused) > 0 {
		s.direct.refused = append(s.direct.refused, refused...)
		s.Wake() // releases them
	}
	return true
}

// openDirect sends the deliveries that are passed to Send from now on.
func (s *Sender) openDirect(ctx context.Context) {
	s.direct.mu.Lock()
	defer s.direct.mu.Unlock()
	s.direct.ctx = ctx
}

// closeDirect only releases the deliveries that are passed to Send from now on, and
// makes Lease return false.
func (s *Sender) closeDirect() {
	s.caughtUp.Store(false)
	s.direct.mu.Lock()
	defer s.direct.mu.Unlock()
	s.direct.ctx = nil
}

// releaseRefused releases the deliveries of Send for which there was no room.
func (s *Sender) releaseRefused(ctx context.Context) {
	s.direct.mu.Lock()
	refused := s.direct.refused
	s.direct.refused = nil
	s.direct.mu.Unlock()
	s.release(ctx, refused)
}

// takesNew reports whether a new delivery can be sent at once: its endpoint responds
// fast, none of its deliveries are deferred, and there is room.
func (s *scheduler) takesNew(d Delivery) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, now := s.endpoints[EndpointKey(d.ConsumerID, d.URL)], s.now()
	return e != nil && e.health == fast && !e.deferred && !e.deferredTo.After(now) && s.hasRoom() && s.admits(e, now)
}

// addNew queues deliveries that no claim has admitted. It returns what to start, and
// the deliveries for which there is no room.
func (s *scheduler) addNew(deliveries []Delivery) (started []*inFlight, refused []Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range deliveries {
		e := s.endpoint(d)
		if !s.admits(e, s.now()) {
			refused = append(refused, d)
			continue
		}
		s.countInMemory(e, 1)
		e.queue = append(e.queue, d)
		s.list(e)
	}
	return s.startReady(), refused
}
