package deliverytest

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"standin/internal/jobs/webhook"
	"standin/internal/store"
	"standin/internal/testing/await"
	"standin/internal/testing/hostile"
	"standin/internal/testing/logtail"
	"standin/internal/testing/storetest"
)

// TestFullDisk fills the disk of the database while events are being posted and others are due.
// The sender tries again less and less often, and sends each event once when there is room.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	const slots = 3
	dir := hostile.SmallDisk(t, "8")
	s := storetest.Open(t, filepath.Join(dir, "standin.db"))
	var arrived atomic.Int64
	var received sync.Map // by delivery
	full := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		var message struct {
			DeliveryID string
			Attempt    int
		}
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil || message.Attempt != 1 {
			t.Errorf("attempt %d (%v)", message.Attempt, err)
		}
		if _, again := received.LoadOrStore(message.DeliveryID, true); again {
			t.Errorf("%s was sent again", message.DeliveryID)
		}
		<-full
	}))
	t.Cleanup(server.Close)
	consumer := newConsumer(t, s)
	insert := func() error {
		return s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			j, err := newJob(ctx, tx, consumer.ID)
			if err == nil {
				_, err = insertEvent(ctx, tx, j, 1, server.URL)
			}
			return err
		})
	}
	inserted := int64(2 * slots)
	for range inserted {
		if err := insert(); err != nil {
			t.Fatal(err)
		}
	}
	log := new(logtail.Buffer)
	sender := webhook.NewSender(s, webhook.Settings{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, MaxTries: slots, TryTimeout: time.Minute,
		Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { sender.Run(ctx) })
	defer func() { stop(); running.Wait() }()
	await.Until(t, "a post", func() bool { return arrived.Load() > 0 })

	hostile.FillDisk(t, dir)
	err := insert()
	for ; err == nil; err = insert() { // until the -wal file has no room that a checkpoint has freed
		inserted++
	}
	if !store.IsDiskFull(err) {
		t.Fatalf("a write on the full disk: %v", err)
	}
	close(full)
	await.Until(t, "claims fail", func() bool { return strings.Count(log.String(), "cannot find due work") >= 6 })
	if failures := strings.Count(log.String(), "level=ERROR"); failures > 40 {
		t.Errorf("%d errors: the sender does not pause", failures)
	}
	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "all events are sent and recorded", func() bool {
		_, waiting, err := s.NextDelivery(t.Context(), time.UnixMilli(0))
		return err == nil && !waiting
	})
	if arrived.Load() != inserted {
		t.Errorf("%d events were sent, %d were stored", arrived.Load(), inserted)
	}
	t.Logf("%d events, %d errors while the disk was full", inserted, strings.Count(log.String(), "level=ERROR"))
	for _, line := range strings.Split(strings.TrimSpace(log.String()), "\n") {
		if !strings.Contains(line, "disk is full") {
			t.Errorf("another error: %s", line)
		}
	}
}
