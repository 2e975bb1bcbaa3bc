package speech_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/budget"
	"standin/internal/base/dialguard"
	"standin/internal/recording/build"
	"standin/internal/recording/speech"
	"standin/internal/recording/wav"
)

// newFileMaker returns a maker that may fetch files from loopback.
func newFileMaker(t *testing.T) *speech.Maker {
	t.Helper()
	maker, err := speech.NewMaker(speech.Settings{
		Files: dialguard.Network{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, Dir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return maker
}

// TestTurns makes 20 sounds of one team whose files do not arrive: 4 are fetched, 8 wait,
// and the others are refused. A sound of another team is made meanwhile.
func TestTurns(t *testing.T) {
	t.Parallel()
	var fetching atomic.Int32
	arrive := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetching.Add(1)
		<-arrive
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(server.Close)
	maker, greedy := newFileMaker(t), uuid.New()
	results := make(chan error, 20)
	for range cap(results) {
		go func() {
			_, err := maker.Sound(t.Context(), greedy, speech.File{URI: server.URL})
			results <- err
		}()
	}
	for range 8 {
		if err := <-results; !errors.Is(err, budget.ErrFull) {
			t.Errorf("one of many sounds: %v, want %v", err, budget.ErrFull)
		}
	}
	if n := fetching.Load(); n > 4 {
		t.Errorf("%d files of a team are fetched", n)
	}
	if _, err := build.FindTools(); err == nil {
		if _, err := maker.Sound(t.Context(), uuid.New(), speech.File{Data: wav.Encode(make([]byte, 32_000), 16_000)}); err != nil {
			t.Errorf("another team's sound: %v", err)
		}
	}
	close(arrive)
	for range 12 {
		if err := <-results; err == nil || !strings.Contains(err.Error(), "answered 418") {
			t.Errorf("a file that arrived: %v", err)
		}
	}
}

// TestAttackSlowFiles makes 40 sounds of one team whose files arrive byte by byte, and one
// of another team.
func TestAttackSlowFiles(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: make check-long")
	}
	if _, err := build.FindTools(); err != nil {
		t.Skip(err)
	}
	sound := wav.Encode(make([]byte, 32_000), 16_000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fast" {
			_, _ = w.Write(sound)
			return
		}
		for _, b := range sound {
			if _, err := w.Write([]byte{b}); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	maker, greedy := newFileMaker(t), uuid.New()
	results := make(chan error, 40)
	for range cap(results) {
		go func() {
			_, err := maker.Sound(t.Context(), greedy, speech.File{URI: server.URL + "/slow"})
			results <- err
		}()
	}
	for range 28 {
		if err := <-results; !errors.Is(err, budget.ErrFull) {
			t.Errorf("one of many sounds: %v, want %v", err, budget.ErrFull)
		}
	}
	began := time.Now()
	if _, err := maker.Sound(t.Context(), uuid.New(), speech.File{URI: server.URL + "/fast"}); err != nil {
		t.Errorf("another team's sound: %v", err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("another team's sound took %s", took)
	}
	for range 12 {
		if err := <-results; err == nil || !strings.Contains(err.Error(), "it arrives slower than 16 kB/s") {
			t.Errorf("a slow file: %v", err)
		}
	}
	t.Logf("all ended after %s", time.Since(began))
}
