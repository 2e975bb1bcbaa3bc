package webhook

import "time"

// health is what the last try showed about an endpoint.
type health int

const (
	untried      health = iota
	fast                // it responded within slowAfter, with any status
	slow                // it responded after slowAfter
	unresponsive        // it did not respond, or has not for slowAfter
)

const (
	slowAfter     = time.Second            // a try that lasts longer is slow
	maxSlowTries  = 8                      // in flight to one slow endpoint
	queueAhead    = 500 * time.Millisecond // of work is claimed ahead for a fast endpoint
	maxDefer      = time.Minute            // limits deferrals, in case the endpoint recovers sooner
	probeInterval = 5 * time.Second        // between deliveries that are deferred for an unresponsive endpoint
	respondedFor  = 30 * time.Second       // a host counts as responding for so long after a response
)

// endpoint is the in-memory state of one URL of one consumer. The scheduler's
// mutex guards it.
//
// It is a circuit breaker as well: after DeadAfterFailures consecutive failures
// one try is made at each probeAt, and a success closes the circuit. The package
// github.com/sony/gobreaker does not fit: its open period does not grow, it does
// not report when the next probe is due, and its clock cannot be set by tests.
type endpoint struct {
	host     *usage
	consumer *usage
	health   health
	latency  time.Duration // moving average

	queue   []Delivery // claimed and not started
	running int
	ready   bool // in host.ready

	failures   int       // consecutive
	probes     int       // of these, since the endpoint is dead
	probeAt    time.Time // of a dead endpoint: when the next try may start
	deferredTo time.Time // of the last deferred delivery
	deferred   bool      // deliveries are deferred until the endpoint responds
	storedAt   time.Time // when a success was last stored with the endpoint
}

// usage counts the deliveries in memory that share a host, a consumer or the
// sender.
type usage struct {
	fast, slow int // tries in flight, by whether they have lasted for slowAfter
	total      int // in flight or queued

	// Of a host:
	respondedAt time.Time   // when a try last got a response
	ready       []*endpoint // have a queue and are below their limits, in turn
	listed      bool        // in scheduler.ready
}

func (u *usage) running() int { return u.fast + u.slow }
func (u *usage) waiting() int { return u.total - u.running() }

func (u *usage) responding(now time.Time) bool { return now.Sub(u.respondedAt) <= respondedFor }

func (e *endpoint) dead() bool { return e.failures >= DeadAfterFailures }

// inMemory returns how many of the endpoint's deliveries are in memory.
func (e *endpoint) inMemory() int { return e.running + len(e.queue) }

// limit returns how many tries may be in flight.
func (e *endpoint) limit(perHost int) int {
	switch {
	case e.health == fast && !e.dead():
		return perHost
	case e.health == slow && !e.dead():
		return min(maxSlowTries, perHost)
	}
	return 1
}

// capacity returns how many deliveries may be in memory.
func (e *endpoint) capacity(l limits) int {
	limit := e.limit(l.perHost)
	if e.health != fast || e.dead() || e.latency <= 0 {
		return limit
	}
	return min(max(limit, int(queueAhead*time.Duration(limit)/e.latency)), l.queued)
}

// deferral returns for how long to defer a delivery that is not admitted.
// Deferred deliveries are spread over the time in which the endpoint is likely
// to take them.
func (e *endpoint) deferral(l limits, now time.Time) time.Duration {
	interval := e.latency / time.Duration(e.limit(l.perHost))
	switch {
	case e.dead() && e.probeAt.After(now):
		return e.probeAt.Sub(now)
	case e.health == unresponsive, e.health == untried && e.host.slow > 0 && !e.host.responding(now):
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

// applyDeferrals takes over the deferrals that were decided on a copy. What a try has
// shown meanwhile takes precedence.
func (e *endpoint) applyDeferrals(decided *endpoint) {
	if e.health == decided.health {
		e.deferredTo = decided.deferredTo
	}
	e.deferred = e.deferred || decided.deferred
	if decided.probeAt.Before(e.probeAt) {
		e.probeAt = decided.probeAt
	}
}

// outcome is what a try showed about its endpoint.
type outcome struct {
	health       health // untried: nothing
	latency      time.Duration
	acknowledged bool
}

func outcomeOf(try Try, r response) outcome {
	o := outcome{health: fast, latency: try.Latency, acknowledged: r.acknowledged()}
	switch {
	case r.unusable != nil:
		o.health = untried
	case r.status == 0:
		o.health = unresponsive
	case try.Latency >= slowAfter:
		o.health = slow
	}
	return o
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
		e.probeAt = now.Add(schedule.pause(e.probes))
		e.probes++
	}
	return resume
}
