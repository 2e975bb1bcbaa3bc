package webhook

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
)

// schedulerTest is a scheduler with a clock that the test sets.
type schedulerTest struct {
	*testing.T
	*scheduler

	at time.Time
}

func newSchedulerTest(t *testing.T, limits limits) *schedulerTest {
	t.Helper()
	s := &schedulerTest{T: t, at: time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)}
	s.scheduler = newScheduler(limits, DefaultSchedule(), func() time.Time { return s.at })
	return s
}

var testLimits = limits{tries: 256, perHost: 16, queued: 64}

func deliveryTo(consumer uuid.UUID, url string) Delivery {
	return Delivery{ID: NewDeliveryID(), ConsumerID: consumer, URL: url}
}

// offer claims up to count deliveries to an endpoint and returns the tries that
// start.
func (s *schedulerTest) offer(count int, consumer uuid.UUID, url string) []*inFlight {
	a := s.newAdmission()
	var claimed []Delivery
	for range count {
		d := deliveryTo(consumer, url)
		if admitted, _ := a.admit(d); admitted {
			claimed = append(claimed, d)
		}
	}
	return s.add(a, claimed)
}

// pass lets time pass and returns the tries that start because others are slow.
func (s *schedulerTest) pass(d time.Duration) []*inFlight {
	s.at = s.at.Add(d)
	return s.sweep()
}

var (
	acknowledged = outcome{health: fast, latency: 10 * time.Millisecond, acknowledged: true}
	refused      = outcome{health: fast, latency: 10 * time.Millisecond}
	slowResponse = outcome{health: slow, latency: 3 * time.Second, acknowledged: true}
	noResponse   = outcome{health: unresponsive, latency: 15 * time.Second}
)

// try runs one try of an endpoint.
func (s *schedulerTest) try(consumer uuid.UUID, url string, o outcome) completion {
	s.Helper()
	started := s.offer(1, consumer, url)
	if len(started) != 1 {
		s.Fatalf("one delivery to %s starts %d tries", url, len(started))
	}
	return s.finish(started[0], o)
}

func TestEndpointLimits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		last    *outcome
		perHost int
		want    int
	}{
		{"untried", nil, 16, 1},
		{"acknowledges", &acknowledged, 16, 16},
		{"refuses", &refused, 16, 16},
		{"slow", &slowResponse, 16, maxSlowTries},
		{"unresponsive", &noResponse, 16, 1},
		{"untried, one per host", nil, 1, 1},
		{"slow, one per host", &slowResponse, 1, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSchedulerTest(t, limits{tries: 256, perHost: test.perHost, queued: 64})
			consumer := uuid.New()
			if test.last != nil {
				s.try(consumer, "https://a.example/", *test.last)
			}
			if got := len(s.offer(64, consumer, "https://a.example/")); got != test.want {
				t.Errorf("%d tries start, want %d", got, test.want)
			}
		})
	}
}

// A claim whose transaction is repeated or fails admits nothing.
func TestUncommittedAdmission(t *testing.T) {
	t.Parallel()
	s := newSchedulerTest(t, testLimits)
	consumer, url := uuid.New(), "https://a.example/"
	s.try(consumer, url, acknowledged)
	for range 2 {
		a, admitted := s.newAdmission(), 0
		for range 100 {
			if ok, _ := a.admit(deliveryTo(consumer, url)); ok {
				admitted++
			}
		}
		if admitted != testLimits.queued {
			t.Errorf("%d deliveries are admitted, want %d", admitted, testLimits.queued)
		}
	}
	if got := len(s.offer(100, consumer, url)); got != testLimits.perHost {
		t.Errorf("%d tries start, want %d", got, testLimits.perHost)
	}
	if free := s.claimable(); free != 0 {
		t.Errorf("room for %d deliveries in a full queue", free)
	}
}

// Deliveries to an endpoint whose try hangs are deferred by increasing times,
// and are due when the endpoint responds.
func TestDeliveriesOfHangingEndpointAreDeferred(t *testing.T) {
	t.Parallel()
	s := newSchedulerTest(t, testLimits)
	consumer, url := uuid.New(), "https://a.example/hangs"
	started := s.offer(1, consumer, url)
	s.pass(slowAfter)
	for _, committed := range []bool{false, true} {
		a := s.newAdmission()
		for n := range 20 {
			want := min(time.Duration(n+1)*probeInterval, maxDefer)
			if admitted, wait := a.admit(deliveryTo(consumer, url)); admitted || wait != want {
				t.Errorf("delivery %d is deferred by %v (admitted: %v), want %v", n, wait, admitted, want)
			}
		}
		if committed {
			s.add(a, nil)
		}
	}
	if end := s.finish(started[0], acknowledged); !end.resume {
		t.Error("the response does not resume deferred deliveries")
	}
	if end := s.try(consumer, url, acknowledged); end.resume {
		t.Error("deferred deliveries are resumed twice")
	}
}

// The first try to a host runs alone until it is slow. Then others start, up to
// the limits of the host.
func TestHostThatNeverResponds(t *testing.T) {
	t.Parallel()
	s := newSchedulerTest(t, testLimits)
	var started []int
	for second := range 5 {
		count := 0
		for n := range 20 {
			count += len(s.offer(1, uuid.New(), fmt.Sprintf("https://hangs.example/%d/%d", second, n)))
		}
		started = append(started, count+len(s.pass(slowAfter)))
	}
	if want := []int{1, testLimits.perHost, 0, 0, 0}; !slices.Equal(started, want) {
		t.Errorf("%v tries start in each second, want %v", started, want)
	}
}

// Hosts that hang leave room in the queue.
func TestHangingHostsDoNotFillTheQueue(t *testing.T) {
	t.Parallel()
	s := newSchedulerTest(t, testLimits)
	for range 3 {
		for n := range 40 {
			for m := range 20 {
				s.offer(1, uuid.New(), fmt.Sprintf("https://%d.example/%d", n, m))
			}
		}
		s.pass(slowAfter)
	}
	if free := s.claimable(); free < testLimits.queued/2 {
		t.Errorf("room for %d of %d deliveries", free, testLimits.queued)
	}
}

// A dead endpoint is tried at growing intervals until it acknowledges.
func TestDeadEndpointIsProbed(t *testing.T) {
	t.Parallel()
	s := newSchedulerTest(t, testLimits)
	consumer, url := uuid.New(), "https://a.example/"
	for range DeadAfterFailures {
		s.try(consumer, url, refused)
	}
	for _, pause := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
		s.at = s.at.Add(pause - time.Millisecond)
		admitted, wait := s.newAdmission().admit(deliveryTo(consumer, url))
		if admitted || wait != time.Millisecond {
			t.Fatalf("admitted %v, deferred by %v, a millisecond before the end of %v", admitted, wait, pause)
		}
		s.at = s.at.Add(time.Millisecond)
		started := s.offer(10, consumer, url)
		if len(started) != 1 {
			t.Fatalf("%d tries start after %v, want 1", len(started), pause)
		}
		s.finish(started[0], refused)
	}
	s.at = s.at.Add(40 * time.Second)
	if end := s.try(consumer, url, acknowledged); !end.updateEndpoint {
		t.Error("the first success is not stored with the endpoint")
	}
	if got := len(s.offer(64, consumer, url)); got != 16 {
		t.Errorf("%d tries start after the success, want 16", got)
	}
}

func TestQueueOfUnresponsiveEndpointIsDropped(t *testing.T) {
	t.Parallel()
	s := newSchedulerTest(t, testLimits)
	consumer, url := uuid.New(), "https://a.example/"
	s.try(consumer, url, acknowledged)
	started := s.offer(64, consumer, url)
	if len(started) != 16 || s.all.waiting() != 48 {
		t.Fatalf("%d start, %d wait", len(started), s.all.waiting())
	}
	end := s.finish(started[0], noResponse)
	if len(end.dropped) != 48 || s.all.waiting() != 0 || len(end.start) != 0 {
		t.Errorf("%d dropped, %d wait, %d start; want 48, 0, 0", len(end.dropped), s.all.waiting(), len(end.start))
	}
}

// Slow tries free the slots of their host and consumer.
func TestSlowTriesFreeSlots(t *testing.T) {
	t.Parallel()
	s := newSchedulerTest(t, testLimits)
	consumer := uuid.New()
	s.try(consumer, "https://shared.example/first", acknowledged)
	s.try(consumer, "https://shared.example/good", acknowledged)
	for n := range 16 {
		s.offer(1, consumer, fmt.Sprintf("https://shared.example/%d", n))
	}
	if got := len(s.offer(4, consumer, "https://shared.example/good")); got != 0 {
		t.Fatalf("%d tries start on a full host", got)
	}
	if got := len(s.pass(slowAfter)); got != 4 {
		t.Errorf("%d queued tries start, want 4", got)
	}
	if all, slow := s.running(); all != 20 || slow != 16 {
		t.Errorf("%d run, %d of them slow; want 20, 16", all, slow)
	}
}

// However many endpoints hang, some slots are left for those that respond.
func TestSlotsAreLeftForRespondingEndpoints(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		first *outcome // of each hanging endpoint
		want  int      // of 40 slots
	}{
		{"untried", nil, 30},
		{"known to be unresponsive", &noResponse, 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSchedulerTest(t, limits{tries: 40, perHost: 16, queued: 64})
			good := uuid.New()
			s.try(good, "https://good.example/", acknowledged)
			hanging := 0
			for n := range 100 {
				consumer, url := uuid.New(), fmt.Sprintf("https://%d.example/", n)
				if started := s.offer(1, consumer, url); test.first != nil && len(started) == 1 {
					s.finish(started[0], *test.first)
				} else {
					hanging += len(started)
				}
				if test.first != nil {
					hanging += len(s.offer(1, consumer, url))
				}
				s.pass(slowAfter)
			}
			if hanging != test.want {
				t.Errorf("hanging endpoints have %d of 40 slots, want %d", hanging, test.want)
			}
			want := min(16, 40-test.want)
			if got := len(s.offer(16, good, "https://good.example/")); got != want {
				t.Errorf("%d tries of the endpoint that responds start, want %d", got, want)
			}
		})
	}
}

func TestTriesInFlightAreLimited(t *testing.T) {
	t.Parallel()
	s := newSchedulerTest(t, limits{tries: 5, perHost: 16, queued: 64})
	a, b := uuid.New(), uuid.New()
	s.try(a, "https://a.example/", acknowledged)
	s.try(b, "https://b.example/", acknowledged)
	started := append(s.offer(3, a, "https://a.example/"), s.offer(16, b, "https://b.example/")...)
	if len(started) != 5 {
		t.Fatalf("%d tries start, want 5", len(started))
	}
	if end := s.finish(started[0], acknowledged); len(end.start) != 1 {
		t.Errorf("%d start after one ended", len(end.start))
	}
}

// One consumer cannot fill the memory of the sender.
func TestConsumerIsLimited(t *testing.T) {
	t.Parallel()
	s := newSchedulerTest(t, testLimits)
	consumer := uuid.New()
	for n := range 40 {
		url := fmt.Sprintf("https://%d.example/", n)
		if started := s.offer(1, consumer, url); len(started) == 1 {
			s.finish(started[0], acknowledged)
			s.offer(16, consumer, url)
		}
	}
	if all, _ := s.running(); all != 160 {
		t.Errorf("%d tries of one consumer run, want 160 of 256", all)
	}
}

// Deliveries beyond the capacity of a busy endpoint are spread over the time in
// which it can take them.
func TestDeliveriesOfBusyEndpointAreDeferred(t *testing.T) {
	t.Parallel()
	s := newSchedulerTest(t, testLimits)
	consumer, url := uuid.New(), "https://a.example/"
	s.try(consumer, url, outcome{health: fast, latency: 800 * time.Millisecond, acknowledged: true})
	s.offer(64, consumer, url)
	a := s.newAdmission()
	var longest time.Duration
	for range 10_000 {
		admitted, wait := a.admit(deliveryTo(consumer, url))
		if admitted {
			t.Fatal("admitted beyond the capacity")
		}
		longest = max(longest, wait)
	}
	if longest < maxDefer || longest > maxDefer+time.Second {
		t.Errorf("deferred by up to %v, want about %v", longest, maxDefer)
	}
}

func TestIdleEndpointsAreForgotten(t *testing.T) {
	t.Parallel()
	s := newSchedulerTest(t, testLimits)
	consumer := uuid.New()
	s.offer(1, consumer, "https://running.example/")
	for n := range maxEndpoints + 10 {
		s.try(consumer, fmt.Sprintf("https://%d.example/", n), acknowledged)
	}
	if len(s.endpoints) > maxEndpoints || len(s.hosts) > maxEndpoints {
		t.Errorf("%d endpoints and %d hosts are remembered", len(s.endpoints), len(s.hosts))
	}
	if s.endpoints[EndpointKey(consumer, "", "https://running.example/")] == nil {
		t.Error("an endpoint with a try in flight is forgotten")
	}
}
