package deliverytest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/webhook"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// Environment variables of these tests.
const (
	envEvents    = "STANDIN_TEST_EVENTS"    // number of events; make webhooks-crash sets 50,000
	envSeed      = "STANDIN_TEST_SEED"      // repeats a run
	envSender    = "STANDIN_TEST_SENDER"    // database address; makes this process the node that is killed
	envConsumer  = "STANDIN_TEST_CONSUMER"  // ID of the consumer of the node's events
	envReceivers = "STANDIN_TEST_RECEIVERS" // URLs to which the node sends its events, separated by spaces
)

// cluster is the PostgreSQL server of these tests; nil if it is not installed.
var cluster *storetest.Cluster

func TestMain(m *testing.M) {
	if address := os.Getenv(envSender); address != "" {
		if err := runNode(address); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(storetest.Main(m, func(c *storetest.Cluster) { cluster = c }))
}

// TestNothingIsLostInCrashes kills a node at random times while it and this process
// insert events for receivers of all kinds. The node sends them. Each event is
// acknowledged under one delivery ID, in the order of its job, and the outbox is empty
// in the end.
func TestNothingIsLostInCrashes(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	storetest.OnBoth(t, cluster, crash)
}

func crash(t *testing.T, address string) {
	events, seed := number(t, envEvents, 500), number(t, envSeed, int(rand.Uint32()))
	kills := max(3, events/1000)
	t.Logf("%d events, %d kills; repeat with %s=%d", events, kills, envSeed, seed)
	chance := &dice{random: rand.New(rand.NewPCG(uint64(seed), 0))}

	s := storetest.Open(t, address)
	receivers := newReceivers(t, chance)
	consumer := newConsumer(t, s).ID
	nodes := newNodes(address, consumer, receivers, events/2)
	var flowing sync.WaitGroup
	inserted := make(map[string]webhook.Delivery)
	flowing.Go(func() { flow(t, s, chance, consumer, receivers, events-nodes.events, inserted) })

	running := nodes.start(t)
	for range kills {
		wait(t, chance.between(100*time.Millisecond, 1500*time.Millisecond))
		running.kill(t)
		running = nodes.start(t)
	}
	flowing.Wait()
	nodes.await(t, running)
	awaitEmpty(t, s, events)
	running.kill(t)
	maps.Copy(inserted, nodes.inserted)
	check(t, s, receivers, inserted, events)
	t.Logf("%d events of the nodes", len(nodes.inserted))
}

// awaitEmpty waits until the outbox is empty.
func awaitEmpty(t *testing.T, s *store.Store, events int) {
	t.Helper()
	deadline := time.Now().Add(2*time.Minute + time.Duration(events)*10*time.Millisecond)
	for left := int64(1); left > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d deliveries are left behind", left, events)
		}
		wait(t, 50*time.Millisecond)
		var err error
		if left, _, err = s.Backlog(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// flow inserts events, ten of each job, a few jobs at a time.
func flow(t *testing.T, s *store.Store, chance *dice, consumer uuid.UUID, receivers []*receiver, events int,
	inserted map[string]webhook.Delivery) {
	for len(inserted) < events {
		var put []webhook.Delivery
		err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			put = put[:0]
			for range group {
				j, err := newJob(ctx, tx, consumer)
				if err != nil {
					return err
				}
				url := receivers[chance.below(len(receivers))].url
				for n := range int64(ofJob) {
					d, err := insertEvent(ctx, tx, j, n+1, url)
					if err != nil {
						return err
					}
					put = append(put, d)
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("put events into the outbox: %v", err)
			return
		}
		for _, d := range put {
			inserted[d.ID] = d
		}
		wait(t, chance.between(0, 60*time.Millisecond))
	}
}

// check compares the received requests with the inserted events.
func check(t *testing.T, s *store.Store, receivers []*receiver, inserted map[string]webhook.Delivery, events int) {
	if len(inserted) < events {
		t.Fatalf("%d events were inserted, want %d", len(inserted), events)
	}
	requests, repeated := 0, 0
	for _, r := range receivers {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, fault := range r.faults {
			t.Errorf("%s: %s", r.kind, fault)
		}
		requests += r.requests
		repeated += r.repeated
		for id := range r.acknowledged {
			if _, ok := inserted[id]; ok {
				continue
			}
			// A node was killed between its commit and its report.
			d, err := s.Delivery(t.Context(), r.jobs[id], id, time.Now())
			if err != nil {
				t.Errorf("%s acknowledged %s, which is not in the outbox: %v", r.kind, id, err)
				continue
			}
			inserted[id] = webhook.Delivery{ID: id, JobID: r.jobs[id], URL: r.url, Sequence: d.Sequence}
		}
	}
	byURL := make(map[string]*receiver)
	for _, r := range receivers {
		byURL[r.url] = r
	}
	ofJob := make(map[uuid.UUID][]webhook.Delivery)
	for id, d := range inserted {
		if byURL[d.URL].acknowledged[id].IsZero() {
			t.Errorf("event %d of job %s to %s was never acknowledged", d.Sequence, d.JobID, byURL[d.URL].kind)
		}
		ofJob[d.JobID] = append(ofJob[d.JobID], d)
	}
	for _, deliveries := range ofJob {
		checkOrder(t, byURL[deliveries[0].URL], deliveries)
	}
	t.Logf("%d requests for %d events; %d acknowledged again", requests, len(inserted), repeated)
}

// checkOrder checks that the events of a job were acknowledged in their order: the
// next try of each is due soon enough to hold back those behind it.
func checkOrder(t *testing.T, r *receiver, deliveries []webhook.Delivery) {
	t.Helper()
	for _, earlier := range deliveries {
		for _, later := range deliveries {
			at := r.acknowledged[later.ID]
			if earlier.Sequence < later.Sequence && !at.IsZero() && at.Before(r.acknowledged[earlier.ID]) {
				t.Errorf("%s: event %d of job %s came before event %d", r.kind, later.Sequence, later.JobID, earlier.Sequence)
			}
		}
	}
}

// dice is a source of random numbers for several goroutines.
type dice struct {
	mu     sync.Mutex
	random *rand.Rand
}

func (d *dice) below(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.IntN(n)
}

func (d *dice) between(least, most time.Duration) time.Duration {
	return least + time.Duration(d.below(int(most-least)))
}

// wait waits for a random event to happen.
func wait(t *testing.T, duration time.Duration) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// number returns a number from the environment.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	return n
}
