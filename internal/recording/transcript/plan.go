package transcript

import (
	"fmt"
	"slices"
	"time"

	"standin/internal/recording"
	"standin/internal/recording/build"
)

const (
	// silenceMin is the shortest silence at which audio is divided.
	silenceMin = time.Second
	// silenceLevel is the level of silence, in dBFS: quiet speech is above it.
	silenceLevel = -50
	// padding is kept around speech: the first and the last sound are quiet.
	padding = 300 * time.Millisecond
	// longSilence ends a piece. A recognizer needs shorter pauses for its
	// punctuation, and charges for longer ones.
	longSilence = 10 * time.Second

	// pauseMin and pauseLevel find a short pause in noisy speech that is longer
	// than a piece.
	pauseMin   = 300 * time.Millisecond
	pauseLevel = -30
	// pauseSearch is how long before the end of a piece such a pause is searched.
	pauseSearch = time.Minute
	// minSound is the shortest sound that is worth a request. Recognizers invent words
	// for clicks and for the edges of silence, and refuse shorter audio.
	minSound = 200 * time.Millisecond
)

// maxPiece is the longest piece. Its WAV file stays below
// the upload limit of OpenAI's API, 25 MB.
const maxPiece = 10 * time.Minute

// track is an audio file of a recording to transcribe.
type track struct {
	file        recording.Media
	participant *recording.Participant // nil for mixed audio
	gaps        []recording.Gap        // gaps of mixed audio
}

// chooseTracks returns the audio to transcribe: the files of single participants
// if they cover the speech, else the mixed audio.
func chooseTracks(m recording.Manifest) []track {
	byID := make(map[string]*recording.Participant, len(m.Participants))
	for i, p := range m.Participants {
		byID[p.ID] = &m.Participants[i]
	}
	var own, mixed []track
	complete := true
	for _, file := range m.Media {
		switch file.Kind {
		case recording.ParticipantAudio:
			owner := byID[file.ParticipantID]
			complete = complete && owner != nil
			own = append(own, track{file: file, participant: owner})
		case recording.Video, recording.Audio:
			mixed = append(mixed, track{file: file, gaps: m.Gaps})
		}
	}
	if len(own) > 0 && complete && coversSpeech(own, m.Speech) || len(mixed) == 0 {
		return own
	}
	return mixed
}

// coversSpeech reports whether at least 95% of the known speech is in the tracks
// of its speakers.
func coversSpeech(tracks []track, speech []recording.Speech) bool {
	var total, covered int64
	for _, s := range speech {
		total += s.EndMs - s.StartMs
		for _, t := range tracks {
			if t.participant.ID == s.ParticipantID {
				covered += max(0, min(s.EndMs, t.file.StartOffsetMs+t.file.DurationMs)-max(s.StartMs, t.file.StartOffsetMs))
			}
		}
	}
	return covered >= total*95/100
}

// offset converts a position in the file to an offset of the recording: mixed
// audio does not contain the gaps.
func (t track) offset(positionMs int64) int64 {
	at := t.file.StartOffsetMs + positionMs
	for _, gap := range t.gaps {
		if !gap.Filled() && gap.StartMs > t.file.StartOffsetMs && gap.StartMs <= at {
			at += gap.EndMs - gap.StartMs
		}
	}
	return at
}

// piece is a section of a file that is sent to the recognizer in one request.
type piece struct {
	track
	build.Span
}

// key identifies the piece within its job.
func (p piece) key() string {
	return fmt.Sprintf("%s %d-%d", p.file.Name, p.Start.Milliseconds(), p.End.Milliseconds())
}

// planPieces divides audio of a length into pieces of at most maximum, at
// silences, and leaves out long silences and pieces without a sound of minSound.
// pause returns where to divide speech without a silence.
func planPieces(length time.Duration, silences []build.Span, maximum time.Duration,
	pause func(build.Span) (time.Duration, error)) ([]build.Span, error) {
	var pieces []build.Span
	var sounds []build.Span
	from := time.Duration(0)
	add := func(to time.Duration) {
		if to > from {
			sounds = append(sounds, build.Span{Start: from, End: to})
		}
	}
	for _, silence := range silences {
		add(silence.Start)
		from = silence.End
	}
	add(length)
	for _, sound := range sounds {
		speech := build.Span{Start: max(0, sound.Start-padding), End: min(length, sound.End+padding)}
		for speech.Length() > maximum {
			at, err := pause(build.Span{Start: speech.Start + maximum - min(pauseSearch, maximum/2), End: speech.Start + maximum})
			if err != nil {
				return nil, err
			}
			pieces = append(pieces, build.Span{Start: speech.Start, End: at})
			speech.Start = at
		}
		last := len(pieces) - 1
		switch {
		case last >= 0 && speech.Start-pieces[last].End <= longSilence && speech.End-pieces[last].Start <= maximum:
			pieces[last].End = speech.End
		case speech.Length() >= minSound:
			pieces = append(pieces, speech)
		}
	}
	return slices.DeleteFunc(pieces, func(piece build.Span) bool {
		return !slices.ContainsFunc(sounds, func(sound build.Span) bool {
			return sound.Length() >= minSound && sound.Start < piece.End && sound.End > piece.Start
		})
	}), nil
}

// longestMiddle returns the middle of the longest silence in a span; its end when
// there is none.
func longestMiddle(in build.Span, silences []build.Span) time.Duration {
	longest := build.Span{Start: in.End, End: in.End}
	for _, silence := range silences {
		if silence.Length() > longest.Length() {
			longest = silence
		}
	}
	return max((longest.Start+longest.End)/2, in.Start+1)
}
