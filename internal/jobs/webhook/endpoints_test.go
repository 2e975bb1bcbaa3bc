package webhook

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
)

// endpointsTest has endpoints with a clock that the test sets.
type endpointsTest struct {
	*testing.T
	*endpoints

	at time.Time
}

func newEndpointsTest(t *testing.T, tries, perHost int) *endpointsTest {
	t.Helper()
	s := &endpointsTest{T: t, at: time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)}
	s.endpoints = newEndpoints(tries, perHost, DefaultSchedule(), func() time.Time { return s.at })
	return s
}

func deliveryTo(consumer uuid.UUID, url string) Delivery {
	return Delivery{ID: NewDeliveryID(), ConsumerID: consumer, URL: url}
}

// offer claims up to count deliveries to an endpoint. It returns the tries that start, and
// how many wait for their turn.
func (s *endpointsTest) offer(count int, consumer uuid.UUID, url string) (started []*claimed, waiting int) {
	for range count {
		c, _ := s.admit(deliveryTo(consumer, url))
		if c == nil {
			continue
		}
		c.endpoint.host.waiting = append(c.endpoint.host.waiting, c)
		s.start(c.endpoint.host)
		if s.inFlight[c] {
			started = append(started, c)
		} else {
			waiting++
		}
	}
	return started, waiting
}

var (
	acknowledged = outcome{health: fast, latency: 10 * time.Millisecond, acknowledged: true}
	refused      = outcome{health: fast, latency: 10 * time.Millisecond}
	slowResponse = outcome{health: slow, latency: 3 * time.Second, acknowledged: true}
	noResponse   = outcome{health: unresponsive, latency: 15 * time.Second}
)

// try runs one try of an endpoint.
func (s *endpointsTest) try(consumer uuid.UUID, url string, o outcome) Result {
	s.Helper()
	started, _ := s.offer(1, consumer, url)
	if len(started) != 1 {
		s.Fatalf("one delivery to %s starts %d tries", url, len(started))
	}
	return s.finish(started[0], o)
}

func TestEndpointLimits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		last          *outcome
		perHost       int
		want, waiting int
	}{
		{"untried", nil, 16, 1, 0},
		{"acknowledges", &acknowledged, 16, 16, 7 * 16},
		{"refuses", &refused, 16, 16, 7 * 16},
		{"slow", &slowResponse, 16, maxSlowTries, 0},
		{"unresponsive", &noResponse, 16, 1, 0},
		{"untried, one per host", nil, 1, 1, 0},
		{"slow, one per host", &slowResponse, 1, 1, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newEndpointsTest(t, 256, test.perHost)
			consumer := uuid.New()
			if test.last != nil {
				s.try(consumer, "https://a.example/", *test.last)
			}
			started, waiting := s.offer(256, consumer, "https://a.example/")
			if len(started) != test.want || waiting != test.waiting {
				t.Errorf("%d tries start and %d wait, want %d and %d", len(started), waiting, test.want, test.waiting)
			}
		})
	}
}

// A claim whose transaction is repeated or fails admits nothing.
func TestUncommittedAdmission(t *testing.T) {
	t.Parallel()
	s := newEndpointsTest(t, 256, 16)
	consumer, url := uuid.New(), "https://a.example/"
	s.try(consumer, url, acknowledged)
	for range 2 {
		var admitted []*claimed
		for range 500 {
			if c, _ := s.admit(deliveryTo(consumer, url)); c != nil {
				admitted = append(admitted, c)
			}
		}
		if len(admitted) != claimAhead*16 {
			t.Errorf("%d deliveries are admitted, want %d", len(admitted), claimAhead*16)
		}
		s.forget(admitted)
	}
	if s.all.claimed != 0 {
		t.Errorf("%+v is left", s.all)
	}
}

// Deliveries to an endpoint that did not respond are deferred by increasing times, and are
// due when it responds.
func TestDeliveriesOfHangingEndpointAreDeferred(t *testing.T) {
	t.Parallel()
	s := newEndpointsTest(t, 256, 16)
	consumer, url := uuid.New(), "https://a.example/hangs"
	s.try(consumer, url, noResponse)
	started, _ := s.offer(1, consumer, url)
	for n := range 20 {
		want := min(time.Duration(n+1)*probeInterval, maxDefer)
		if admitted, wait := s.admit(deliveryTo(consumer, url)); admitted != nil || wait != want {
			t.Errorf("delivery %d is deferred by %v (admitted: %v), want %v", n, wait, admitted != nil, want)
		}
	}
	if end := s.finish(started[0], acknowledged); !end.Resume {
		t.Error("the response does not resume deferred deliveries")
	}
	if end := s.try(consumer, url, acknowledged); end.Resume {
		t.Error("deferred deliveries are resumed twice")
	}
}

// A host that never responds gets a bounded number of tries.
func TestHostThatNeverResponds(t *testing.T) {
	t.Parallel()
	s := newEndpointsTest(t, 256, 16)
	count := 0
	for n := range 100 {
		started, _ := s.offer(1, uuid.New(), fmt.Sprintf("https://hangs.example/%d", n))
		count += len(started)
	}
	if count != 16 {
		t.Errorf("%d tries start, want 16", count)
	}
}

// A dead endpoint is tried at growing intervals until it acknowledges.
func TestDeadEndpointIsProbed(t *testing.T) {
	t.Parallel()
	s := newEndpointsTest(t, 256, 16)
	consumer, url := uuid.New(), "https://a.example/"
	for range DeadAfterFailures {
		s.try(consumer, url, refused)
	}
	for _, pause := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
		s.at = s.at.Add(pause - time.Millisecond)
		admitted, wait := s.admit(deliveryTo(consumer, url))
		if admitted != nil || wait != time.Millisecond {
			t.Fatalf("admitted %v, deferred by %v, a millisecond before the end of %v", admitted != nil, wait, pause)
		}
		s.at = s.at.Add(time.Millisecond)
		started, _ := s.offer(10, consumer, url)
		if len(started) != 1 {
			t.Fatalf("%d tries start after %v, want 1", len(started), pause)
		}
		s.finish(started[0], refused)
	}
	s.at = s.at.Add(40 * time.Second)
	if end := s.try(consumer, url, acknowledged); !end.UpdateEndpoint {
		t.Error("the first success is not stored with the endpoint")
	}
	if started, _ := s.offer(64, consumer, url); len(started) != 16 {
		t.Errorf("%d tries start after the success, want 16", len(started))
	}
}

func TestDeliveriesThatWaitForAnUnresponsiveEndpointAreDropped(t *testing.T) {
	t.Parallel()
	s := newEndpointsTest(t, 256, 16)
	consumer, url := uuid.New(), "https://a.example/"
	s.try(consumer, url, acknowledged)
	started, waiting := s.offer(64, consumer, url)
	if len(started) != 16 || waiting != 48 {
		t.Fatalf("%d start, %d wait", len(started), waiting)
	}
	last := s.endpoints.hosts["a.example"].waiting[47]
	s.finish(started[0], noResponse)
	if left := len(s.endpoints.hosts["a.example"].waiting); left > 0 || !last.dropped {
		t.Errorf("%d wait, and the last was dropped: %t", left, last.dropped)
	}
	if s.await(t.Context(), last) {
		t.Error("a delivery that was dropped is tried")
	}
}

// Tries that hang leave room for others of their host, and are counted.
func TestHangingTriesLeaveRoomOnTheirHost(t *testing.T) {
	t.Parallel()
	s := newEndpointsTest(t, 256, 16)
	consumer := uuid.New()
	s.try(consumer, "https://shared.example/good", acknowledged)
	for n := range 20 {
		s.offer(1, consumer, fmt.Sprintf("https://shared.example/%d", n))
	}
	s.at = s.at.Add(slowAfter)
	if started, _ := s.offer(4, consumer, "https://shared.example/good"); len(started) != 4 {
		t.Errorf("%d tries start beside those that hang, want 4", len(started))
	}
	if all, slow := s.running(); all != 20 || slow != 16 {
		t.Errorf("%d run, %d of them slow; want 20, 16", all, slow)
	}
}

// However many endpoints hang, half of the tries are left for those that respond, and
// however many hang of one consumer, a quarter for the untried ones of others.
func TestTriesAreLeftForRespondingEndpoints(t *testing.T) {
	t.Parallel()
	s := newEndpointsTest(t, 40, 16)
	good, hostile, hanging := uuid.New(), uuid.New(), 0
	s.try(good, "https://good.example/", acknowledged)
	hang := func(consumer uuid.UUID) {
		for n := range 100 {
			started, _ := s.offer(1, consumer, fmt.Sprintf("https://%s-%d.example/", consumer, n))
			hanging += len(started)
		}
	}
	hang(hostile)
	if hanging != 10 {
		t.Errorf("the hanging endpoints of a consumer have %d of 40 tries, want 10", hanging)
	}
	for range 10 {
		hang(uuid.New())
	}
	if hanging != 20 {
		t.Errorf("hanging endpoints have %d of 40 tries, want 20", hanging)
	}
	if started, _ := s.offer(20, good, "https://good.example/"); len(started) != 16 {
		t.Errorf("%d tries of the endpoint that responds start, want 16", len(started))
	}
}

// One consumer cannot fill the memory of the sender.
func TestConsumerIsLimited(t *testing.T) {
	t.Parallel()
	s := newEndpointsTest(t, 256, 16)
	consumer := uuid.New()
	for n := range 40 {
		url := fmt.Sprintf("https://%d.example/", n)
		if started, _ := s.offer(1, consumer, url); len(started) == 1 {
			s.finish(started[0], acknowledged)
			s.offer(16, consumer, url)
		}
	}
	if all, _ := s.running(); all != 128 {
		t.Errorf("%d tries of one consumer run, want 128 of 256", all)
	}
}

// Deliveries beyond the capacity of a busy endpoint are spread over the time in
// which it can take them.
func TestDeliveriesOfBusyEndpointAreDeferred(t *testing.T) {
	t.Parallel()
	s := newEndpointsTest(t, 256, 16)
	consumer, url := uuid.New(), "https://a.example/"
	s.try(consumer, url, outcome{health: fast, latency: 800 * time.Millisecond, acknowledged: true})
	s.offer(256, consumer, url)
	var longest time.Duration
	for range 10_000 {
		admitted, wait := s.admit(deliveryTo(consumer, url))
		if admitted != nil {
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
	s := newEndpointsTest(t, 256, 16)
	consumer := uuid.New()
	s.offer(1, consumer, "https://running.example/")
	for n := range maxEndpoints + 10 {
		s.try(consumer, fmt.Sprintf("https://%d.example/", n), acknowledged)
	}
	if len(s.byKey) > maxEndpoints || len(s.hosts) > maxEndpoints {
		t.Errorf("%d endpoints and %d hosts are remembered", len(s.byKey), len(s.hosts))
	}
	if s.byKey[EndpointKey(consumer, "", "https://running.example/")] == nil {
		t.Error("an endpoint with a try in flight is forgotten")
	}
}
