package streaming

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"standin/internal/base/retry"
)

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
		utterance := s.utterances.number
		s.session.mu.Lock()
		if s.seen[utterance] == nil {
			s.seen[utterance] = make(map[Participant]int64)
			delete(s.seen, utterance-maxSeen) // nobody asked for it
		}
		s.seen[utterance][sound.Speaker] += int64(len(sound.PCM)) / bytesPerMs
		s.session.mu.Unlock()
	}
	s.push(pieces)
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
		segment = Segment{
			ID: fmt.Sprintf("%s-%06d", s.name, audio.Utterance), Participant: s.participant, StartMs: audio.StartMs, EndMs: audio.StartMs,
		}
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
		s.session.metrics.utterances.WithLabelValues(outcomeRecognized).Inc()
		if ended, known := s.ends[r.Utterance]; known {
			s.session.metrics.duration.Observe(time.Since(ended).Seconds())
		}
		delete(s.ends, r.Utterance)
	}
	if text != "" || segment.Revision > 0 { // nothing was ever said in the others
		segment.Revision++
		s.session.change(segment)
	}
	if !r.Final {
		s.open[r.Utterance] = segment
	}
}

// abandon makes what was heard of utterances final that the recognizer did not finish.
func (s *source) abandon() {
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	for number, segment := range maps.Clone(s.open) {
		delete(s.open, number)
		delete(s.seen, number)
		delete(s.ends, number)
		s.session.metrics.utterances.WithLabelValues(outcomeLost).Inc()
		s.abandoned = max(s.abandoned, number)
		s.session.summary.LostMs += segment.EndMs - segment.StartMs
		if segment.Revision > 0 {
			segment.Revision++
			segment.Final, segment.Confirmed = true, len(segment.Words)
			s.session.change(segment)
		}
	}
}
