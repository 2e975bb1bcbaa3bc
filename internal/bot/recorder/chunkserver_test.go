package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// listSink keeps chunks in order and refuses those that hold the word refuse.
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

// openIntake opens an intake that is closed with the test.
func openIntake(t *testing.T) (*intake, *listSink) {
	t.Helper()
	sink := &listSink{}
	i, err := listen(t.Context(), Settings{}.withDefaults(), sink)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return i, sink
}

// ask sends a request as the recorder tab would, after it was changed.
func ask(t *testing.T, i *intake, method, path, body string, change func(*http.Request)) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, i.origin()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Origin", i.origin())
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

func TestIntakeTakesEachChunkOnceInOrder(t *testing.T) {
	t.Parallel()
	i, sink := openIntake(t)
	steps := []struct {
		path, body string
		want       int
		taken      int
	}{
		{"chunks/0?offset=500", "a", http.StatusNoContent, 1},
		{"chunks/0?offset=500", "a", http.StatusNoContent, 1}, // the acknowledgement was lost
		{"chunks/2?offset=1500", "c", http.StatusConflict, 1},
		{"chunks/1?offset=1000", "refuse", http.StatusServiceUnavailable, 1},
		{"chunks/1?offset=1000", "b", http.StatusNoContent, 2},
		{"chunks/2?offset=1500", "c", http.StatusNoContent, 3},
		{"chunks/-1?offset=0", "x", http.StatusBadRequest, 3},
		{"chunks/x?offset=0", "x", http.StatusBadRequest, 3},
		{"chunks/3", "x", http.StatusBadRequest, 3},
		{"chunks/3?offset=-4", "x", http.StatusBadRequest, 3},
		{"pulse", "no JSON", http.StatusBadRequest, 3},
		{"pulse", `{"x":"` + strings.Repeat("y", largestReport) + `"}`, http.StatusBadRequest, 3},
		{"end", "no JSON", http.StatusBadRequest, 3},
		{"nothing", "", http.StatusNotFound, 3},
	}
	for _, step := range steps {
		if got := ask(t, i, http.MethodPost, "/"+i.token+"/"+step.path, step.body, nil); got != step.want {
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
	if stats := i.stats(); content != "abc" || stats.Chunks != 3 || stats.Bytes != 3 || stats.Recorded != 1500*time.Millisecond {
		t.Errorf("took %q, stats %+v", content, stats)
	}
}

func TestIntakeAnswersOnlyTheRecorderTab(t *testing.T) {
	t.Parallel()
	i, sink := openIntake(t)
	otherToken := strings.Repeat("A", len(i.token))
	tests := map[string]struct {
		method, path string
		change       func(*http.Request)
		want         int
	}{
		"the page itself":      {http.MethodGet, "/" + i.token + "/", nil, http.StatusOK},
		"its script":           {http.MethodGet, "/" + i.token + "/recorder.js", nil, http.StatusOK},
		"no token":             {http.MethodGet, "/", nil, http.StatusNotFound},
		"another token":        {http.MethodGet, "/" + otherToken + "/", nil, http.StatusNotFound},
		"a part of the token":  {http.MethodGet, "/" + i.token[:5] + "/", nil, http.StatusNotFound},
		"chunk, another token": {http.MethodPost, "/" + otherToken + "/chunks/0?offset=0", nil, http.StatusNotFound},
		"another host name": {http.MethodGet, "/" + i.token + "/", func(r *http.Request) {
			r.Host = "rebound.example"
		}, http.StatusForbidden},
		"another origin": {http.MethodPost, "/" + i.token + "/chunks/0?offset=0", func(r *http.Request) {
			r.Header.Set("Origin", "https://meeting.example")
		}, http.StatusForbidden},
		"no origin": {http.MethodPost, "/" + i.token + "/chunks/0?offset=0", func(r *http.Request) {
			r.Header.Del("Origin")
		}, http.StatusForbidden},
	}
	for name, test := range tests {
		if got := ask(t, i, test.method, test.path, "", test.change); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
	if len(sink.chunks) != 0 {
		t.Errorf("the sink got %d chunks from strangers", len(sink.chunks))
	}
	if host, _, _ := strings.Cut(i.listener.Addr().String(), ":"); host != "127.0.0.1" {
		t.Errorf("listening on %s", host)
	}
}

func TestIntakeWatchesTheFlow(t *testing.T) {
	t.Parallel()
	i, _ := openIntake(t)
	const limit = 10 * time.Second
	start := time.Now()
	if err := i.stalled(start.Add(time.Hour), limit); err != nil {
		t.Errorf("stalled before the recording began: %v", err)
	}
	i.resume(start)
	if err := i.stalled(start.Add(limit), limit); err != nil {
		t.Errorf("stalled too early: %v", err)
	}
	i.refused(errRefused)
	var stall *StallError
	if err := i.stalled(start.Add(limit+1), limit); !errors.As(err, &stall) || !errors.Is(err, errRefused) || !stall.Since.Equal(start) {
		t.Errorf("stalled = %v, want a StallError since the start with the sink's failure", err)
	}
	i.pause()
	if err := i.stalled(start.Add(time.Hour), limit); err != nil {
		t.Errorf("stalled while paused: %v", err)
	}
	i.resume(start.Add(time.Hour))
	i.accepted(start.Add(time.Hour+3*time.Second), time.Second, 1)
	if gap := i.stats().LongestGap; gap != 3*time.Second {
		t.Errorf("longest gap %v, want 3 s: the pause is none", gap)
	}
}

func TestIntakePassesOnTheFirstEnd(t *testing.T) {
	t.Parallel()
	i, _ := openIntake(t)
	for _, reason := range []string{reasonCaptureEnded, reasonStopped} {
		if got := ask(t, i, http.MethodPost, "/"+i.token+"/end", fmt.Sprintf(`{"reason":%q}`, reason), nil); got != http.StatusNoContent {
			t.Errorf("POST end = %d", got)
		}
	}
	if err := (<-i.ended).err(); !errors.Is(err, ErrCaptureEnded) {
		t.Errorf("ended with %v, want ErrCaptureEnded", err)
	}
	var failed *EncoderError
	if err := (endReport{Reason: "error", Detail: "no codec"}).err(); !errors.As(err, &failed) || !strings.Contains(err.Error(), "no codec") {
		t.Errorf("an encoder's failure is %v", err)
	}
}
