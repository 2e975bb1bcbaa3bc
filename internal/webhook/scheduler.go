package webhook

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// limits bound the deliveries in memory.
type limits struct {
	tries   int // in flight
	perHost int // in flight to one host, and as many again that are slow
	queued  int // claimed and not started
}

// share returns so many eighths of all tries.
func (l limits) share(eighths int) int { return max(1, l.tries*eighths/8) }

const (
	storeInterval = time.Minute // between two writes that only store an endpoint's success
	maxEndpoints  = 20_000      // are remembered when nothing of them is in memory
)

// scheduler queues claimed deliveries and starts their tries, within limits for
// each endpoint, host and consumer and for all of them.
//
// Tries that are slow, or whose endpoint has not responded fast before, share a
// bounded pool, so that endpoints that hang leave room for those that respond.
type scheduler struct {
	limits   limits
	schedule Schedule
	now      func() time.Time

	mu        sync.Mutex
	endpoints map[string]*endpoint
	hosts     map[string]*usage
	consumers map[uuid.UUID]*usage
	inFlight  map[*inFlight]struct{}
	ready     []*usage // hosts with ready endpoints, in turn
	all       usage
	pooled    int // tries in flight that count in the pool
}

// inFlight is a running try.
type inFlight struct {
	Delivery
	endpoint  *endpoint
	startedAt time.Time
	slow      bool
	pooled    bool
}

func newScheduler(limits limits, schedule Schedule, now func() time.Time) *scheduler {
	return &scheduler{
		limits:    limits,
		schedule:  schedule,
		now:       now,
		endpoints: make(map[string]*endpoint),
		hosts:     make(map[string]*usage),
		consumers: make(map[uuid.UUID]*usage),
		inFlight:  make(map[*inFlight]struct{}),
	}
}

// running returns how many tries are in flight, and how many of them are slow.
func (s *scheduler) running() (all, slow int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.running(), s.all.slow
}

// claimable returns how many deliveries to claim now.
func (s *scheduler) claimable() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.belowLimit() {
		return 0
	}
	return s.limits.queued - s.all.waiting()
}

func (s *scheduler) belowLimit() bool { return s.all.waiting() <= s.limits.queued/2 }

// endpoint returns the state of the delivery's endpoint.
func (s *scheduler) endpoint(d Delivery) *endpoint {
	key := d.EndpointKey()
	if e := s.endpoints[key]; e != nil {
		return e
	}
	if len(s.endpoints) >= maxEndpoints {
		maps.DeleteFunc(s.endpoints, func(_ string, e *endpoint) bool { return e.inMemory() == 0 })
		maps.DeleteFunc(s.hosts, func(_ string, u *usage) bool { return u.total == 0 })
		maps.DeleteFunc(s.consumers, func(_ uuid.UUID, u *usage) bool { return u.total == 0 })
	}
	e := &endpoint{host: usageOf(s.hosts, HostOf(d.URL)), consumer: usageOf(s.consumers, d.ConsumerID)}
	s.endpoints[key] = e
	return e
}

func usageOf[K comparable](all map[K]*usage, key K) *usage {
	if all[key] == nil {
		all[key] = &usage{}
	}
	return all[key]
}

// countInMemory counts deliveries of an endpoint that get into memory, or leave it.
func (s *scheduler) countInMemory(e *endpoint, n int) {
	e.host.total += n
	e.consumer.total += n
	s.all.total += n
}

// add applies the admission of a claim that was committed: it queues the claimed
// deliveries, and returns what to start.
func (s *scheduler) add(by *admission, claimed []Delivery) []*inFlight {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, decided := range by.endpoints {
		if e := s.endpoints[key]; e != nil { // it is not forgotten
			e.applyDeferrals(decided)
		}
	}
	for _, d := range claimed {
		e := s.endpoint(d)
		e.queue = append(e.queue, d)
		s.countInMemory(e, 1)
		s.list(e)
	}
	return s.startReady()
}

// list gives an endpoint that may start a try, and its host, their turns.
func (s *scheduler) list(e *endpoint) {
	if !e.ready && len(e.queue) > 0 && e.running < e.limit(s.limits.perHost) {
		e.ready = true
		e.host.ready = append(e.host.ready, e)
	}
	if host := e.host; !host.listed && len(host.ready) > 0 {
		host.listed = true
		s.ready = append(s.ready, host)
	}
}

// startReady starts what the limits allow. Hosts take turns, and so do the
// endpoints of a host. A host at its limit is listed again when one of its tries
// ends or becomes slow.
func (s *scheduler) startReady() (started []*inFlight) {
	for len(s.ready) > 0 && s.all.running() < s.limits.tries {
		host := s.ready[0]
		s.ready, host.listed = s.ready[1:], false
		for len(host.ready) > 0 && !host.listed && host.fast < s.limits.perHost {
			e := host.ready[0]
			host.ready, e.ready = host.ready[1:], false
			if e.running < e.limit(s.limits.perHost) {
				started = append(started, s.start(e))
			}
			s.list(e)
		}
	}
	return started
}

func (s *scheduler) start(e *endpoint) *inFlight {
	f := &inFlight{Delivery: e.queue[0], endpoint: e, startedAt: s.now()}
	s.inFlight[f] = struct{}{}
	e.queue = e.queue[1:]
	e.running++
	for _, u := range s.usages(e) {
		u.fast++
	}
	if e.health != fast {
		s.pool(f)
	}
	return f
}

func (s *scheduler) usages(e *endpoint) [3]*usage { return [3]*usage{e.host, e.consumer, &s.all} }

func (s *scheduler) pool(f *inFlight) {
	if !f.pooled {
		f.pooled = true
		s.pooled++
	}
}

// sweep counts tries as slow that have lasted for slowAfter, and returns what to
// start in their place.
func (s *scheduler) sweep() []*inFlight {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for f := range s.inFlight {
		if f.slow || now.Sub(f.startedAt) < slowAfter {
			continue
		}
		e := f.endpoint
		for _, u := range s.usages(e) {
			u.fast--
			u.slow++
		}
		f.slow = true
		s.pool(f)
		switch e.health {
		case untried:
			e.health = unresponsive
		case fast:
			e.health = slow
		}
		s.list(e)
	}
	return s.startReady()
}

// completion is what follows from the end of a try.
type completion struct {
	start          []*inFlight
	dropped        []Delivery // queued beyond what the endpoint can take now; to be released
	updateEndpoint bool       // the success is to be stored with the endpoint
	resume         bool       // deferred deliveries of the endpoint are due
	probeAt        time.Time  // when the next try of a dead endpoint may start
	claim          bool       // there is room for more deliveries
}

// finish ends a try.
func (s *scheduler) finish(f *inFlight, o outcome) (c completion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, now := f.endpoint, s.now()
	delete(s.inFlight, f)
	e.running--
	s.countInMemory(e, -1)
	for _, u := range s.usages(e) {
		if f.slow {
			u.slow--
		} else {
			u.fast--
		}
	}
	if f.pooled {
		s.pooled--
	}
	if c.updateEndpoint = o.acknowledged && (e.failures > 0 || now.Sub(e.storedAt) >= storeInterval); c.updateEndpoint {
		e.storedAt = now
	}
	c.resume = e.update(o, s.schedule, now)
	if e.dead() {
		c.probeAt = e.probeAt
	}
	c.dropped = s.truncate(e, max(0, e.capacity(s.limits)-e.running))
	s.list(e)
	c.start, c.claim = s.startReady(), s.belowLimit()
	return c
}

// truncate removes all but the first n queued deliveries of an endpoint.
func (s *scheduler) truncate(e *endpoint, n int) (removed []Delivery) {
	if len(e.queue) > n {
		removed = slices.Clone(e.queue[n:])
		e.queue = e.queue[:n]
		s.countInMemory(e, -len(removed))
	}
	return removed
}

// drain empties the queues.
func (s *scheduler) drain() (queued []Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.endpoints {
		queued = append(queued, s.truncate(e, 0)...)
	}
	return queued
}
