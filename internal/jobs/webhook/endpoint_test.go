package webhook_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/webhook"
	"standin/internal/testing/await"
)

// A receiver that is down is probed, and gets the waiting deliveries when it
// is back, in the order of each job, although the schedule says hours.
func TestRecoveredReceiverGetsWaitingDeliveries(t *testing.T) {
	t.Parallel()
	const jobs, events = 6, 5
	var up atomic.Bool
	var mu sync.Mutex
	ordering := map[string][]int64{}
	jobOf := map[string]string{}
	got := newReceiver(t, func(w http.ResponseWriter, _ *http.Request, m message) {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		ordering[jobOf[m.DeliveryID]] = append(ordering[jobOf[m.DeliveryID]], m.Data.Sequence)
	})
	outbox := newOutbox(t)
	consumer := uuid.New()
	for range jobs {
		job := uuid.New()
		for sequence := range int64(events) {
			one := deliveryOf(job, sequence, got.URL)
			one.ConsumerID = consumer
			jobOf[one.ID] = job.String()
			put(t, outbox, one)
		}
	}
	schedule := webhook.Schedule{50 * time.Millisecond, 100 * time.Millisecond, 10 * time.Hour}
	run(t, outbox, webhook.Settings{Schedule: schedule, Poll: 20 * time.Millisecond})
	await.Until(t, "enough failures", func() bool { return len(got.messages()) >= webhook.DeadAfterFailures+jobs })
	up.Store(true)
	await.Until(t, "all deliveries", outbox.final)

	mu.Lock()
	defer mu.Unlock()
	for job, sequences := range ordering {
		if len(sequences) != events || !slices.IsSorted(sequences) && !overtakenAfterFailures(outbox, jobOf, job) {
			t.Errorf("job %s: acknowledged in the order %v", job, sequences)
		}
	}
	if len(ordering) != jobs {
		t.Errorf("%d jobs were reported, want %d", len(ordering), jobs)
	}
}

// overtakenAfterFailures reports whether a delivery of the job failed often
// enough to be overtaken.
func overtakenAfterFailures(outbox *outbox, jobOf map[string]string, job string) bool {
	for id, of := range jobOf {
		if of == job && len(outbox.row(id).tries) > 2 {
			return true
		}
	}
	return false
}

// URLs that hang do not delay another URL of their host.
func TestHangingURLsDoNotDelayTheirHost(t *testing.T) {
	t.Parallel()
	const hanging, deliveries = 30, 50
	var answered atomic.Int64
	got := newReceiver(t, func(_ http.ResponseWriter, r *http.Request, _ message) {
		if strings.HasPrefix(r.URL.Path, "/hang") {
			<-r.Context().Done()
			return
		}
		answered.Add(1)
	})
	outbox := newOutbox(t)
	consumer := uuid.New()
	for n := range hanging {
		for range 10 {
			one := delivery(got.URL + "/hang/" + string(rune('a'+n)))
			one.ConsumerID = consumer
			put(t, outbox, one)
		}
	}
	for range deliveries { // last in the queue, of the same consumer
		one := delivery(got.URL + "/answers")
		one.ConsumerID = consumer
		put(t, outbox, one)
	}
	began := time.Now()
	run(t, outbox, webhook.Settings{TryTimeout: time.Minute})
	await.Until(t, "all deliveries to the responding URL", func() bool { return answered.Load() == deliveries })
	t.Logf("%d deliveries next to %d hanging URLs of the host took %v", deliveries, hanging, time.Since(began))
}
