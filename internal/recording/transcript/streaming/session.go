package streaming

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"standin/internal/base/retry"
	"standin/internal/recording/transcript"
)

const (
	// maxQueued bounds the pieces of a source that wait for the recognizer: more than
	// two minutes of speech.
	maxQueued = 1500
	// minReconnect and maxReconnect bound the pause after a failure.
	minReconnect, maxReconnect = time.Second, 30 * time.Second
	// maxSources bounds the sources of participants that run at a time, each with its
	// connection to the recognizer: a page can show any number of names. Others
	// are heard in the mixed sound. A source ends after idleMs without sound.
	maxSources = 64
	idleMs     = 60_000
	// storeInterval is the shortest time between two writes of what was heard.
	storeInterval = 250 * time.Millisecond
	// maxSeen bounds the utterances of which it is known who was seen to speak.
	maxSeen = 100
	// lastTries is how often the last write is tried again.
	lastTries = 5
	// mixedDelayMs is how long mixed sound waits for that of the participants, and
	// ownedMs how long after sound of a participant the mixed sound is his.
	mixedDelayMs = 300
	ownedMs      = 500
)

// Sound is sound of a meeting.
type Sound struct {
	Source      int         // 0: mixed
	Participant Participant // of another source; zero if unknown
	Speaker     Participant // who is seen to speak in the mixed sound; zero if unknown
	StartMs     int64       // since the start of the recording
	PCM         []byte      // at SampleRate
}

// Participant is whose sound a source is.
type Participant struct{ ID, Name string }

// Segment is an utterance as it is stored. Times are milliseconds since the start of the
// recording.
type Segment struct {
	ID          string // the same for each revision
	Revision    int    // from 1
	Final       bool
	Participant Participant // zero if unknown
	Mixed       bool        // it was heard in the mixed sound; Participant was seen to speak for most of it
	StartMs     int64
	EndMs       int64
	Text        string // empty if nothing was said after all
	Words       []transcript.Word
	Confirmed   int // how many of the first words do not change any more
}

// Summary is what became of the speech of a meeting.
type Summary struct {
	FromMs, ToMs int64 // the sound that was heard
	LostMs       int64 // sound that could not be recognized
	Failures     int   // of the recognizer
}

// Complete reports whether all sound was recognized.
func (s Summary) Complete() bool { return s.LostMs == 0 && s.Failures == 0 }

// Session recognizes the speech of one meeting.
type Session struct {
	Recognizer Recognizer
	Options    Options
	// Prefix begins the ids of segments.
	Prefix string
	// Store stores segments that are new or have changed. It is tried again when it fails.
	Store func(ctx context.Context, segments []Segment) error
	// Failed reports the first failure of the recognizer in a row. It may be nil.
	Failed func(ctx context.Context, err error)

	metrics *metrics // nil: not those of other meetings
	mu      sync.Mutex
	changed map[string]Segment // not yet stored
	wake    retry.Signal
	summary Summary
	failing bool
}

// Run recognizes sound until next returns an error other than that of ctx, such as io.EOF,
// and what was said is stored. It returns what became of the speech. A nil sound ends the
// utterances so far.
func (s *Session) Run(ctx context.Context, next func(context.Context) (sound *Sound, lostMs int64, err error)) Summary {
	s.changed, s.wake, s.metrics = make(map[string]Segment), retry.NewSignal(), cmp.Or(s.metrics, newMetrics())
	s.summary.FromMs = -1
	storing, stopStoring := context.WithCancel(ctx)
	var stored sync.WaitGroup
	stored.Go(func() { s.store(storing) })
	r := router{session: s, sources: make(map[sourceKey]*source), slots: semaphore.NewWeighted(maxSources)}
	for {
		sound, lost, err := next(ctx)
		if err != nil {
			break
		}
		s.lost(lost)
		if sound == nil {
			r.pause(ctx)
			continue
		}
		endMs := sound.StartMs + int64(len(sound.PCM))/bytesPerMs
		r.session.mu.Lock()
		if r.session.summary.FromMs < 0 {
			r.session.summary.FromMs = sound.StartMs
		}
		r.session.summary.ToMs = max(r.session.summary.ToMs, endMs)
		r.session.mu.Unlock()
		switch {
		case sound.Source == 0:
			r.mixed = append(r.mixed, *sound)
		case sound.Participant != Participant{}:
			source := r.source(ctx, *sound)
			if source == nil {
				break
			}
			if rms(sound.PCM) >= minLevel {
				r.ownedMs = max(r.ownedMs, endMs+ownedMs)
			}
			source.add(*sound)
		}
		r.endSilent(endMs - mixedDelayMs)
		for len(r.mixed) > 0 && r.mixed[0].StartMs+mixedDelayMs <= endMs {
			r.addMixed(ctx, r.mixed[0])
			r.mixed = r.mixed[1:]
		}
	}
	r.pause(ctx)
	r.running.Wait() // until their speech is recognized
	stopStoring()
	stored.Wait()
	err := s.flush(context.WithoutCancel(ctx))
	for range lastTries {
		if err == nil || retry.Sleep(ctx, minReconnect) != nil {
			break
		}
		err = s.flush(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.summary.Failures++
	}
	s.summary.FromMs = max(s.summary.FromMs, 0)
	return s.summary
}

func (s *Session) lost(ms int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.summary.LostMs += ms
}

// router divides sound by source.
type router struct {
	session *Session
	sources map[sourceKey]*source // that are open
	opened  int                   // sources so far
	slots   *semaphore.Weighted   // of sources of participants, until they have ended
	mixed   []Sound               // that waits for sound of participants
	ownedMs int64                 // until when the mixed sound is that of known participants
	running sync.WaitGroup
}

type sourceKey struct {
	source      int
	participant Participant
}

// endSilent ends the utterances of participants whose sound stopped before a time, as silence
// is not sent, and the sources that have been idle since.
func (r *router) endSilent(ms int64) {
	for key, source := range r.sources {
		silence := ms - source.utterances.nextMs
		if silence > pauseMs {
			source.push(source.utterances.End())
		}
		if silence > idleMs {
			close(source.queue)
			delete(r.sources, key)
		}
	}
}

// pause ends all utterances and sources.
func (r *router) pause(ctx context.Context) {
	for _, sound := range r.mixed {
		r.addMixed(ctx, sound)
	}
	r.mixed = nil
	r.endSilent(math.MaxInt64)
}

func (r *router) addMixed(ctx context.Context, sound Sound) {
	if sound.StartMs < r.ownedMs {
		sound.PCM = make([]byte, len(sound.PCM))
	}
	r.source(ctx, sound).add(sound)
}

// source returns the source of sound; nil if too many of participants run.
func (r *router) source(ctx context.Context, sound Sound) *source {
	key := sourceKey{sound.Source, sound.Participant}
	if known, ok := r.sources[key]; ok {
		return known
	}
	mixed := sound.Source == 0
	if !mixed && !r.slots.TryAcquire(1) {
		return nil
	}
	added := &source{
		session: r.session, name: fmt.Sprintf("%s%d", r.session.Prefix, r.opened),
		mixed: mixed, participant: sound.Participant, queue: make(chan Audio, maxQueued),
		open: make(map[int]Segment), seen: make(map[int]map[Participant]int64), ends: make(map[int]time.Time),
	}
	r.opened++
	r.sources[key] = added
	r.running.Go(func() {
		added.run(ctx)
		if !mixed {
			r.slots.Release(1)
		}
	})
	return added
}

// failed counts a failure, and reports the first one in a row.
func (s *Session) failed(ctx context.Context, err error) {
	s.mu.Lock()
	first := !s.failing
	s.failing = true
	s.summary.Failures++
	s.mu.Unlock()
	s.metrics.failures.Inc()
	if first && s.Failed != nil {
		s.Failed(ctx, err)
	}
}

// change notes that a segment is to be stored. The caller holds mu.
func (s *Session) change(segment Segment) {
	s.changed[segment.ID] = segment
	s.wake.Send()
}

// store stores changed segments until ctx ends.
func (s *Session) store(ctx context.Context) {
	backoff := retry.Backoff{Min: minReconnect, Max: maxReconnect}
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
		pause := storeInterval
		if s.flush(ctx) != nil {
			pause = backoff.Next()
		} else {
			backoff.Reset()
		}
		if retry.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// flush stores the changed segments.
func (s *Session) flush(ctx context.Context) error {
	s.mu.Lock()
	changed := s.changed
	s.changed = make(map[string]Segment)
	s.mu.Unlock()
	if len(changed) == 0 {
		return nil
	}
	ordered := slices.SortedFunc(maps.Values(changed), func(a, b Segment) int {
		return cmp.Or(cmp.Compare(a.StartMs, b.StartMs), cmp.Compare(a.ID, b.ID))
	})
	err := s.Store(ctx, ordered)
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, segment := range ordered {
		if _, newer := s.changed[segment.ID]; !newer {
			s.change(segment)
		}
	}
	return err
}
