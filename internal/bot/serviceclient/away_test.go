package serviceclient_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/serviceclient"
	"standin/internal/jobs/job"
	"standin/internal/testing/ingesttest"
)

// memoryNetwork carries HTTP between a bot and its service in memory, so that it
// works with a fake clock. It can be disconnected.
type memoryNetwork struct {
	accepted chan net.Conn
	closed   chan struct{}

	mu    sync.Mutex
	down  bool
	conns []net.Conn
}

func newMemoryNetwork() *memoryNetwork {
	return &memoryNetwork{accepted: make(chan net.Conn), closed: make(chan struct{})}
}

var errDown = errors.New("the network is down")

// dial is for the bot.
func (n *memoryNetwork) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	n.mu.Lock()
	down := n.down
	botSide, serviceSide := net.Pipe()
	n.conns = append(n.conns, botSide)
	n.mu.Unlock()
	if down {
		return nil, errDown
	}
	select {
	case n.accepted <- serviceSide:
		return botSide, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// setDown disconnects or reconnects the network, and closes all connections.
func (n *memoryNetwork) setDown(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
	for _, conn := range n.conns {
		_ = conn.Close()
	}
	n.conns = nil
}

// Accept, Close and Addr implement net.Listener for the service.
func (n *memoryNetwork) Accept() (net.Conn, error) {
	select {
	case conn := <-n.accepted:
		return conn, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *memoryNetwork) Close() error   { close(n.closed); return nil }
func (n *memoryNetwork) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// TestServiceAwayForAnHour records while the service is away for an hour. The bot
// continues, and within seconds of the service's return everything is delivered,
// in order.
func TestServiceAwayForAnHour(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		const interval, length, limit = 10 * time.Second, time.Hour, 15 * time.Second
		n := newMemoryNetwork()
		s := &service{Service: ingesttest.New(t, jobID, attempt, token)}
		server := &http.Server{Handler: s.Handler()}
		go func() { _ = server.Serve(n) }()
		defer server.Close()
		b := startBotWith(t, s, dir, func(settings *serviceclient.Settings) {
			settings.ServiceURL = "http://service.test"
			settings.Transport = &http.Transport{DialContext: n.dial}
			settings.RetryMin, settings.RetryMax = 0, 0 // the defaults
		})
		b.emit(job.BotJoined, job.BotInMeeting, job.BotRecordingStarted)
		b.record(0, "0")
		b.flush()
		s.Set(func() {
			if len(s.Events) != 3 || len(s.Media) != 1 {
				t.Fatalf("before: %d events and %d files", len(s.Events), len(s.Media))
			}
		})

		n.setDown(true)
		segments := int(length / interval)
		for i := range segments {
			time.Sleep(interval) // of the fake clock
			b.record(i+1, "more")
			select {
			case <-b.client.Done():
				t.Fatalf("after %v the bot is terminated: %+v", time.Duration(i)*interval, b.client.Termination())
			default:
			}
		}
		b.emit(job.BotRecordingStopped)
		n.setDown(false)
		back := time.Now()
		b.flush()
		if took := time.Since(back); took > limit {
			t.Errorf("delivered %v after the service's return, want at most %v", took, limit)
		}
		s.Set(func() {
			want := []job.Trigger{job.BotJoined, job.BotInMeeting, job.BotRecordingStarted, job.BotRecordingStopped}
			if !slices.Equal(s.EventKinds(), want) || s.Duplicates > 0 {
				t.Errorf("the service applied %v and received %d duplicates, want %v", s.EventKinds(), s.Duplicates, want)
			}
			for i := range segments + 1 {
				if _, there := s.Media[ingest.SegmentName(0, i)]; !there {
					t.Errorf("segment %d is missing", i)
				}
			}
		})
		b.kill()
		b.awaitEnd()
	})
}
