package streaming

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"standin/internal/retry"
	"standin/internal/transcript"
)

const (
	// maxQueued bounds the pieces of a source that wait for the recognizer: more than
	// two minutes of speech.
	maxQueued = 1500
	// minReconnect and maxReconnect bound the pause after a failure.
	minReconnect, maxReconnect = time.Second, 30 * time.Second
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

	metrics *metrics // may be nil
	mu      sync.Mutex
	changed map[string]Segment // not yet stored
	wake    chan struct{}
	summary Summary
	failing bool
}

// Run recognizes sound until next returns an error other than that of ctx, such as io.EOF,
// and what was said is stored. It returns what became of the speech. A nil sound ends the
// utterances so far.
func (s *Session) Run(ctx context.Context, next func(context.Context) (sound *Sound, lostMs int64, err error)) Summary {
	s.changed, s.wake = make(map[string]Segment), make(chan struct{}, 1)
	s.summary.FromMs = -1
	storing, stopStoring := context.WithCancel(ctx)
	var stored sync.WaitGroup
	stored.Go(func() { s.store(storing) })
	r := router{session: s, sources: make(map[sourceKey]*source)}
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
		r.route(ctx, *sound)
	}
	r.end(ctx)
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
	sources map[sourceKey]*source
	mixed   []Sound // that waits for sound of participants
	ownedMs int64   // until when the mixed sound is that of known participants
	running sync.WaitGroup
}

type sourceKey struct {
	source      int
	participant Participant
}

// route routes sound: that of known participants, and the mixed sound while none of them
// speaks.
func (r *router) route(ctx context.Context, sound Sound) {
	endMs := sound.StartMs + int64(len(sound.PCM))/bytesPerMs
	r.session.mu.Lock()
	if r.session.summary.FromMs < 0 {
		r.session.summary.FromMs = sound.StartMs
	}
	r.session.summary.ToMs = max(r.session.summary.ToMs, endMs)
	r.session.mu.Unlock()
	switch {
	case sound.Source == 0:
		r.mixed = append(r.mixed, sound)
	case sound.Participant != Participant{}:
		if rms(sound.PCM) >= minLevel {
			r.ownedMs = max(r.ownedMs, endMs+ownedMs)
		}
		r.source(ctx, sound).add(sound)
	}
	r.endSilent(endMs - mixedDelayMs)
	for len(r.mixed) > 0 && r.mixed[0].StartMs+mixedDelayMs <= endMs {
		r.addMixed(ctx, r.mixed[0])
		r.mixed = r.mixed[1:]
	}
}

// endSilent ends the utterances of participants whose sound stopped before a time: silence is
// not sent.
func (r *router) endSilent(ms int64) {
	for _, one := range r.sources {
		if one.utterances.nextMs+pauseMs < ms {
			one.push(one.utterances.End())
		}
	}
}

// pause ends all utterances.
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

// source returns the source of sound.
func (r *router) source(ctx context.Context, sound Sound) *source {
	key := sourceKey{sound.Source, sound.Participant}
	one := r.sources[key]
	if one == nil {
		one = &source{session: r.session, name: fmt.Sprintf("%s%d", r.session.Prefix, len(r.sources)), mixed: sound.Source == 0, participant: sound.Participant, queue: make(chan Audio, maxQueued), open: make(map[int]Segment), seen: make(map[int]map[Participant]int64), ends: make(map[int]time.Time)}
		r.sources[key] = one
		r.running.Go(func() { one.run(ctx) })
	}
	return one
}

// end ends all sources and waits until their speech is recognized.
func (r *router) end(ctx context.Context) {
	r.pause(ctx)
	for _, one := range r.sources {
		close(one.queue)
	}
	r.running.Wait()
}

// source is the sound of one participant, or that of all others.
type source struct {
	session     *Session
	name        string
	mixed       bool
	participant Participant
	utterances  Utterances
	queue       chan Audio
	skipped     int // utterance whose rest is not recognized
	pushed      int // utterance of the last piece in the queue

	open      map[int]Segment               // last results of utterances, by number
	seen      map[int]map[Participant]int64 // of mixed sound: how long who was seen to speak in utterances, in ms
	ends      map[int]time.Time             // when the ends of utterances were passed to the recognizer
	abandoned int                           // utterance whose rest is not recognized, after a failure
}

func (s *source) add(sound Sound) {
	pieces := s.utterances.Add(sound.StartMs, sound.PCM)
	if s.mixed && s.utterances.speaking && rms(sound.PCM) >= minLevel {
		s.see(s.utterances.number, sound)
	}
	s.push(pieces)
}

// see notes who is seen to speak in an utterance of mixed sound.
func (s *source) see(utterance int, sound Sound) {
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	if s.seen[utterance] == nil {
		s.seen[utterance] = make(map[Participant]int64)
		delete(s.seen, utterance-maxSeen) // nobody asked for it
	}
	s.seen[utterance][sound.Speaker] += int64(len(sound.PCM)) / bytesPerMs
}

// speaker returns who was seen to speak for most of an utterance of mixed sound; zero if
// nobody was. The caller holds the session's mu.
func (s *source) speaker(utterance int) (most Participant) {
	var all, longest int64
	for who, ms := range s.seen[utterance] {
		all += ms
		if who != (Participant{}) && ms > longest {
			most, longest = who, ms
		}
	}
	if 2*longest <= all {
		return Participant{}
	}
	return most
}

// push queues pieces. It leaves out the rest of an utterance if too many wait.
func (s *source) push(pieces []Audio) {
	for _, piece := range pieces {
		if piece.Utterance != s.skipped && len(s.queue) >= cap(s.queue)-2 { // one is kept for the end below
			s.skipped = piece.Utterance
			if s.pushed == piece.Utterance {
				s.queue <- Audio{Utterance: piece.Utterance, StartMs: piece.StartMs, End: true}
			}
		}
		if piece.Utterance == s.skipped {
			s.session.lost(int64(len(piece.PCM)) / bytesPerMs)
			continue
		}
		s.pushed = piece.Utterance
		s.queue <- piece
	}
}

// run recognizes the queue until it is closed or ctx ends.
func (s *source) run(ctx context.Context) {
	backoff := retry.Backoff{Min: minReconnect, Max: maxReconnect}
	for {
		working, cancel := context.WithCancel(ctx)
		var feeding sync.WaitGroup
		closed, in := false, make(chan Audio)
		feeding.Go(func() { closed = s.feed(working, in) })
		err := s.session.Recognizer.Recognize(working, s.session.Options, in, func(r Result) {
			backoff.Reset()
			s.heard(r)
		})
		cancel()
		feeding.Wait()
		s.abandon()
		if ctx.Err() != nil || err == nil && closed {
			return
		}
		if err == nil {
			err = errors.New("the recognizer ended early")
		}
		s.session.failed(ctx, err)
		if closed || retry.Sleep(ctx, backoff.Next()) != nil {
			return
		}
	}
}

// feed passes the queue to a recognizer. It reports whether the queue is at its end.
func (s *source) feed(ctx context.Context, in chan<- Audio) (closed bool) {
	defer close(in)
	for {
		select {
		case audio, ok := <-s.queue:
			if !ok {
				return true
			}
			if !s.begin(audio) {
				continue
			}
			select {
			case in <- audio:
			case <-ctx.Done():
				return false
			}
		case <-ctx.Done():
			return false
		}
	}
}

// begin notes an utterance before the recognizer hears it. It reports false if the
// recognizer is not to hear it.
func (s *source) begin(audio Audio) bool {
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	if audio.Utterance == s.abandoned {
		s.session.summary.LostMs += int64(len(audio.PCM)) / bytesPerMs
		return false
	}
	segment, known := s.open[audio.Utterance]
	if !known {
		segment = Segment{ID: fmt.Sprintf("%s-%06d", s.name, audio.Utterance), Participant: s.participant, StartMs: audio.StartMs, EndMs: audio.StartMs}
	}
	segment.EndMs += int64(len(audio.PCM)) / bytesPerMs
	s.open[audio.Utterance] = segment
	if audio.End {
		s.ends[audio.Utterance] = time.Now()
	}
	return true
}

// heard takes a result.
func (s *source) heard(r Result) {
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	s.session.failing = false
	segment, known := s.open[r.Utterance]
	if !known {
		return
	}
	text := r.Text()
	segment.Final, segment.Text, segment.Confirmed = r.Final, text, r.Confirmed
	if s.mixed {
		segment.Mixed, segment.Participant = true, s.speaker(r.Utterance)
	}
	segment.Words = slices.Clone(r.Words)
	for i := range segment.Words {
		if word := &segment.Words[i]; word.EndMs > 0 {
			word.StartMs, word.EndMs = segment.StartMs+word.StartMs, segment.StartMs+word.EndMs
		}
	}
	if r.Final {
		delete(s.open, r.Utterance)
		delete(s.seen, r.Utterance)
		s.session.metrics.recognized(s.ends, r.Utterance)
	} else {
		s.open[r.Utterance] = segment
	}
	if text != "" || segment.Revision > 0 { // nothing was ever said in the others
		segment.Revision++
		if !r.Final {
			s.open[r.Utterance] = segment
		}
		s.session.change(segment)
	}
}

// abandon makes what was heard of utterances final that the recognizer did not finish.
func (s *source) abandon() {
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	for number, segment := range maps.Clone(s.open) {
		delete(s.open, number)
		delete(s.seen, number)
		s.session.metrics.lost(s.ends, number)
		s.abandoned = max(s.abandoned, number)
		s.session.summary.LostMs += segment.EndMs - segment.StartMs
		if segment.Revision > 0 {
			segment.Revision++
			segment.Final, segment.Confirmed = true, len(segment.Words)
			s.session.change(segment)
		}
	}
}

// failed counts a failure, and reports the first one in a row.
func (s *Session) failed(ctx context.Context, err error) {
	s.mu.Lock()
	first := !s.failing
	s.failing = true
	s.summary.Failures++
	s.mu.Unlock()
	s.metrics.failed()
	if first && s.Failed != nil {
		s.Failed(ctx, err)
	}
}

// change notes that a segment is to be stored. The caller holds mu.
func (s *Session) change(segment Segment) {
	s.changed[segment.ID] = segment
	select {
	case s.wake <- struct{}{}:
	default: // store looks anyway
	}
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
