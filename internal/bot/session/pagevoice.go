package session

import (
	"encoding/binary"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/recorder"
	"standin/internal/bot/sound"
)

const (
	// audibleSample is the amplitude from which on a page is heard: -50 dBFS.
	audibleSample = 100
	// pagePause is how long a page may be silent within what it says.
	pagePause = 300 * time.Millisecond
)

// pageVoice makes the bot say what a shown page plays. It implements
// recorder.LiveSoundListener.
type pageVoice struct {
	say      func(*sound.Speech) // begins to play a speech
	captured *recorder.Recorder
	speech   *sound.Speech // nil while the page is silent
	heardAt  time.Time     // of the last audible frame
}

// close ends the capture, and what is being said.
func (v *pageVoice) close() {
	if v.captured != nil {
		v.captured.Close()
	}
	if v.speech != nil {
		v.speech.Stop()
	}
}

// Wanted implements recorder.LiveSoundListener.
func (v *pageVoice) Wanted() (ingest.SoundWanted, <-chan struct{}) {
	return ingest.SoundWanted{Mixed: true}, nil
}

// Hear implements recorder.LiveSoundListener. A speech that was stopped is not continued:
// the page is heard again after a pause.
func (v *pageVoice) Hear(frames []recorder.LiveSound) {
	for _, frame := range frames {
		if audible(frame.PCM) {
			v.heardAt = frame.At
		}
		if frame.At.Sub(v.heardAt) > pagePause {
			v.speech = nil
			continue
		}
		if v.speech == nil || !v.speech.Add(frame.PCM) && !v.stopped() {
			v.speech = sound.NewSpeech()
			v.speech.Add(frame.PCM)
			v.say(v.speech)
		}
	}
}

// stopped reports whether the speech was stopped, instead of ended by a gap.
func (v *pageVoice) stopped() bool {
	select {
	case <-v.speech.Stopped():
		return true
	default:
		return false
	}
}

// audible reports whether PCM is louder than silence.
func audible(pcm []byte) bool {
	for ; len(pcm) >= 2; pcm = pcm[2:] {
		if sample := int16(binary.LittleEndian.Uint16(pcm)); sample > audibleSample ||
			sample < -audibleSample { //nolint:gosec // two's complement
			return true
		}
	}
	return false
}
