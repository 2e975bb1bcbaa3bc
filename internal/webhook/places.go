package webhook

import (
	"slices"
	"sync"
	"time"
)

// places bounds the tries that run at once: in all, and for each receiver, host
// and consumer; and it holds what is claimed until a place is free. A try that
// lasts longer than slowAnswer moves to an account of its own, so that
// receivers that hang do not use up what their host or consumer may have.
type places struct {
	bounds   bounds
	schedule Schedule
	now      func() time.Time

	mu        sync.Mutex
	receivers map[string]*receiver
	hosts     map[string]*shared
	consumers map[string]*shared
	flights   map[*flight]struct{}
	waiting   []*receiver             // with deliveries in their queues, in the order of their turns
	parked    map[*shared][]*receiver // likewise, until something changes at their host
	admitted  []*receiver             // by the admission that was given out last
	queued    int
	slow      int // running tries that last longer than slowAnswer
	unproven  int // running tries of receivers that are not known to answer, slow ones included
}

// flight is one running try.
type flight struct {
	Delivery
	receiver *receiver
	began    time.Time
	slow     bool // counted as slow
	unproven bool // counted as unproven
}

func newPlaces(bounds bounds, schedule Schedule, now func() time.Time) *places {
	return &places{
		bounds:    bounds,
		schedule:  schedule,
		now:       now,
		receivers: make(map[string]*receiver),
		hosts:     make(map[string]*shared),
		consumers: make(map[string]*shared),
		flights:   make(map[*flight]struct{}),
		parked:    make(map[*shared][]*receiver),
	}
}

// wanted returns how many deliveries should be claimed now; 0 for none.
func (p *places) wanted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.bounds.low(p.queued) {
		return 0
	}
	return p.bounds.queued - p.queued
}

// admission returns what judges the deliveries of a claim. What the claim before
// admitted must have been added by then, or counts no more.
func (p *places) admission() AdmitFunc {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgetAdmitted()
	trials := p.bounds.queuedTrials() - p.queuedTrials()
	return func(d Delivery) (bool, time.Duration) {
		p.mu.Lock()
		defer p.mu.Unlock()
		now := p.now()
		r := p.of(d)
		onTrial := r.onTrial(now)
		if r.dead() && r.probeAt.After(now) ||
			!r.admits(p.bounds, now) ||
			r.standing == silent && p.slow >= p.bounds.slow() ||
			onTrial && trials <= 0 {
			return false, r.putOff(p.bounds.perHost, now)
		}
		if onTrial {
			trials--
		}
		r.pending++
		r.hold(1)
		p.admitted = append(p.admitted, r)
		return true, 0
	}
}

// queuedTrials is how much of the queue waits for hosts that have not answered.
// The caller holds mu.
func (p *places) queuedTrials() (count int) {
	now := p.now()
	add := func(r *receiver) {
		if r.onTrial(now) {
			count += len(r.queue)
		}
	}
	for _, r := range p.waiting {
		add(r)
	}
	for _, parked := range p.parked {
		for _, r := range parked {
			add(r)
		}
	}
	return count
}

// forgetAdmitted ends a claim: what it brought is added, and all else is not
// there. The caller holds mu.
func (p *places) forgetAdmitted() {
	for _, r := range p.admitted {
		r.pending--
		r.hold(-1)
	}
	p.admitted = p.admitted[:0]
}

// of returns what is known of a delivery's receiver. The caller holds mu.
func (p *places) of(d Delivery) *receiver {
	key := EndpointKey(d.ConsumerID, d.URL)
	if r := p.receivers[key]; r != nil {
		return r
	}
	p.forgetIdle()
	r := &receiver{host: sharedBy(p.hosts, HostOf(d.URL)), consumer: sharedBy(p.consumers, d.ConsumerID.String())}
	p.receivers[key] = r
	return r
}

func sharedBy(all map[string]*shared, name string) *shared {
	one := all[name]
	if one == nil {
		one = &shared{}
		all[name] = one
	}
	one.known++
	return one
}

// forgetIdle keeps the memory bounded. The caller holds mu.
func (p *places) forgetIdle() {
	if len(p.receivers) < p.bounds.remembered() {
		return
	}
	for key, r := range p.receivers {
		if r.idle() {
			r.host.known--
			r.consumer.known--
			delete(p.receivers, key)
		}
	}
	for _, all := range []map[string]*shared{p.hosts, p.consumers} {
		for name, one := range all {
			if one.known == 0 {
				delete(all, name)
			}
		}
	}
}

// add queues what was claimed, and returns what can begin.
func (p *places) add(claimed []Delivery) []*flight {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgetAdmitted()
	for _, d := range claimed {
		r := p.of(d)
		r.queue = append(r.queue, d)
		r.hold(1)
		p.queued++
		p.wait(r)
	}
	return p.begin()
}

// wait puts a receiver at the end of those whose turn will come. The caller
// holds mu.
func (p *places) wait(r *receiver) {
	if !r.waiting {
		r.waiting = true
		p.waiting = append(p.waiting, r)
	}
}

// begin takes places for what may run now, one of each receiver in turn. The
// caller holds mu.
func (p *places) begin() []*flight {
	var begun []*flight
	now := p.now()
	for passes := true; passes; {
		passes = false
		turn := p.waiting
		p.waiting = nil
		for i, r := range turn {
			if len(p.flights) >= p.bounds.total {
				p.waiting = append(p.waiting, turn[i:]...)
				return begun
			}
			r.waiting = false
			if p.mayBegin(r, now) {
				begun = append(begun, p.take(r, now))
				passes = true
			}
			switch {
			case len(r.queue) == 0, r.running >= r.most(p.bounds.perHost):
				// The end of one of its own tries has it wait again.
			case r.host.mayTry(p.bounds.perHost, r.proven(), now):
				p.wait(r)
			default:
				p.park(r)
			}
		}
	}
	return begun
}

// park has a receiver wait for a change at its host: however many a host keeps
// waiting, the tries of others do not look at them. The caller holds mu.
func (p *places) park(r *receiver) {
	r.waiting = true
	p.parked[r.host] = append(p.parked[r.host], r)
}

// unpark has those wait for their turns that waited for a change at the host. The
// caller holds mu.
func (p *places) unpark(host *shared) {
	p.waiting = append(p.waiting, p.parked[host]...)
	delete(p.parked, host)
}

// mayBegin reports whether a try of the receiver may run. The caller holds mu.
func (p *places) mayBegin(r *receiver, now time.Time) bool {
	switch {
	case len(r.queue) == 0, r.running >= r.most(p.bounds.perHost),
		!r.host.mayTry(p.bounds.perHost, r.proven(), now), r.consumer.quick >= p.bounds.ofConsumer():
		return false
	case r.standing == slow && r.host.slow >= p.bounds.perHost:
		return false
	case r.standing == silent && (p.slow >= p.bounds.slow() ||
		r.consumer.slow >= p.bounds.slowOfConsumer() || r.host.slow >= p.bounds.perHost):
		return false
	}
	unproven := p.bounds.unproven()
	if r.host.quick+r.host.slow == 0 {
		unproven = p.bounds.firsts()
	}
	return r.proven() || p.unproven < unproven
}

// take takes a place for the first of the receiver's queue. The caller holds mu.
func (p *places) take(r *receiver, now time.Time) *flight {
	f := &flight{Delivery: r.queue[0], receiver: r, began: now, unproven: !r.proven()}
	r.queue = r.queue[1:]
	p.queued--
	r.running++
	r.host.quick++
	r.consumer.quick++
	if f.unproven {
		p.unproven++
	}
	p.flights[f] = struct{}{}
	return f
}

// landing is what the end of a try leads to.
type landing struct {
	begin   []*flight  // tries that can begin now
	dropped []Delivery // queued for longer than their receiver deserves; to be released
	note    bool       // the success is worth keeping of the endpoint
	resume  bool       // what is out of the way can go on
	low     bool       // more should be claimed
}

// finish gives a place back, with what was learnt.
func (p *places) finish(f *flight, told lesson) landing {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	r := f.receiver
	p.leave(f)
	end := landing{note: told.acknowledged && (r.failures > 0 || now.Sub(r.noted) >= notePrecision)}
	if end.note {
		r.noted = now
	}
	r.learn(told, p.schedule, now)
	p.unpark(r.host)
	if end.resume = r.apart && r.answers(); end.resume {
		r.apart = false
	}
	if room := max(0, r.room(p.bounds.perHost, p.bounds.queued)-r.running); len(r.queue) > room {
		end.dropped = slices.Clone(r.queue[room:])
		r.queue = r.queue[:room]
		p.queued -= len(end.dropped)
		r.hold(-len(end.dropped))
	}
	if len(r.queue) > 0 {
		p.wait(r)
	}
	end.begin, end.low = p.begin(), p.bounds.low(p.queued)
	return end
}

// leave takes a flight out of all accounts. The caller holds mu.
func (p *places) leave(f *flight) {
	f.receiver.running--
	f.receiver.hold(-1)
	*f.account(f.receiver.host)--
	*f.account(f.receiver.consumer)--
	if f.slow {
		p.slow--
	}
	if f.unproven {
		p.unproven--
	}
	delete(p.flights, f)
}

// account is where a flight counts of what receivers share.
func (f *flight) account(s *shared) *int {
	if f.slow {
		return &s.slow
	}
	return &s.quick
}

// notePrecision is how exact it is kept when an endpoint last acknowledged: a
// write for every delivery would cost more than the fact is worth.
const notePrecision = time.Minute

// sweep moves tries that last long to the account of the slow, and returns what
// can begin in their places.
func (p *places) sweep() []*flight {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for f := range p.flights {
		if f.slow || now.Sub(f.began) < slowAnswer {
			continue
		}
		f.receiver.host.quick--
		f.receiver.consumer.quick--
		f.slow = true
		f.receiver.host.slow++
		f.receiver.consumer.slow++
		p.slow++
		p.unpark(f.receiver.host)
		if !f.unproven {
			f.unproven = true
			p.unproven++
		}
		switch f.receiver.standing {
		case unknown:
			f.receiver.standing = silent // so far
			f.receiver.hangs(f.began)
		case good:
			f.receiver.standing = slow
		}
	}
	return p.begin()
}

// mustSweep reports whether there is anything to sweep.
func (p *places) mustSweep() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.flights) > p.slow
}

// drain empties the queues and returns what was in them.
func (p *places) drain() []Delivery {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Delivery
	for _, r := range p.receivers {
		all = append(all, r.queue...)
		r.hold(-len(r.queue))
		r.queue, r.waiting = nil, false
	}
	p.waiting, p.queued = nil, 0
	clear(p.parked)
	return all
}

// running returns how many tries run, and how many of them last long.
func (p *places) running() (all, slow int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.flights), p.slow
}
