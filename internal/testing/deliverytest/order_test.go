package deliverytest

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
	"standin/internal/testing/await"
	"standin/internal/testing/storetest"
)

// recovering is a receiver that fails until it recovers.
type recovering struct {
	up atomic.Bool

	mu           sync.Mutex
	failed       int
	acknowledged []int64 // sequences
}

func (r *recovering) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	content, _ := io.ReadAll(request.Body)
	var body struct{ Data struct{ Sequence int64 } }
	_ = json.Unmarshal(content, &body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.up.Load() {
		r.failed++
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	r.acknowledged = append(r.acknowledged, body.Data.Sequence)
}

func (r *recovering) state() (failed int, acknowledged []int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed, slices.Clone(r.acknowledged)
}

// TestOrderAfterOutage: when a receiver was down for so long that its URL is dead, the
// events of a job arrive in order once it is back, also one that is new.
func TestOrderAfterOutage(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, cluster, func(t *testing.T, address string) {
		const events = 6
		s := openStore(t, address)
		receiver := &recovering{}
		server := httptest.NewServer(receiver)
		t.Cleanup(server.Close)
		var clock atomic.Int64 // hours pass in seconds
		start := time.Now()
		clock.Store(start.UnixNano())
		sender := webhook.NewSender(s, webhook.Settings{
			Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Poll: 5 * time.Millisecond,
			Now: func() time.Time { return time.Unix(0, clock.Load()) }, Log: slog.New(slog.DiscardHandler),
		})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { sender.Run(ctx) })
		running.Go(func() {
			ticker := time.NewTicker(5 * time.Millisecond)
			defer ticker.Stop()
			for {
				select {
				case <-ticker.C:
					clock.Add(int64(250 * time.Millisecond))
				case <-ctx.Done():
					return
				}
			}
		})
		defer func() { stop(); running.Wait() }()

		consumer := newConsumer(t, s)
		var j job.Job
		insert := func(from, to int64) {
			t.Helper()
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
				if from == 1 {
					if j, err = newJob(ctx, tx, consumer.ID); err != nil {
						return err
					}
				}
				for n := from; n <= to; n++ {
					d, err := newEvent(j, n, server.URL)
					if err != nil {
						return err
					}
					d.EmittedAt = time.Unix(0, clock.Load())
					if err := tx.InsertDelivery(ctx, d); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			sender.Wake()
		}
		insert(1, events-1)
		await.Until(t, "the URL is dead", func() bool { failed, _ := receiver.state(); return failed >= webhook.DeadAfterFailures+2 })
		receiver.up.Store(true)
		insert(events, events)
		await.Until(t, "all events", func() bool { _, acknowledged := receiver.state(); return len(acknowledged) >= events })
		if _, got := receiver.state(); !slices.IsSorted(got) {
			t.Errorf("acknowledged in the order %v", got)
		}
	})
}
