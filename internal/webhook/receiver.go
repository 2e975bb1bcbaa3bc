package webhook

import "time"

// standing is what is known of a receiver from its last try.
type standing int

const (
	unknown standing = iota
	good             // answered in time, whatever it answered
	slow             // answered, but only after slowAnswer
	silent           // did not answer
)

// slowAnswer is from when on an answer counts as slow, and a running try as one
// of a slow receiver.
const slowAnswer = time.Second

const (
	unknownTries = 2 // at once, until the first answer
	slowTries    = 8 // at once: each of these lasts long
	silentTries  = 1 // at once: each of these lasts a whole try
)

// queuedFor is for how long a receiver that answers may have work in the
// sender's memory: enough to be busy while the next claim is made, not so much
// that leases run out.
const queuedFor = 500 * time.Millisecond

// longestDoubt bounds how far the next delivery is put off of a receiver whose
// try hangs, or of one that waits for its first: it is looked at after twice as
// long as the try has hung. All others of the receiver are out of the way
// meanwhile, for longestWait: looking costs a write. The first answer makes them
// due.
const longestDoubt = 8 * time.Second

// longestWait bounds how far deliveries to a receiver are put off, so that one
// that gets faster, or is found to answer by another node, has them soon.
const longestWait = time.Minute

// receiver is one endpoint as the sender knows it: an address of one consumer.
// Its fields belong to places.
type receiver struct {
	host     *shared
	consumer *shared
	standing standing
	latency  time.Duration // of its answers, averaged

	queue   []Delivery // claimed and not begun, in the order of their claims
	running int
	pending int  // admitted to the claim that is being made
	waiting bool // stands in places.waiting

	failures int       // tries in a row that were not acknowledged
	probes   int       // of these, since it counts as dead
	probeAt  time.Time // when a dead one may be tried next
	behind   time.Time // when what was put off last is worth looking at
	silentAt time.Time // since when a try of it hangs; zero while none does
	turnAt   time.Time // when its next delivery is looked at, while it is in doubt
	apart    bool      // deliveries of it are out of the way until it answers
	noted    time.Time // when a success was last kept of it
}

// shared counts the tries that a host's or a consumer's receivers run.
type shared struct {
	quick      int // begun less than slowAnswer ago
	slow       int
	known      int       // receivers that count here
	held       int       // deliveries in memory: running, queued, or admitted to the claim that is being made
	answeredAt time.Time // when a try was last answered
	trialAt    time.Time // when the last of the receivers that wait for a trial has its turn
}

// doubted reports whether tries hang and none was answered lately.
func (s *shared) doubted(now time.Time) bool { return s.slow > 0 && !s.answers(now) }

// answers reports whether the host has answered lately.
func (s *shared) answers(now time.Time) bool { return now.Sub(s.answeredAt) <= answersFor }

// A host none of whose receivers has answered for a while may hang: it gets one
// try, and once that has lasted for slowAnswer, few new ones at a time, in case
// that others of its receivers answer.
const (
	answersFor     = 30 * time.Second
	doubtedPerHost = 8
)

// mayTry reports whether a host's places allow for one more try; proven is
// whether that receiver is known to answer.
func (s *shared) mayTry(perHost int, proven bool, now time.Time) bool {
	if !proven && !s.answers(now) {
		if s.slow == 0 {
			return s.quick == 0
		}
		return s.quick < min(doubtedPerHost, perHost) && s.slow < perHost
	}
	return s.quick < perHost
}

// dead reports whether the receiver is to be tried gently.
func (r *receiver) dead() bool { return r.failures >= DeadAfterFailures }

// proven reports whether the receiver is known to answer in time.
func (r *receiver) proven() bool { return r.standing == good && !r.dead() }

// answers reports whether the receiver answered its last try, late or not.
func (r *receiver) answers() bool { return r.standing == good || r.standing == slow }

// idle reports whether nothing of the receiver is in memory.
func (r *receiver) idle() bool { return r.running == 0 && len(r.queue) == 0 && r.pending == 0 }

// hold counts deliveries in memory.
func (r *receiver) hold(n int) {
	r.host.held += n
	r.consumer.held += n
}

// most returns how many tries of the receiver may run at once.
func (r *receiver) most(perHost int) int {
	switch {
	case r.dead() || r.standing == silent:
		return min(silentTries, perHost)
	case r.standing == slow:
		return min(slowTries, perHost)
	case r.standing == good:
		return perHost
	}
	return min(unknownTries, perHost)
}

// room returns how many deliveries may be claimed for the receiver, those that
// run or are queued included: what it is likely to take in queuedFor.
func (r *receiver) room(perHost, queued int) int {
	most := r.most(perHost)
	if r.standing != good || r.dead() {
		return most
	}
	if r.latency <= 0 {
		return queued
	}
	return min(max(most, int(queuedFor*time.Duration(most)/r.latency)), queued)
}

// admits reports whether one more delivery may be claimed for the receiver: it
// must fit beside what its host and its consumer have in memory already, so that
// none of them fills it.
func (r *receiver) admits(b bounds, now time.Time) bool {
	room, held := r.room(b.perHost, b.queued), r.running+len(r.queue)+r.pending
	switch {
	case held >= room, r.consumer.held >= b.heldOfConsumer():
		return false
	case r.onTrial(now): // one of each receiver, and few of the host
		return held == 0 && r.host.slow < b.perHost && r.host.held-r.host.quick-r.host.slow < min(doubtedPerHost, b.perHost)
	}
	return r.host.held < max(room, hostsHeld*b.perHost)
}

// onTrial reports whether neither the receiver nor anything else of its host has
// answered lately: such deliveries may stay in the queue for long.
func (r *receiver) onTrial(now time.Time) bool { return !r.proven() && !r.host.answers(now) }

// hostsHeld is how many times the tries that may run at once of a host may be
// in memory, if its receivers are many.
const hostsHeld = 4

// putOff returns for how long the next delivery that finds no room need not be
// looked at: they are spread over the time in which the receiver can take them.
func (r *receiver) putOff(perHost int, now time.Time) time.Duration {
	if r.dead() && r.probeAt.After(now) {
		return r.probeAt.Sub(now)
	}
	each := r.latency / time.Duration(r.most(perHost))
	switch {
	case r.standing == silent, r.standing == unknown && r.host.doubted(now):
		return r.turnIn(now)
	case r.standing == unknown:
		return 0 // its first answer will tell
	case r.latency == 0:
		each = slowAnswer
	}
	if r.behind.Before(now) {
		r.behind = now
	}
	if latest := now.Add(longestWait); r.behind.Before(latest) {
		r.behind = r.behind.Add(each)
	}
	return r.behind.Sub(now)
}

// turnIn returns for how long a delivery of a receiver in doubt is put off. One of
// them is looked at when the receiver has its next turn, and the others are out
// of the way.
func (r *receiver) turnIn(now time.Time) time.Duration {
	if r.turnAt.After(now) {
		r.apart = true
		return longestWait
	}
	if r.standing == silent {
		r.turnAt = now.Add(min(2*max(now.Sub(r.silentAt), slowAnswer), longestDoubt))
	} else {
		r.turnAt = r.host.nextTrial(now)
	}
	return r.turnAt.Sub(now)
}

// nextTrial returns when one more receiver may have its first try although its
// host is in doubt: they have their turns one after the other.
func (s *shared) nextTrial(now time.Time) time.Time {
	if !s.trialAt.After(now) {
		s.trialAt = now.Add(slowAnswer)
	}
	if latest := now.Add(longestDoubt); s.trialAt.Before(latest) {
		s.trialAt = s.trialAt.Add(slowAnswer / doubtedPerHost)
	}
	return s.trialAt
}

// hangs notes since when a try of the receiver hangs.
func (r *receiver) hangs(since time.Time) {
	if r.silentAt.IsZero() {
		r.silentAt = since
	}
}

// learn takes in what a try told. Latencies of answers are averaged over the
// last few.
func (r *receiver) learn(told lesson, schedule Schedule, now time.Time) {
	if told.standing == unknown {
		return
	}
	r.standing = told.standing
	if told.standing == silent {
		r.hangs(now.Add(-told.latency))
	} else {
		r.silentAt, r.turnAt, r.host.trialAt, r.host.answeredAt = time.Time{}, time.Time{}, time.Time{}, now
	}
	if r.latency == 0 {
		r.latency = told.latency
	}
	r.latency += (told.latency - r.latency) / 8
	if told.acknowledged {
		r.failures, r.probes, r.probeAt, r.behind = 0, 0, time.Time{}, time.Time{}
		return
	}
	r.failures++
	if r.dead() && !r.probeAt.After(now) {
		r.probeAt = now.Add(schedule.pause(r.probes))
		r.probes++
	}
}

// lesson is what a try told of its receiver.
type lesson struct {
	standing     standing // unknown: nothing
	latency      time.Duration
	acknowledged bool
}

// lessonOf tells what a try says of its receiver.
func lessonOf(try Try, answer response) lesson {
	told := lesson{standing: good, latency: try.Latency, acknowledged: answer.acknowledged()}
	switch {
	case answer.unusable != nil:
		told.standing = unknown
	case answer.status == 0:
		told.standing = silent
	case try.Latency >= slowAnswer:
		told.standing = slow
	}
	return told
}
