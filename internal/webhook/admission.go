package webhook

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// admission decides which deliveries a claim takes. It counts them in copies of the
// scheduler's state, because the transaction of the claim may be repeated or fail.
// After the commit, scheduler.add applies it.
type admission struct {
	scheduler *scheduler
	now       time.Time
	endpoints map[string]*endpoint
	hosts     map[string]*usage
	consumers map[uuid.UUID]*usage
	all       usage
	pooled    int
}

// newAdmission begins an admission.
func (s *scheduler) newAdmission() *admission {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &admission{
		scheduler: s,
		now:       s.now(),
		endpoints: make(map[string]*endpoint),
		hosts:     make(map[string]*usage),
		consumers: make(map[uuid.UUID]*usage),
		all:       s.all,
		pooled:    s.pooled,
	}
}

// admit is an AdmitFunc.
func (a *admission) admit(d Delivery) (bool, time.Duration) {
	e := a.endpoint(d)
	if !d.ProbeAt.IsZero() && d.ProbeAt.Before(e.probeAt) {
		e.probeAt = d.ProbeAt // somebody asked for an earlier probe
	}
	if !a.admits(e) {
		return false, e.deferral(a.scheduler.limits, a.now)
	}
	e.queue = append(e.queue, d)
	e.host.total++
	e.consumer.total++
	a.all.total++
	return true, 0
}

// admits reports whether one more delivery of the endpoint may be in memory.
func (a *admission) admits(e *endpoint) bool {
	l, host := a.scheduler.limits, e.host
	capacity, pooled := e.capacity(l), a.pooled+a.all.waiting()
	switch {
	case e.dead() && e.probeAt.After(a.now), e.inMemory() >= capacity, e.consumer.total >= l.share(4)+l.queued/2:
		return false
	case e.health == fast:
		return host.total < max(capacity, 4*l.perHost)
	case e.health == untried && host.responding(a.now):
		return host.total-host.slow < 4*l.perHost && pooled < l.share(6)
	case e.consumer.slow >= l.share(2):
		return false
	case e.health == untried && host.slow == 0:
		return host.total == 0 && pooled < l.share(6) // the first try to a host runs alone until it is slow
	case e.health == untried:
		return host.slow < l.perHost && host.total-host.slow < l.perHost && pooled < l.share(5)
	}
	return host.slow < l.perHost && pooled < l.share(4)
}

// endpoint returns the copy of the delivery's endpoint.
func (a *admission) endpoint(d Delivery) *endpoint {
	key := d.EndpointKey()
	if e := a.endpoints[key]; e != nil {
		return e
	}
	a.scheduler.mu.Lock()
	defer a.scheduler.mu.Unlock()
	e := *a.scheduler.endpoint(d)
	e.queue = slices.Clip(e.queue)
	e.host = copyOf(a.hosts, HostOf(d.URL), e.host)
	e.consumer = copyOf(a.consumers, d.ConsumerID, e.consumer)
	a.endpoints[key] = &e
	return &e
}

// copyOf returns the copy of a usage in copies, which it makes once.
func copyOf[K comparable](copies map[K]*usage, key K, original *usage) *usage {
	if copies[key] == nil {
		copied := *original
		copies[key] = &copied
	}
	return copies[key]
}
