package webhook

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
)

// hall are places with a clock that the test sets.
type hall struct {
	*testing.T
	*places

	at time.Time
}

func newHall(t *testing.T, bounds bounds) *hall {
	t.Helper()
	h := &hall{T: t, at: time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)}
	h.places = newPlaces(bounds, DefaultSchedule(), func() time.Time { return h.at })
	return h
}

var wide = bounds{total: 256, perHost: 16, queued: 64}

func to(consumer uuid.UUID, url string) Delivery {
	return Delivery{ID: NewDeliveryID(), ConsumerID: consumer, URL: url}
}

// offer claims count deliveries to a receiver, as far as they are admitted, and
// returns the tries that begin.
func (h *hall) offer(count int, consumer uuid.UUID, url string) []*flight {
	admit := h.admission()
	var claimed []Delivery
	for range count {
		d := to(consumer, url)
		if admitted, _ := admit(d); admitted {
			claimed = append(claimed, d)
		}
	}
	return h.add(claimed)
}

var (
	answered     = lesson{standing: good, latency: 10 * time.Millisecond, acknowledged: true}
	refused      = lesson{standing: good, latency: 10 * time.Millisecond}
	lateAnswer   = lesson{standing: slow, latency: 3 * time.Second, acknowledged: true}
	noAnswerCame = lesson{standing: silent, latency: 15 * time.Second}
)

// know makes a receiver known.
func (h *hall) know(consumer uuid.UUID, url string, told lesson) {
	h.Helper()
	begun := h.offer(1, consumer, url)
	if len(begun) != 1 {
		h.Fatalf("%d tries begin of one delivery to %s", len(begun), url)
	}
	h.finish(begun[0], told)
}

func TestTriesAtOnceOfOneReceiver(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		told    *lesson
		perHost int
		want    int
	}{
		{"unknown", nil, 16, 1},
		{"good", &answered, 16, 16},
		{"answers no", &refused, 16, 16},
		{"slow", &lateAnswer, 16, slowTries},
		{"silent", &noAnswerCame, 16, silentTries},
		{"unknown, one allowed", nil, 1, 1},
		{"slow, one allowed", &lateAnswer, 1, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHall(t, bounds{total: 256, perHost: test.perHost, queued: 64})
			consumer := uuid.New()
			if test.told != nil {
				h.know(consumer, "https://a.example/", *test.told)
			}
			if got := len(h.offer(64, consumer, "https://a.example/")); got != test.want {
				t.Errorf("%d tries begin, want %d", got, test.want)
			}
		})
	}
}

// Of what waits behind a try that hangs one is looked at ever more seldom, up to a
// bound, and the others are out of the way until it is answered.
func TestPutOffAsLongAsATryHangs(t *testing.T) {
	t.Parallel()
	h := newHall(t, wide)
	consumer, url := uuid.New(), "https://a.example/hangs"
	begun := h.offer(1, consumer, url)
	h.at = h.at.Add(slowAnswer)
	h.sweep()
	looks := func(hung, want time.Duration) {
		t.Helper()
		if admitted, wait := h.admission()(to(consumer, url)); admitted || wait != want {
			t.Errorf("hanging for %v, put off by %v (admitted: %v), want %v", hung, wait, admitted, want)
		}
	}
	began := h.at.Add(-slowAnswer)
	for _, test := range []struct{ hung, turn time.Duration }{
		{slowAnswer, 2 * slowAnswer}, {3 * time.Second, 6 * time.Second}, {9 * time.Second, longestDoubt}, {time.Hour, longestDoubt},
	} {
		h.at = began.Add(test.hung)
		looks(test.hung, test.turn)
		looks(test.hung, longestWait)
	}
	if end := h.finish(begun[0], answered); !end.resume {
		t.Error("what is out of the way does not go on after an answer")
	}
	begun = h.offer(1, consumer, url)
	if len(begun) != 1 {
		t.Fatal("not admitted after an answer")
	}
	if end := h.finish(begun[0], answered); end.resume {
		t.Error("it goes on twice")
	}
}

// Where something of a host hangs and nothing answers, its other receivers have
// their first tries in turns, and what else waits for one of them is out of the
// way.
func TestTrialsInTurns(t *testing.T) {
	t.Parallel()
	h := newHall(t, wide)
	begun := h.offer(1, uuid.New(), "https://a.example/hangs")
	h.at = h.at.Add(slowAnswer)
	h.sweep()
	consumer := uuid.New()
	address := func(n int) string { return fmt.Sprintf("https://a.example/%d", n) }
	admit := h.admission()
	for n := range doubtedPerHost {
		if admitted, wait := admit(to(consumer, address(n))); !admitted {
			t.Fatalf("trial %d is put off by %v", n, wait)
		}
	}
	for n := doubtedPerHost; n < 5*doubtedPerHost; n++ {
		turn := slowAnswer + slowAnswer*time.Duration(n-doubtedPerHost+1)/doubtedPerHost
		for _, want := range []time.Duration{turn, longestWait} {
			if admitted, wait := admit(to(consumer, address(n))); admitted || wait != want {
				t.Errorf("trial %d is put off by %v (admitted: %v), want %v", n, wait, admitted, want)
			}
		}
	}
	h.finish(begun[0], answered)
	if admitted, wait := h.admission()(to(consumer, address(9*doubtedPerHost))); !admitted {
		t.Errorf("put off by %v after an answer", wait)
	}
	h.at = h.at.Add(longestDoubt)
	begun = h.offer(1, consumer, address(doubtedPerHost))
	if len(begun) != 1 {
		t.Fatal("no trial at its turn")
	}
	if end := h.finish(begun[0], answered); !end.resume {
		t.Error("what is out of the way does not go on after the answer to the trial")
	}
}

// Trials leave room in the queue, however many hosts hang.
func TestTrialsLeaveRoomInTheQueue(t *testing.T) {
	t.Parallel()
	h := newHall(t, wide)
	for n := range 40 {
		for m := range 20 {
			h.offer(1, uuid.New(), fmt.Sprintf("https://%d.example/%d", n, m))
		}
	}
	h.at = h.at.Add(slowAnswer)
	h.sweep()
	if wanted := h.wanted(); wanted < wide.queued/2 {
		t.Errorf("%d of %d are wanted", wanted, wide.queued)
	}
}

// A host that has never answered gets one try, a few more at a time while that
// hangs, and no more than any other in the end.
func TestTriesAtOnceOfAnUnknownHost(t *testing.T) {
	t.Parallel()
	h := newHall(t, wide)
	var begun []int
	for wave := range 7 {
		count := 0
		for n := range 20 {
			count += len(h.offer(1, uuid.New(), fmt.Sprintf("https://unknown.example/%d/%d", wave, n)))
		}
		begun = append(begun, count)
		h.at = h.at.Add(slowAnswer)
		begun[wave] += len(h.sweep())
	}
	if want := []int{1 + doubtedPerHost, 8, 0, 0, 0, 0, 0}; !slices.Equal(begun, want) {
		t.Errorf("%v tries begin, second by second, want %v", begun, want)
	}
}

// A dead receiver is tried once in a while, with growing pauses, and is itself
// again with the first acknowledgement.
func TestTheDeadAreTriedGently(t *testing.T) {
	t.Parallel()
	h := newHall(t, wide)
	consumer, url := uuid.New(), "https://a.example/"
	for range DeadAfterFailures {
		h.know(consumer, url, refused)
	}
	for _, pause := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
		h.at = h.at.Add(pause - time.Millisecond)
		admitted, wait := h.admission()(to(consumer, url))
		if admitted || wait != time.Millisecond {
			t.Fatalf("admitted %v, wait %v, a millisecond before the pause of %v ends", admitted, wait, pause)
		}
		h.at = h.at.Add(time.Millisecond)
		begun := h.offer(10, consumer, url)
		if len(begun) != 1 {
			t.Fatalf("%d tries after the pause of %v, want 1", len(begun), pause)
		}
		h.finish(begun[0], refused)
	}
	h.at = h.at.Add(40 * time.Second)
	end := h.finish(h.offer(1, consumer, url)[0], answered)
	if !end.note {
		t.Error("that it is back is not worth keeping")
	}
	if got := len(h.offer(64, consumer, url)); got != 16 {
		t.Errorf("%d tries begin once it is back, want 16", got)
	}
}

// What is queued for a receiver that stops answering is given back.
func TestQueuesOfTheSilentAreDropped(t *testing.T) {
	t.Parallel()
	h := newHall(t, wide)
	consumer, url := uuid.New(), "https://a.example/"
	h.know(consumer, url, answered)
	begun := h.offer(64, consumer, url)
	if len(begun) != 16 || h.queued != 48 {
		t.Fatalf("%d begin, %d are queued", len(begun), h.queued)
	}
	end := h.finish(begun[0], noAnswerCame)
	if len(end.dropped) != 48 || h.queued != 0 || len(end.begin) != 0 {
		t.Errorf("%d dropped, %d queued, %d begin; want 48, 0, 0", len(end.dropped), h.queued, len(end.begin))
	}
}

// Receivers that hang share a host's places, and a consumer's, no longer than
// it takes to notice.
func TestHangingTriesLeaveTheirHostsPlaces(t *testing.T) {
	t.Parallel()
	h := newHall(t, wide)
	consumer := uuid.New()
	h.know(consumer, "https://shared.example/first", answered)
	for n := range 8 {
		h.offer(2, consumer, fmt.Sprintf("https://shared.example/%d", n))
	}
	if got := len(h.offer(4, consumer, "https://shared.example/good")); got != 0 {
		t.Fatalf("%d tries begin on a full host", got)
	}
	h.at = h.at.Add(slowAnswer)
	if got := len(h.sweep()); got != 2 {
		t.Errorf("%d of those that waited begin, want 2: what hangs counts elsewhere", got)
	}
	if all, slow := h.running(); all != 18 || slow != 16 {
		t.Errorf("%d run, %d of them hang; want 18, 16", all, slow)
	}
}

// However many receivers hang, those that answer have places left.
func TestReceiversThatAnswerHavePlacesLeft(t *testing.T) {
	t.Parallel()
	h := newHall(t, bounds{total: 40, perHost: 16, queued: 64})
	h.know(uuid.New(), "https://unused.example/", answered)
	answers := uuid.New()
	h.know(answers, "https://answers.example/", answered)
	hanging := 0
	for n := range 100 {
		hanging += len(h.offer(1, uuid.New(), fmt.Sprintf("https://%d.example/", n)))
		h.at = h.at.Add(slowAnswer)
		h.sweep()
	}
	if hanging != 35 {
		t.Errorf("%d of 40 places go to receivers that never answered, want 35", hanging)
	}
	if got := len(h.offer(16, answers, "https://answers.example/")); got != 5 {
		t.Errorf("%d tries of one that answers begin beside them, want the 5 left", got)
	}
}

// Known to be silent, they get half of the places at the most.
func TestTheSilentShareHalf(t *testing.T) {
	t.Parallel()
	h := newHall(t, bounds{total: 40, perHost: 16, queued: 64})
	hanging := 0
	for n := range 100 {
		consumer, url := uuid.New(), fmt.Sprintf("https://%d.example/", n)
		if begun := h.offer(1, consumer, url); len(begun) == 1 {
			h.finish(begun[0], noAnswerCame)
		}
		hanging += len(h.offer(1, consumer, url))
		h.at = h.at.Add(slowAnswer)
		h.sweep()
	}
	if hanging != 20 {
		t.Errorf("%d of 40 places go to receivers that do not answer, want 20", hanging)
	}
}

func TestPlacesInAll(t *testing.T) {
	t.Parallel()
	h := newHall(t, bounds{total: 5, perHost: 16, queued: 64})
	for _, url := range []string{"https://a.example/", "https://b.example/"} {
		for n := range 4 {
			h.know(uuid.New(), url+fmt.Sprint(n), answered)
		}
	}
	a, b := uuid.New(), uuid.New()
	h.know(a, "https://a.example/", answered)
	h.know(b, "https://b.example/", answered)
	begun := append(h.offer(16, a, "https://a.example/"), h.offer(16, b, "https://b.example/")...)
	if len(begun) != 4 { // a consumer has half of the places, rounded down
		t.Fatalf("%d tries begin, want 4", len(begun))
	}
	if end := h.finish(begun[0], answered); len(end.begin) != 1 {
		t.Errorf("%d begin after one ended", len(end.begin))
	}
}

// What finds no room is put off to when it is likely to.
func TestPutOffAsLongAsTheReceiverIsBusy(t *testing.T) {
	t.Parallel()
	h := newHall(t, wide)
	consumer, url := uuid.New(), "https://a.example/"
	h.know(consumer, url, lesson{standing: good, latency: 800 * time.Millisecond, acknowledged: true})
	h.offer(64, consumer, url)
	admit := h.admission()
	var longest time.Duration
	for range 10_000 {
		admitted, wait := admit(to(consumer, url))
		if admitted {
			t.Fatal("admitted beyond the room")
		}
		longest = max(longest, wait)
	}
	if longest < longestWait || longest > longestWait+time.Second {
		t.Errorf("put off by up to %v, want about %v", longest, longestWait)
	}
}

func TestIdleReceiversAreForgotten(t *testing.T) {
	t.Parallel()
	h := newHall(t, wide)
	consumer := uuid.New()
	h.offer(1, consumer, "https://running.example/")
	for n := range h.bounds.remembered() + 10 {
		h.know(consumer, fmt.Sprintf("https://%d.example/", n), answered)
	}
	if len(h.receivers) > h.bounds.remembered() || len(h.hosts) > h.bounds.remembered() {
		t.Errorf("%d receivers and %d hosts are remembered", len(h.receivers), len(h.hosts))
	}
	if h.receivers[EndpointKey(consumer, "https://running.example/")] == nil {
		t.Error("a receiver with a running try is forgotten")
	}
}
