package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// listSink stores chunks and fails for the content "refuse".
type listSink struct {
	chunks []Chunk
}

var errRefused = errors.New("refused")

// Append implements Sink.
func (s *listSink) Append(chunk Chunk) error {
	if bytes.Equal(chunk.Data, []byte("refuse")) {
		return errRefused
	}
	s.chunks = append(s.chunks, chunk)
	return nil
}

// startTestServer starts a chunkServer that is closed when the test ends.
func startTestServer(t *testing.T) (*chunkServer, *listSink) {
	t.Helper()
	sink := &listSink{}
	s, err := startChunkServer(t.Context(), Settings{}.withDefaults(), sink)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s, sink
}

// send sends a request like the recorder tab, modified by change.
func send(t *testing.T, s *chunkServer, method, path, body string, change func(*http.Request)) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.origin()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Origin", s.origin())
	if change != nil {
		change(request)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// Closing the server does not wait for a connection that Chromium opened in advance.
func TestChunkServerClosesUnusedConnections(t *testing.T) {
	t.Parallel()
	s, _ := startTestServer(t)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	send(t, s, http.MethodGet, "/", "", nil) // the server has accepted the first connection
	began := time.Now()
	if err := s.close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > shutdownTimeout*4/5 {
		t.Errorf("close took %s", took)
	}
}

func TestChunkServerStoresEachChunkOnceInOrder(t *testing.T) {
	t.Parallel()
	s, sink := startTestServer(t)
	steps := []struct {
		path, body string
		want       int
		taken      int
	}{
		{"chunks/0?offset=500", "a", http.StatusNoContent, 1},
		{"chunks/0?offset=500", "a", http.StatusNoContent, 1}, // the response was lost
		{"chunks/2?offset=1500", "c", http.StatusConflict, 1},
		{"chunks/1?offset=1000", "refuse", http.StatusServiceUnavailable, 1},
		{"chunks/1?offset=1000", "b", http.StatusNoContent, 2},
		{"chunks/2?offset=1500", "c", http.StatusNoContent, 3},
		{"chunks/-1?offset=0", "x", http.StatusBadRequest, 3},
		{"chunks/x?offset=0", "x", http.StatusBadRequest, 3},
		{"chunks/3", "x", http.StatusBadRequest, 3},
		{"chunks/3?offset=-4", "x", http.StatusBadRequest, 3},
		{"status", "no JSON", http.StatusBadRequest, 3},
		{"status", `{"x":"` + strings.Repeat("y", maxReportBytes) + `"}`, http.StatusBadRequest, 3},
		{"end", "no JSON", http.StatusBadRequest, 3},
		{"nothing", "", http.StatusNotFound, 3},
	}
	for _, step := range steps {
		if got := send(t, s, http.MethodPost, "/"+s.token+"/"+step.path, step.body, nil); got != step.want {
			t.Errorf("POST %s = %d, want %d", step.path, got, step.want)
		}
		if len(sink.chunks) != step.taken {
			t.Fatalf("after POST %s the sink has %d chunks, want %d", step.path, len(sink.chunks), step.taken)
		}
	}
	var content string
	for _, chunk := range sink.chunks {
		content += string(chunk.Data)
	}
	if stats := s.stats(); content != "abc" || stats.Chunks != 3 || stats.Recorded != 1500*time.Millisecond {
		t.Errorf("stored %q, stats %+v", content, stats)
	}
}

func TestChunkServerRejectsOtherClients(t *testing.T) {
	t.Parallel()
	s, sink := startTestServer(t)
	otherToken := strings.Repeat("A", len(s.token))
	tests := map[string]struct {
		method, path string
		change       func(*http.Request)
		want         int
	}{
		"the page itself":      {http.MethodGet, "/" + s.token + "/", nil, http.StatusOK},
		"its script":           {http.MethodGet, "/" + s.token + "/recorder.js", nil, http.StatusOK},
		"no token":             {http.MethodGet, "/", nil, http.StatusNotFound},
		"another token":        {http.MethodGet, "/" + otherToken + "/", nil, http.StatusNotFound},
		"a part of the token":  {http.MethodGet, "/" + s.token[:5] + "/", nil, http.StatusNotFound},
		"chunk, another token": {http.MethodPost, "/" + otherToken + "/chunks/0?offset=0", nil, http.StatusNotFound},
		"another host name": {http.MethodGet, "/" + s.token + "/", func(r *http.Request) {
			r.Host = "rebound.example"
		}, http.StatusForbidden},
		"another origin": {http.MethodPost, "/" + s.token + "/chunks/0?offset=0", func(r *http.Request) {
			r.Header.Set("Origin", "https://meeting.example")
		}, http.StatusForbidden},
		"no origin": {http.MethodPost, "/" + s.token + "/chunks/0?offset=0", func(r *http.Request) {
			r.Header.Del("Origin")
		}, http.StatusForbidden},
	}
	for name, test := range tests {
		if got := send(t, s, test.method, test.path, "", test.change); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
	if len(sink.chunks) != 0 {
		t.Errorf("the sink got %d chunks from other clients", len(sink.chunks))
	}
	if host, _, _ := strings.Cut(s.listener.Addr().String(), ":"); host != "127.0.0.1" {
		t.Errorf("listening on %s", host)
	}
}

func TestChunkServerDetectsStall(t *testing.T) {
	t.Parallel()
	s, _ := startTestServer(t)
	const limit = 10 * time.Second
	start := time.Now()
	if err := s.checkStall(start.Add(time.Hour), limit); err != nil {
		t.Errorf("stalled before the recording started: %v", err)
	}
	s.resume(start)
	if err := s.checkStall(start.Add(limit), limit); err != nil {
		t.Errorf("stalled too early: %v", err)
	}
	s.appended(start, 0, errRefused)
	var stall *StallError
	if err := s.checkStall(start.Add(limit+1), limit); !errors.As(err, &stall) || !errors.Is(err, errRefused) || !stall.Since.Equal(start) {
		t.Errorf("checkStall = %v, want a StallError since the start with the error of the sink", err)
	}
	s.pause()
	if err := s.checkStall(start.Add(time.Hour), limit); err != nil {
		t.Errorf("stalled while paused: %v", err)
	}
	s.resume(start.Add(time.Hour))
	s.appended(start.Add(time.Hour+3*time.Second), time.Second, nil)
	if err := s.checkStall(start.Add(time.Hour+3*time.Second+limit), limit); err != nil {
		t.Errorf("stalled within the limit after a chunk: %v", err)
	}
}

func TestChunkServerPublishesFirstEnd(t *testing.T) {
	t.Parallel()
	s, _ := startTestServer(t)
	for _, reason := range []string{reasonCaptureEnded, reasonStopped} {
		if got := send(t, s, http.MethodPost, "/"+s.token+"/end", fmt.Sprintf(`{"reason":%q}`, reason), nil); got != http.StatusNoContent {
			t.Errorf("POST end = %d", got)
		}
	}
	if err := (<-s.ended).err(); !errors.Is(err, ErrCaptureEnded) {
		t.Errorf("ended with %v, want ErrCaptureEnded", err)
	}
	var failed *EncoderError
	if err := (endReport{Reason: "error", Detail: "no codec"}).err(); !errors.As(err, &failed) || !strings.Contains(err.Error(), "no codec") {
		t.Errorf("err of an encoder failure = %v", err)
	}
}

// FuzzChunkServer checks that whatever the recorder tab sends, which a page may have taken over,
// chunks are stored once and in sequence, and the statistics stay bounded.
func FuzzChunkServer(f *testing.F) {
	for _, requests := range []string{
		"chunks/0?offset=500 a\nchunks/0?offset=500 a\nchunks/2?offset=1 c\nchunks/1?offset=1 refuse\nchunks/1?offset=1 b\nend {\"reason\":\"stopped\"}",
		`status {"soundAgoMs":-1,"signalAgoMs":9e18,"pictureAgoMs":0,"width":-1,"soundChanges":[{"sound":true,"atMs":1e308,"agoMs":-1e308}]}`,
		"end {\"reason\":\"\"}\nchunks/9999999999999999999?offset=-0 x\nchunks/%30?offset=9223372036854775807 y\n../status {}",
	} {
		f.Add(requests)
	}
	f.Fuzz(func(t *testing.T, requests string) {
		sink := &listSink{}
		s := &chunkServer{sink: sink, token: "secret", listener: testListener{}, ended: make(chan endReport, 1)}
		routes := s.routes()
		for _, request := range strings.SplitN(requests, "\n", 100) {
			path, body, _ := strings.Cut(request, " ")
			r := httptest.NewRequest(http.MethodPost, s.origin(), strings.NewReader(body))
			r.Host = s.listener.Addr().String()
			r.Header.Set("Origin", s.origin())
			target, err := url.Parse(s.path() + path)
			if err != nil {
				continue
			}
			r.URL.Path, r.URL.RawPath, r.URL.RawQuery = target.Path, target.RawPath, target.RawQuery
			routes.ServeHTTP(httptest.NewRecorder(), r)
		}
		for i, chunk := range sink.chunks {
			if chunk.Sequence != i || chunk.Offset < 0 {
				t.Errorf("chunk %d is number %d at %s", i, chunk.Sequence, chunk.Offset)
			}
		}
		if stats := s.stats(); stats.Chunks != len(sink.chunks) || len(stats.SoundChanges) > maxSoundChanges {
			t.Errorf("%d chunks are stored: %+v", len(sink.chunks), stats)
		}
	})
}

// testListener has an address and no connections.
type testListener struct{ net.Listener }

func (testListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
