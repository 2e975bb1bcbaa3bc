package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// receiverTimeout is how long a round waits for its webhooks.
const receiverTimeout = 2 * time.Minute

// receivers are the servers of a consumer that acknowledge all webhooks. Each
// has its own port and therefore counts as a host of its own.
type receivers struct {
	servers  []*http.Server
	hosts    []string
	received atomic.Int64
	first    atomic.Int64 // time of the first delivery since reset, in Unix nanoseconds
	last     atomic.Int64
}

func newReceivers(ctx context.Context, count int) (*receivers, error) {
	r := new(receivers)
	for range count {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		server := &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
		r.servers, r.hosts = append(r.servers, server), append(r.hosts, listener.Addr().String())
		go func() { _ = server.Serve(listener) }() // until close
	}
	return r, nil
}

// ServeHTTP acknowledges a delivery.
func (r *receivers) ServeHTTP(_ http.ResponseWriter, request *http.Request) {
	_, _ = io.Copy(io.Discard, request.Body)
	now := time.Now().UnixNano()
	r.first.CompareAndSwap(0, now)
	r.last.Store(now)
	r.received.Add(1)
}

// url returns the address of a receiver.
func (r *receivers) url(n int) string {
	return fmt.Sprintf("http://%s/hooks/%d", r.hosts[n%len(r.hosts)], n)
}

func (r *receivers) reset() {
	r.received.Store(0)
	r.first.Store(0)
}

// await waits for a number of deliveries since reset.
func (r *receivers) await(ctx context.Context, count int) error {
	ctx, cancel := context.WithTimeout(ctx, receiverTimeout)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for r.received.Load() < int64(count) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d webhooks have arrived: %w", r.received.Load(), count, ctx.Err())
		}
	}
	return nil
}

// lastAt returns when the last delivery arrived.
func (r *receivers) lastAt() time.Time { return time.Unix(0, r.last.Load()) }

// span returns the time from the first delivery to the last.
func (r *receivers) span() time.Duration { return time.Duration(r.last.Load() - r.first.Load()) }

func (r *receivers) close() {
	for _, server := range r.servers {
		_ = server.Close()
	}
}
