package webhook

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// health is what the last try showed about an endpoint.
type health int

const (
	untried      health = iota
	fast                // it responded within slowAfter, with any status
	slow                // it responded after slowAfter
	unresponsive        // it did not respond
)

const (
	slowAfter     = time.Second      // a try that lasts longer is slow
	maxSlowTries  = 8                // in flight to one slow endpoint
	claimAhead    = 8                // times the tries that may be in flight to a fast endpoint are claimed
	maxDefer      = time.Minute      // limits deferrals, in case the endpoint recovers sooner
	probeInterval = 5 * time.Second  // between deliveries that are deferred for an unresponsive endpoint
	respondedFor  = 30 * time.Second // a host counts as responding for so long after a response
	storeInterval = time.Minute      // between two writes that only store an endpoint's success
	maxEndpoints  = 20_000           // are remembered when nothing of them is in memory
)

// endpoint is the state of one URL of one consumer. The mutex of endpoints guards it.
//
// It is a circuit breaker as well: after DeadAfterFailures consecutive failures
// one try is made at each probeAt, and a success closes the circuit. The package
// github.com/sony/gobreaker does not fit: its open period does not grow, it does
// not report when the next probe is due, and its clock cannot be set by tests.
type endpoint struct {
	share
	host, consumer *share
	health         health
	latency        time.Duration // moving average

	failures   int       // consecutive
	probes     int       // of these, since the endpoint is dead
	probeAt    time.Time // of a dead endpoint: when the next try may start
	deferredTo time.Time // of the last deferred delivery
	deferred   bool      // deliveries are deferred until the endpoint responds
	storedAt   time.Time // when a success was last stored with the endpoint
}

// share counts the deliveries in memory of an endpoint, a host, a consumer, or all.
type share struct {
	claimed  int    // waiting for their turn, or in flight
	suspects int    // of these, to endpoints that have not responded fast, and may hang
	running  [2]int // tries in flight: to the others, and to suspects

	// Of a host:
	respondedAt time.Time  // when a try last got a response
	waiting     []*claimed // for their turn
}

// claimed is a delivery that this process has claimed.
type claimed struct {
	Delivery
	endpoint  *endpoint
	suspect   int           // 1 if the endpoint had not responded fast
	turn      chan struct{} // closed when it may be tried, or is dropped
	dropped   bool          // the endpoint can no longer take it
	startedAt time.Time
}

// endpoints knows the endpoints that deliveries go to, and decides when each is tried.
//
// An endpoint that responds fast may get many tries at once. The others, of which nobody
// knows whether they hang, get one or a few, and all of them together half of the tries
// that may be in flight, so that there is room for those that respond.
type endpoints struct {
	tries    int // that may be in flight, or wait for their turn
	perHost  int // tries to one host, and as many again to its suspects
	schedule Schedule
	now      func() time.Time

	mu        sync.Mutex
	byKey     map[string]*endpoint
	hosts     map[string]*share
	consumers map[uuid.UUID]*share
	all       share
	inFlight  map[*claimed]bool
}

func newEndpoints(tries, perHost int, schedule Schedule, now func() time.Time) *endpoints {
	return &endpoints{
		tries: tries, perHost: perHost, schedule: schedule, now: now, byKey: make(map[string]*endpoint),
		hosts: make(map[string]*share), consumers: make(map[uuid.UUID]*share), inFlight: make(map[*claimed]bool),
	}
}

// running returns how many tries are in flight, and how many of them are slow.
func (s *endpoints) running() (all, slow int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.inFlight {
		if s.now().Sub(c.startedAt) >= slowAfter {
			slow++
		}
	}
	return len(s.inFlight), slow
}

func shareOf[K comparable](all map[K]*share, key K) *share {
	if all[key] == nil {
		all[key] = &share{}
	}
	return all[key]
}

// admit reports whether a delivery may be claimed, and if not, for how long to defer it.
// The claim counts until it is finished.
func (s *endpoints) admit(d Delivery) (c *claimed, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, now := d.EndpointKey(), s.now()
	e := s.byKey[key]
	if e == nil {
		if len(s.byKey) >= maxEndpoints {
			maps.DeleteFunc(s.byKey, func(_ string, e *endpoint) bool { return e.claimed == 0 })
			maps.DeleteFunc(s.hosts, func(_ string, u *share) bool { return u.claimed == 0 })
			maps.DeleteFunc(s.consumers, func(_ uuid.UUID, u *share) bool { return u.claimed == 0 })
		}
		e = &endpoint{host: shareOf(s.hosts, HostOf(d.URL)), consumer: shareOf(s.consumers, d.ConsumerID)}
		s.byKey[key] = e
	}
	if !d.ProbeAt.IsZero() && d.ProbeAt.Before(e.probeAt) {
		e.probeAt = d.ProbeAt // somebody asked for an earlier probe
	}
	limit := e.limit(s.perHost)
	capacity, suspect := claimAhead*limit, 0
	if e.suspect() {
		capacity, suspect = limit, 1
	}
	switch {
	case e.dead() && e.probeAt.After(now), e.claimed >= capacity,
		e.host.claimed-e.host.suspects >= claimAhead*s.perHost, e.consumer.claimed >= max(1, s.tries/2),
		suspect > 0 && (e.host.suspects >= s.perHost || e.consumer.suspects >= max(1, s.tries/4) || s.all.suspects >= max(1, s.tries/2)):
		return nil, e.deferral(limit, now)
	}
	c = &claimed{Delivery: d, endpoint: e, suspect: suspect, turn: make(chan struct{})}
	s.count(c, 1)
	return c, 0
}

// count counts a delivery that gets into memory, or leaves it.
func (s *endpoints) count(c *claimed, n int) {
	for _, u := range []*share{&c.endpoint.share, c.endpoint.host, c.endpoint.consumer, &s.all} {
		u.claimed += n
		u.suspects += n * c.suspect
	}
}

// forget undoes the admission of deliveries that were not claimed.
func (s *endpoints) forget(all []*claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range all {
		s.count(c, -1)
	}
}

// await waits for the turn of a delivery. It reports false if it was dropped, or ctx has
// ended.
func (s *endpoints) await(ctx context.Context, c *claimed) bool {
	host := c.endpoint.host
	s.mu.Lock()
	host.waiting = append(host.waiting, c)
	s.start(host)
	s.mu.Unlock()
	select {
	case <-c.turn:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	host.waiting = slices.DeleteFunc(host.waiting, func(w *claimed) bool { return w == c })
	return ctx.Err() == nil && !c.dropped
}

// start lets the deliveries of a host be tried that have waited longest, within its limits
// and those of their endpoints.
func (s *endpoints) start(host *share) {
	host.waiting = slices.DeleteFunc(host.waiting, func(c *claimed) bool {
		e := c.endpoint
		if host.running[c.suspect] >= s.perHost || e.running[0]+e.running[1] >= e.limit(s.perHost) {
			return false
		}
		host.running[c.suspect]++
		e.running[c.suspect]++
		c.startedAt = s.now()
		s.inFlight[c] = true
		close(c.turn)
		return true
	})
}

// finish ends the claim of a delivery, with the outcome of its try, and returns what follows for the endpoint. The
// deliveries that wait for an endpoint that no longer responds fast are dropped.
func (s *endpoints) finish(c *claimed, o outcome) (end Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, now := c.endpoint, s.now()
	s.count(c, -1)
	if s.inFlight[c] {
		delete(s.inFlight, c)
		e.host.running[c.suspect]--
		e.running[c.suspect]--
	}
	if end.UpdateEndpoint = o.acknowledged && (e.failures > 0 || now.Sub(e.storedAt) >= storeInterval); end.UpdateEndpoint {
		e.storedAt = now
	}
	suspect := e.suspect()
	end.Resume = e.update(o, s.schedule, now)
	if e.dead() {
		end.ProbeAt = e.probeAt
	}
	if !suspect && e.suspect() {
		e.host.waiting = slices.DeleteFunc(e.host.waiting, func(w *claimed) bool {
			if w.dropped = w.endpoint == e; w.dropped {
				close(w.turn)
			}
			return w.dropped
		})
	}
	s.start(e.host)
	return end
}

// suspect reports whether the endpoint has not responded fast, and may hang.
func (e *endpoint) suspect() bool { return e.health != fast || e.dead() }

func (e *endpoint) dead() bool { return e.failures >= DeadAfterFailures }

// limit returns how many tries may be in flight.
func (e *endpoint) limit(perHost int) int {
	switch {
	case !e.suspect():
		return perHost
	case e.health == slow && !e.dead():
		return min(maxSlowTries, perHost)
	}
	return 1
}

// deferral returns for how long to defer a delivery that is not admitted. Deferred
// deliveries are spread over the time in which the endpoint is likely to take them.
func (e *endpoint) deferral(limit int, now time.Time) time.Duration {
	interval := e.latency / time.Duration(limit)
	responding := now.Sub(e.host.respondedAt) <= respondedFor
	switch {
	case e.dead() && e.probeAt.After(now):
		return e.probeAt.Sub(now)
	case e.health == unresponsive, e.health == untried && e.host.suspects > 1 && !responding:
		interval, e.deferred = probeInterval, true
	case e.health == untried:
		return 0 // the first response is expected soon
	}
	if e.deferredTo.Before(now) {
		e.deferredTo = now
	}
	if e.deferredTo.Before(now.Add(maxDefer)) {
		e.deferredTo = e.deferredTo.Add(interval)
	}
	return e.deferredTo.Sub(now)
}

// outcome is what a try showed about its endpoint.
type outcome struct {
	health       health // untried: nothing
	latency      time.Duration
	acknowledged bool
}

// update records the outcome of a try. It reports whether deferred deliveries
// are due.
func (e *endpoint) update(o outcome, schedule Schedule, now time.Time) (resume bool) {
	if o.health == untried {
		return false
	}
	e.health = o.health
	if e.latency == 0 {
		e.latency = o.latency
	}
	e.latency += (o.latency - e.latency) / 8
	if o.health != unresponsive {
		e.host.respondedAt = now
		resume, e.deferred = e.deferred, false
	}
	if o.acknowledged {
		e.failures, e.probes, e.probeAt, e.deferredTo = 0, 0, time.Time{}, time.Time{}
		return resume
	}
	e.failures++
	if e.dead() && !e.probeAt.After(now) {
		// The time between two tries of a dead endpoint, whichever deliveries they are for, is the first delay of
		// the schedule, doubled for each probe, up to the second delay.
		first, longest := schedule[0], schedule[min(1, len(schedule)-1)]
		e.probeAt = now.Add(min(first<<min(e.probes, 10), max(first, longest)))
		e.probes++
	}
	return resume
}
