package sound

import (
	"io"
	"sync"
	"time"

	"standin/internal/base/retry"
	"standin/internal/bot/ingest"
)

const (
	// maxSilence is how long a Speech waits for more samples before it ends.
	maxSilence = 500 * time.Millisecond
	// maxSpeech limits the samples that wait in a Speech: a minute. Later ones are
	// discarded.
	maxSpeech = 60 * 2 * ingest.SoundRate
)

// Speech is live sound to play into the meeting: signed 16-bit little-endian, mono, 48 kHz.
// It ends when no more samples arrive for a while, or when its source stops it; what was not
// read then is discarded.
type Speech struct {
	mu      sync.Mutex
	waiting []byte
	ended   bool
	wake    retry.Signal
	stopped chan struct{} // closed by Stop
}

// NewSpeech returns a Speech without samples.
func NewSpeech() *Speech { return &Speech{wake: retry.NewSignal(), stopped: make(chan struct{})} }

// Stopped is closed by Stop: what was read and is not played yet is not wanted.
func (s *Speech) Stopped() <-chan struct{} { return s.stopped }

// Read implements io.Reader: it returns the samples that have arrived, or waits for them.
func (s *Speech) Read(p []byte) (int, error) {
	silence := time.After(maxSilence)
	for {
		s.mu.Lock()
		if len(s.waiting) > 0 {
			n := copy(p, s.waiting)
			s.waiting = s.waiting[n:]
			s.mu.Unlock()
			return n, nil
		}
		ended := s.ended
		s.mu.Unlock()
		if ended {
			return 0, io.EOF
		}
		select {
		case <-s.wake:
		case <-silence:
			s.mu.Lock()
			s.ended = len(s.waiting) == 0
			s.mu.Unlock()
		}
	}
}

// Stop ends the speech and discards what was not read.
func (s *Speech) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting, s.ended = nil, true
	select {
	case <-s.stopped:
	default:
		close(s.stopped)
	}
	s.wake.Send()
}

// Add adds samples. It returns false if the speech has ended.
func (s *Speech) Add(pcm []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.waiting = append(s.waiting, pcm[:min(len(pcm), maxSpeech-min(len(s.waiting), maxSpeech))]...)
	s.wake.Send()
	return true
}
