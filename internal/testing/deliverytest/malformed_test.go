package deliverytest

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"standin/internal/store"
	"standin/internal/testing/storetest"
	"standin/internal/webhook"
)

// TestMalformedResponse: what a receiver sends instead of HTTP is quoted in the error of a
// try. Wherever that error is cut, it is stored, and so are the results of others.
func TestMalformedResponse(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, cluster, func(t *testing.T, address string) {
		s := openStore(t, address)
		var delivered atomic.Int32
		healthy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { delivered.Add(1) }))
		t.Cleanup(healthy.Close)
		consumer := newConsumer(t, s)
		urls := []string{healthy.URL}
		for _, line := range []string{strings.Repeat("é", 1000), "x" + strings.Repeat("é", 1000), "\u202e\x00" + strings.Repeat("\xff", 1000)} {
			urls = append(urls, malformed(t, line))
		}
		var deliveries []webhook.Delivery
		err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			deliveries = nil
			for _, url := range urls {
				j, err := newJob(ctx, tx, consumer.ID)
				if err != nil {
					return err
				}
				d, err := insertEvent(ctx, tx, j, 1, url)
				if err != nil {
					return err
				}
				deliveries = append(deliveries, d)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		sender := webhook.NewSender(s, webhook.Settings{
			Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Poll: 5 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
		})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { sender.Run(ctx) })
		defer func() { stop(); running.Wait() }()
		for i, d := range deliveries {
			until(t, "the try to receiver "+urls[i]+" is stored", func() bool {
				record, err := s.Delivery(t.Context(), d.JobID, d.ID, time.Now())
				if err != nil {
					t.Fatal(err)
				}
				if i > 0 && len(record.Tries) > 0 && !strings.Contains(record.Tries[0].Error, "malformed HTTP") {
					t.Fatalf("error %q, want one that names a malformed response", record.Tries[0].Error)
				}
				return len(record.Tries) > 0
			})
		}
		if n := delivered.Load(); n != 1 {
			t.Errorf("the healthy receiver got %d requests, want 1", n)
		}
	})
}

// malformed starts a receiver that answers each connection with a line instead of HTTP, and
// returns its URL.
func malformed(t *testing.T, line string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = connection.Read(make([]byte, 1))
			_, _ = connection.Write([]byte(line + "\r\n\r\n"))
			_ = connection.Close()
		}
	}()
	return "http://" + listener.Addr().String()
}
