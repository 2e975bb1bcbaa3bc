package streaming

import (
	"encoding/binary"
	"math"
)

const (
	frameMs = 20
	// minLevel is the level of sound, as the root mean square of its samples: quieter
	// sound is silence. Recognizers invent words for it.
	minLevel = 0.0025 * 32768
	// An utterance begins with minLoudFrames loud ones among prerollFrames, which are
	// its first: clicks are shorter, and first sounds are quiet.
	minLoudFrames = 5
	prerollFrames = 20
	// An utterance ends after a pause, which is shorter once it is long; after maxMs at
	// the latest, and from nearMaxMs on where it is less loud.
	pauseMs      = 700
	longMs       = 15_000
	shortPauseMs = 200
	nearMaxMs    = 25_000
	maxMs        = 30_000
	// quietRatio and lowRatio are how much quieter than its loudest frame a pause of an
	// utterance is, and the end of a word: meetings have background noise.
	quietRatio = 16
	lowRatio   = 4
	// maxSkipMs is how much sound may be missing within an utterance.
	maxSkipMs = 100
	// pieceMs is how much sound of an utterance is sent at a time.
	pieceMs = 100
)

// Utterances divides the sound of a source into utterances.
type Utterances struct {
	frame  []byte // of less than frameMs, not yet looked at
	nextMs int64  // when the next sound begins
	recent []frame

	number   int
	speaking bool
	startMs  int64
	piece    []byte // not yet returned
	loudest  float64
	quietMs  int64 // since the last sound
}

type frame struct {
	pcm   []byte
	level float64
}

// Add adds sound at SampleRate that begins at a time, and returns pieces of utterances.
// It keeps pcm.
func (u *Utterances) Add(atMs int64, pcm []byte) []Audio {
	var out []Audio
	if at := u.nextMs; len(u.frame)+len(u.recent) > 0 || u.speaking {
		if atMs < at-maxSkipMs || atMs > at+maxSkipMs {
			out = u.End()
			u.frame, u.recent = nil, nil
		} else {
			atMs = at // clocks differ by less
		}
	}
	u.nextMs = atMs + int64(len(pcm))/bytesPerMs
	frameAt := atMs - int64(len(u.frame))/bytesPerMs
	u.frame = append(u.frame, pcm...)
	for len(u.frame) >= frameMs*bytesPerMs {
		out = append(out, u.add(frameAt, u.frame[:frameMs*bytesPerMs])...)
		u.frame, frameAt = u.frame[frameMs*bytesPerMs:], frameAt+frameMs
	}
	return out
}

// End ends the current utterance.
func (u *Utterances) End() []Audio {
	if !u.speaking {
		return nil
	}
	u.speaking = false
	return []Audio{u.take(true)}
}

// add adds a frame.
func (u *Utterances) add(atMs int64, pcm []byte) []Audio {
	level := rms(pcm)
	if !u.speaking {
		u.recent = append(u.recent, frame{pcm, level})
		u.recent = u.recent[max(0, len(u.recent)-prerollFrames):]
		loud := 0
		for _, f := range u.recent {
			if f.level >= minLevel {
				loud++
			}
		}
		if loud < minLoudFrames {
			return nil
		}
		u.number++
		u.speaking, u.loudest, u.quietMs, u.piece = true, 0, 0, nil
		u.startMs = atMs + frameMs - int64(len(u.recent))*frameMs
		for _, f := range u.recent {
			u.piece = append(u.piece, f.pcm...)
			u.hear(f.level)
		}
		u.recent = nil
	} else {
		u.piece = append(u.piece, pcm...)
		u.hear(level)
	}
	length := atMs + frameMs - u.startMs
	if u.quietMs >= pauseMs || length >= longMs && u.quietMs >= shortPauseMs || length >= maxMs ||
		length >= nearMaxMs && level < u.loudest/lowRatio {
		return u.End()
	}
	if len(u.piece) >= pieceMs*bytesPerMs {
		return []Audio{u.take(false)}
	}
	return nil
}

func (u *Utterances) hear(level float64) {
	u.loudest = max(u.loudest, level)
	if u.quietMs += frameMs; level >= max(minLevel, u.loudest/quietRatio) {
		u.quietMs = 0
	}
}

// take returns the sound that was not yet returned.
func (u *Utterances) take(end bool) Audio {
	a := Audio{Utterance: u.number, StartMs: u.startMs, PCM: u.piece, End: end}
	u.piece = nil
	return a
}

// rms returns the root mean square of samples.
func rms(pcm []byte) float64 {
	sum := 0.0
	for i := 0; i+1 < len(pcm); i += bytesPerSample {
		sample := float64(int16(binary.LittleEndian.Uint16(pcm[i:])))
		sum += sample * sample
	}
	return math.Sqrt(sum / max(1, float64(len(pcm)/bytesPerSample)))
}
