package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/budget"
	"standin/internal/jobs/job"
	"standin/internal/server/httpapi"
	"standin/internal/server/live"
	"standin/internal/store"
	"standin/internal/testing/await"
)

// liveSurface is a surface with a hub and a job of ada.
type liveSurface struct {
	*surface
	hub *live.Hub
	id  uuid.UUID
	key string // of the listeners
}

func newLiveSurface(t *testing.T, change func(*httpapi.Settings)) *liveSurface {
	t.Helper()
	l := &liveSurface{key: adasKey, id: newAdaJob}
	l.surface = newSurface(t, func(settings *httpapi.Settings) {
		l.hub = live.NewHub(settings.Jobs.Store, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			l.hub.Run(ctx)
		}()
		t.Cleanup(func() {
			stop()
			<-ended
		})
		settings.Live = l.hub
		change(settings)
	})
	return l
}

// caption stores a caption.
func (l *liveSurface) caption(t *testing.T, id, text string) {
	t.Helper()
	err := l.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.AppendTexts(ctx, l.id, []job.MeetingText{{
			Kind: job.CaptionText, ID: id, Author: "Eve\r\nid: 7", Text: text, StartedAt: time.UnixMilli(1000), EndedAt: time.UnixMilli(2000),
		}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	l.hub.Wake(l.id)
}

// follow opens a stream after an event.
func (l *liveSurface) follow(t *testing.T, client *http.Client, after string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.url+"/api/v1/jobs/"+l.id.String()+"/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+l.key)
	if after != "" {
		request.Header.Set("Last-Event-ID", after)
	}
	return client.Do(request)
}

// next returns the next event of a stream: its id, name and data.
func next(t *testing.T, stream *bufio.Reader) (id, name, data string) {
	t.Helper()
	for {
		text, err := stream.ReadString('\n')
		if err != nil {
			t.Fatalf("the stream ended: %v", err)
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(text, "\n"), ": ")
		switch field {
		case "id":
			id = value
		case "event":
			name = value
		case "data":
			data = value
		case "":
			if name != "" {
				return id, name, data
			}
		}
	}
}

// TestLive follows a job, reconnects, and reads the rest after its end.
func TestLive(t *testing.T) {
	t.Parallel()
	l := newLiveSurface(t, func(*httpapi.Settings) {})
	l.caption(t, "1", "hello\n\nevent: end")
	response, err := l.follow(t, http.DefaultClient, "")
	if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("got %v (%v)", response, err)
	}
	defer response.Body.Close()
	stream := bufio.NewReader(response.Body)
	first, name, data := next(t, stream)
	if name == "state" {
		first, name, data = next(t, stream)
	}
	if name != "caption" || !strings.Contains(data, `"text":"hello\n\nevent: end"`) || !strings.Contains(data, `"author":"Eve\r\nid: 7"`) {
		t.Fatalf("got %s %s, want the caption", name, data)
	}
	l.caption(t, "1", "hello there")
	last, name, data := next(t, stream)
	if name != "caption" || !strings.Contains(data, `"id":"0-1"`) || !strings.Contains(data, "hello there") {
		t.Fatalf("got %s %s, want the correction", name, data)
	}
	response.Body.Close()
	if err := l.jobs.Cancel(t.Context(), l.ada, l.id); err != nil {
		t.Fatal(err)
	}
	l.hub.Wake(l.id)
	response, err = l.follow(t, http.DefaultClient, first)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	stream = bufio.NewReader(response.Body)
	names := []string{}
	for name = ""; name != "end"; names = append(names, name) {
		last, name, data = next(t, stream)
	}
	if got := strings.Join(names, " "); got != "caption state end" || data != `{"type":"end","status":"cancelled"}` {
		t.Errorf("after the first caption: %v, %s", names, data)
	}
	if _, err := stream.ReadByte(); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
	response, err = l.follow(t, http.DefaultClient, last)
	if err != nil || response.StatusCode != http.StatusNoContent {
		t.Errorf("with the last ID: %v (%v)", response, err)
	}
	response, err = l.follow(t, http.DefaultClient, "x.1")
	if err != nil || response.StatusCode != http.StatusBadRequest {
		t.Errorf("with a malformed ID: %v (%v)", response, err)
	}
}

// TestLiveListeners follows one job with 500 listeners, of which 25 do not read.
// These are disconnected, all others get every event, and the memory of the
// process does not grow with the events. No other test runs at the same time, because
// it would use the same heap.
func TestLiveListeners(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make check-long")
	}
	const fast, slow, captions = 475, 25, 60
	var otherKey string // of ada's consumer
	l := newLiveSurface(t, func(settings *httpapi.Settings) {
		_, otherKey, _ = settings.Keys.Issue(t.Context(), "ada", "", job.Live)
		settings.Streams = budget.New(fast+slow+1, fast+slow, 0)
		settings.Timeouts.Stall = 10 * time.Second
	})
	server := httptest.NewUnstartedServer(l.api)
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(4 << 10)
		return ctx
	}
	server.Start()
	defer server.Close()
	l.url = server.URL
	smallBuffer := func(_, _ string, c syscall.RawConn) (err error) {
		control := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10) })
		if control != nil {
			return control
		}
		return err
	}
	readers := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	stalled := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{Control: smallBuffer}).DialContext}}
	l.caption(t, "first", "first")
	var got atomic.Int64
	done := make(chan error, fast)
	for range fast {
		go func() {
			response, err := l.follow(t, readers, "")
			if err != nil {
				done <- err
				return
			}
			defer response.Body.Close()
			stream := bufio.NewReader(response.Body)
			for seen := 0; seen < captions+1; {
				text, err := stream.ReadString('\n')
				if err != nil {
					done <- fmt.Errorf("after %d captions: %w", seen, err)
					return
				}
				if text == "event: caption\n" {
					seen++
					got.Add(1)
				}
			}
			done <- nil
		}()
	}
	var dropped []*http.Response
	for range slow {
		response, err := l.follow(t, stalled, "")
		if err != nil {
			t.Fatal(err)
		}
		dropped = append(dropped, response)
		defer response.Body.Close()
	}
	await.Until(t, "the first caption", func() bool { return got.Load() == fast })
	l.key = otherKey
	response, err := l.follow(t, readers, "")
	if err != nil || response.StatusCode != http.StatusTooManyRequests {
		t.Errorf("one more listener, with another key: %v (%v), want 429", response, err)
	}
	before := heap()
	text := strings.Repeat("x", 4<<10)
	for i := range captions {
		l.caption(t, fmt.Sprint(i), text)
	}
	for range fast {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	after := heap()
	t.Logf("%d events to %d listeners; heap before %d KiB, after %d KiB", captions, fast, before>>10, after>>10)
	// Each caption queued for each listener would be 111 MiB.
	if after > before+90<<20 {
		t.Errorf("the heap grew from %d to %d KiB", before>>10, after>>10)
	}
	await.Until(t, "the end of all streams", func() bool { return strings.Count(l.log.String(), "/live\"") >= fast+slow+1 })
	for _, response := range dropped {
		text, err := io.ReadAll(response.Body) // what was in the buffers
		if err == nil || strings.Count(string(text), "event: caption\n") > captions {
			t.Errorf("a listener that did not read got %d bytes and no error", len(text))
		}
	}
}

// heap returns the bytes of live objects.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
