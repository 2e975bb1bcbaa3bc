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

	"standin/internal/bot/serviceclient"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/testing/ingesttest"
)

// wire carries HTTP between a bot and its service within the memory, so that a
// test's clock is all that passes. It can be cut.
type wire struct {
	accepted chan net.Conn
	closed   chan struct{}

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func newWire() *wire { return &wire{accepted: make(chan net.Conn), closed: make(chan struct{})} }

var errCut = errors.New("the wire is cut")

// dial is the bot's side.
func (w *wire) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	w.mu.Lock()
	cut := w.cut
	bots, services := net.Pipe()
	w.conns = append(w.conns, bots)
	w.mu.Unlock()
	if cut {
		return nil, errCut
	}
	select {
	case w.accepted <- services:
		return bots, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// set cuts the wire, and all that goes on over it, or mends it.
func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for _, conn := range w.conns {
		_ = conn.Close()
	}
	w.conns = nil
}

// Accept, Close and Addr are the service's side: a net.Listener.
func (w *wire) Accept() (net.Conn, error) {
	select {
	case conn := <-w.accepted:
		return conn, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error   { close(w.closed); return nil }
func (w *wire) Addr() net.Addr { return &net.UnixAddr{Name: "wire"} }

// TestAnHourAway records through an hour in which there is no service. The bot
// goes on, and within seconds of the service's return everything is there, in
// order.
func TestAnHourAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		const every, length, soon = 10 * time.Second, time.Hour, 15 * time.Second
		w := newWire()
		s := &service{Service: ingesttest.New(t, jobID, attempt, token)}
		server := &http.Server{Handler: s.Handler()}
		go func() { _ = server.Serve(w) }()
		defer server.Close()
		b := startBotWith(t, s, dir, func(settings *serviceclient.Settings) {
			settings.ServiceURL = "http://service.test"
			settings.HTTPClient = &http.Client{Transport: &http.Transport{DialContext: w.dial}}
			settings.RetryMin, settings.RetryMax = 0, 0 // the usual ones
		})
		b.emit(job.BotJoined, job.BotInMeeting, job.BotRecordingStarted)
		b.record(0, "0")
		b.flush()
		s.Set(func() {
			if len(s.Events) != 3 || len(s.Media) != 1 {
				t.Fatalf("before: %d events and %d files", len(s.Events), len(s.Media))
			}
		})

		w.set(true)
		segments := int(length / every)
		for n := range segments {
			time.Sleep(every) // on the bubble's clock
			b.record(n+1, "more")
			select {
			case <-b.channel.Done():
				t.Fatalf("after %v the absence is taken for a verdict: %+v", time.Duration(n)*every, b.channel.Termination())
			default:
			}
		}
		b.emit(job.BotRecordingStopped)
		w.set(false)
		back := time.Now()
		b.flush()
		if took := time.Since(back); took > soon {
			t.Errorf("everything is there %v after the service's return, want at most %v", took, soon)
		}
		s.Set(func() {
			want := []job.Trigger{job.BotJoined, job.BotInMeeting, job.BotRecordingStarted, job.BotRecordingStopped}
			if !slices.Equal(s.EventKinds(), want) || s.Duplicates > 0 {
				t.Errorf("the service applied %v and saw %d repeats, want %v", s.EventKinds(), s.Duplicates, want)
			}
			for n := range segments + 1 {
				if _, there := s.Media[ingest.SegmentName(0, n)]; !there {
					t.Errorf("segment %d is missing", n)
				}
			}
		})
		b.kill()
		b.awaitEnd()
	})
}
