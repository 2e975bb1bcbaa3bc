package streaming

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"standin/internal/recording/transcript"
)

// counting is a recognizer that hears a word for each 500 ms. Some of its calls fail.
type counting struct {
	mu    sync.Mutex
	fails []error       // one for each call that fails, once it has heard a word
	hold  chan struct{} // if set, calls begin when it is closed: after the end of the sound
}

func (c *counting) Model() string { return "counting" }

func (c *counting) Recognize(ctx context.Context, _ Options, in <-chan Audio, heard func(Result)) error {
	if c.hold != nil {
		<-c.hold
	}
	size := 0
	for audio := range in {
		size += len(audio.PCM)
		words := heardWords(size)
		if len(words) > 0 || audio.End {
			heard(Result{Utterance: audio.Utterance, Words: plainWords(strings.Join(words, " ")), Final: audio.End})
			c.mu.Lock()
			var fail error
			if len(c.fails) > 0 && len(words) > 0 {
				fail, c.fails = c.fails[0], c.fails[1:]
			}
			c.mu.Unlock()
			if fail != nil {
				return fail
			}
		}
		if audio.End {
			size = 0
		}
	}
	return ctx.Err()
}

// told is what a session stores and reports.
type told struct {
	t        *testing.T
	mu       sync.Mutex
	segments map[string]Segment
	refuse   int // writes
	failures []string
}

func (s *told) store(_ context.Context, segments []Segment) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse > 0 {
		s.refuse--
		return errors.New("the disk is full")
	}
	for _, segment := range segments {
		before := s.segments[segment.ID]
		if before.Final || segment.Revision <= before.Revision || segment.EndMs <= segment.StartMs {
			s.t.Errorf("%+v after %+v", segment, before)
		}
		s.segments[segment.ID] = segment
	}
	return nil
}

// lines returns the segments as text.
func (s *told) lines() []string {
	var lines []string
	for _, segment := range s.segments {
		lines = append(lines, fmt.Sprintf("%05d %s: %s %v", segment.StartMs, segment.Participant.Name, segment.Text, segment.Final))
	}
	slices.Sort(lines)
	return lines
}

// spoken is who speaks in a meeting.
type spoken struct {
	source         int    // 0: he is only seen to speak, in the mixed sound
	name           string // empty if unknown
	startMs, endMs int64
}

// run runs a session on a meeting of a length in which people speak. The mixed sound has
// all of them.
func run(t *testing.T, recognizer *counting, lengthMs int64, people []spoken, lostMs int64, refuse int) (*told, Summary) {
	t.Helper()
	var sounds []Sound
	loud, quiet := tone(20, 0.3), tone(20, 0)
	for at := int64(0); at < lengthMs; at += 20 {
		mixed := Sound{StartMs: at, PCM: quiet}
		for i, one := range people {
			s := Sound{Source: one.source, StartMs: at, PCM: quiet}
			if one.name != "" {
				s.Participant = Participant{ID: strings.ToLower(one.name), Name: one.name}
			}
			if at >= one.startMs && at < one.endMs {
				s.PCM, mixed.PCM = loud, loud
				if one.source == 0 {
					mixed.Speaker = s.Participant
				}
			}
			if one.source == 0 {
				continue
			}
			if i > 0 && people[i-1].source == one.source { // he speaks again
				if at < one.startMs {
					continue
				}
				sounds = sounds[:len(sounds)-1]
			}
			sounds = append(sounds, s)
		}
		sounds = append(sounds, mixed)
	}
	to := &told{t: t, segments: map[string]Segment{}, refuse: refuse}
	s := Session{Recognizer: recognizer, Prefix: "0-", Store: to.store, Failed: func(_ context.Context, err error) {
		to.failures = append(to.failures, err.Error())
	}}
	summary := s.Run(t.Context(), func(context.Context) (*Sound, int64, error) {
		if len(sounds) == 0 {
			if recognizer.hold != nil {
				close(recognizer.hold)
			}
			return nil, 0, io.EOF
		}
		next := sounds[0]
		sounds = sounds[1:]
		lost := lostMs
		lostMs = 0
		return &next, lost, nil
	})
	return to, summary
}

func TestSession(t *testing.T) {
	t.Parallel()
	ada, bob := spoken{1, "Ada", 1000, 3000}, spoken{2, "Bob", 5000, 7000}
	unknown := spoken{3, "", 9000, 11000}
	tests := map[string]struct {
		people   []spoken
		fails    []error
		lostMs   int64
		refuse   int
		want     []string
		failures []string
		complete bool
	}{
		"participants": {people: []spoken{ada, bob}, complete: true, want: []string{
			"00700 Ada: w0 w1 w2 w3 w4 w5 true", "04700 Bob: w0 w1 w2 w3 w4 w5 true",
		}},
		"a voice without an owner": {people: []spoken{ada, unknown}, complete: true, want: []string{
			"00700 Ada: w0 w1 w2 w3 w4 w5 true", "08700 : w0 w1 w2 w3 w4 w5 true",
		}},
		"only mixed sound": {people: []spoken{{3, "", 1000, 3000}}, complete: true, want: []string{"00700 : w0 w1 w2 w3 w4 w5 true"}},
		"seen in the mixed sound": {people: []spoken{{0, "Ada", 1000, 3000}, {0, "Bob", 5000, 7000}}, complete: true, want: []string{
			"00700 Ada: w0 w1 w2 w3 w4 w5 true", "04700 Bob: w0 w1 w2 w3 w4 w5 true",
		}},
		"seen for a moment": {
			people: []spoken{{0, "Ada", 1000, 1400}, {0, "", 1400, 3000}}, complete: true, want: []string{"00700 : w0 w1 w2 w3 w4 w5 true"},
		},
		"a failure": {people: []spoken{ada, {1, "Ada", 5000, 7000}}, fails: []error{&transcript.Error{Status: 503}}, want: []string{
			"00700 Ada: w0 true", "04700 Ada: w0 w1 w2 w3 w4 w5 true",
		}, failures: []string{"the transcriber answered with status 503"}},
		"sound that was lost": {people: []spoken{ada}, lostMs: 40, want: []string{"00700 Ada: w0 w1 w2 w3 w4 w5 true"}},
		"a full disk":         {people: []spoken{ada}, refuse: 1, complete: true, want: []string{"00700 Ada: w0 w1 w2 w3 w4 w5 true"}},
		"silence":             {people: []spoken{{1, "Ada", 0, 0}}, complete: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to, summary := run(t, &counting{fails: test.fails}, 13_000, test.people, test.lostMs, test.refuse)
			if !slices.Equal(to.lines(), test.want) || !slices.Equal(to.failures, test.failures) {
				t.Errorf("got %q and the failures %q, want %q and %q", to.lines(), to.failures, test.want, test.failures)
			}
			if summary.Complete() != test.complete || summary.FromMs != 0 || summary.ToMs != 13_000 {
				t.Errorf("summary %+v, want complete: %v", summary, test.complete)
			}
		})
	}
}

// TestSlowRecognizer checks that speech that waits for too long is lost, and counted.
func TestSlowRecognizer(t *testing.T) {
	t.Parallel()
	const length = 300_000
	_, summary := run(t, &counting{hold: make(chan struct{})}, length, []spoken{{1, "Ada", 1000, length - 1000}}, 0, 0)
	if summary.Complete() || summary.LostMs < length/3 || summary.LostMs > length {
		t.Errorf("summary %+v", summary)
	}
}

// crowded is a recognizer that counts its calls.
type crowded struct {
	counting
	calls, running, most atomic.Int32
}

func (c *crowded) Recognize(ctx context.Context, options Options, in <-chan Audio, heard func(Result)) error {
	c.calls.Add(1)
	c.mu.Lock()
	c.most.Store(max(c.most.Load(), c.running.Add(1)))
	c.mu.Unlock()
	defer c.running.Add(-1)
	return c.counting.Recognize(ctx, options, in, heard)
}

// TestAttackNames renames a participant 5,000 times within 100 seconds. Who has no source of
// his own is heard in the mixed sound, and sources without sound end.
func TestAttackNames(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	const names = 5000
	recognizer, loud := new(crowded), tone(20, 0.3)
	to := &told{t: t, segments: map[string]Segment{}}
	s := Session{Recognizer: recognizer, Store: to.store}
	before := heap()
	goroutines := runtime.NumGoroutine()
	n, deadline := 0, time.Now().Add(time.Minute) // a busy machine needs time to end idle sources
	s.Run(t.Context(), func(context.Context) (*Sound, int64, error) {
		if n++; n >= 2*names && (recognizer.calls.Load() > maxSources+1 || time.Now().After(deadline)) {
			if more := runtime.NumGoroutine() - goroutines; more > 4*maxSources {
				t.Errorf("%d more goroutines", more)
			}
			if more := heap() - before; more > 30<<20 {
				t.Errorf("%d more bytes of heap", more)
			}
			return nil, 0, io.EOF
		}
		sound := &Sound{Source: n % 2, StartMs: int64(n/2) * 20, PCM: loud}
		if sound.Source == 1 {
			sound.Participant = Participant{ID: "mallory", Name: fmt.Sprint("Mallory ", n)}
		}
		return sound, 0, nil
	})
	if most := recognizer.most.Load(); most > maxSources+1 {
		t.Errorf("%d sources at a time, want at most %d and the mixed sound", most, maxSources)
	}
	if calls := recognizer.calls.Load(); calls <= maxSources+1 || calls > 2*maxSources+1 {
		t.Errorf("%d sources in all, want some in the place of those that were idle", calls)
	}
	var heard int64
	for _, segment := range to.segments {
		heard += segment.EndMs - segment.StartMs
	}
	if heard < 90_000 {
		t.Errorf("%d ms of 100 s were heard", heard)
	}
}

// heap returns how many bytes of the heap are used.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc) //nolint:gosec // it is far smaller
}
