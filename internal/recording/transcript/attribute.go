package transcript

import (
	"slices"
	"strings"

	"standin/internal/recording"
)

const (
	// nearSpeech is how far from a participant's speech, in milliseconds, a word
	// can be that belongs to it: meeting pages mark speakers late.
	nearSpeech = 1500
	// phrasePause is the pause, in milliseconds, after which the same speaker
	// begins a new segment.
	phrasePause = 1500
)

// speakers attributes sections of mixed audio to participants.
type speakers struct {
	names  map[string]string // participant ID to name
	speech []recording.Speech
	known  bool // nobody else spoke
}

func newSpeakers(m recording.Manifest) speakers {
	names := make(map[string]string, len(m.Participants))
	for _, p := range m.Participants {
		names[p.ID] = p.Name
	}
	known := m.SpeechSource != "" && m.SpeechSource != recording.SpeechUnknown
	return speakers{names: names, speech: m.Speech, known: known}
}

// confirm marks the segments near which nobody spoke: their own participant, if they
// are of one, or else anybody. Without knowledge of who spoke it marks none.
func (s speakers) confirm(segments []Segment) {
	for i, segment := range segments {
		segments[i].Unconfirmed = s.known && !slices.ContainsFunc(s.speech, func(speech recording.Speech) bool {
			return (segment.Source == Mixed || segment.ParticipantID == "" || speech.ParticipantID == segment.ParticipantID) &&
				speech.StartMs-nearSpeech < segment.EndMs && speech.EndMs+nearSpeech > segment.StartMs
		})
	}
}

// at returns who spoke most from one time to another: the participant whose
// speech overlaps it the longest, else the one whose speech is nearest. It is
// empty if nobody spoke nearby, or if two participants overlap it equally.
func (s speakers) at(startMs, endMs int64) string {
	overlaps := make(map[string]int64)
	nearest, distance := "", int64(nearSpeech)
	for _, speech := range s.speech {
		overlap := min(endMs, speech.EndMs) - max(startMs, speech.StartMs)
		switch {
		case overlap > 0 || overlap == 0 && startMs == endMs:
			overlaps[speech.ParticipantID] += max(overlap, 1)
		case -overlap < distance:
			nearest, distance = speech.ParticipantID, -overlap
		}
	}
	if len(overlaps) == 0 {
		return nearest
	}
	most, tied := "", false
	for id, overlap := range overlaps {
		switch {
		case most == "" || overlap > overlaps[most]:
			most, tied = id, false
		case overlap == overlaps[most]:
			tied = true
		}
	}
	if tied {
		return ""
	}
	return most
}

// attribute divides the segments of mixed audio by speaker.
func (s speakers) attribute(segments []Segment, timed bool) []Segment {
	var result []Segment
	for _, segment := range segments {
		if len(segment.Words) == 0 {
			// Without times, it is attributed only if a single participant spoke during it.
			id := s.at(segment.StartMs, segment.EndMs)
			if !timed && slices.ContainsFunc(s.speech, func(speech recording.Speech) bool {
				return speech.ParticipantID != id && speech.StartMs < segment.EndMs && speech.EndMs > segment.StartMs
			}) {
				id = ""
			}
			segment.ParticipantID, segment.Speaker = id, s.names[id]
			result = append(result, segment)
			continue
		}
		var current []Word
		speaker := ""
		flush := func() {
			if len(current) > 0 {
				part := joinWords(current)
				part.Source, part.ParticipantID, part.Speaker = segment.Source, speaker, s.names[speaker]
				if part.Confidence == nil {
					part.Confidence = segment.Confidence
				}
				if len(current) == len(segment.Words) {
					part.Text = segment.Text // keeps the punctuation
				}
				result = append(result, part)
			}
			current = nil
		}
		for _, word := range segment.Words {
			id := s.at(word.StartMs, word.EndMs)
			if id == "" && len(current) > 0 {
				id = speaker
			}
			if len(current) > 0 && (id != speaker || word.StartMs-current[len(current)-1].EndMs > phrasePause) {
				flush()
			}
			speaker = id
			current = append(current, word)
		}
		flush()
	}
	return result
}

// joinWords returns a segment of words.
func joinWords(words []Word) Segment {
	texts := make([]string, len(words))
	sum, known := 0.0, 0
	for i, word := range words {
		texts[i] = word.Text
		if word.Confidence != nil {
			sum, known = sum+*word.Confidence, known+1
		}
	}
	segment := Segment{StartMs: words[0].StartMs, EndMs: words[len(words)-1].EndMs, Text: strings.Join(texts, " "), Words: slices.Clone(words)}
	if known == len(words) {
		segment.Confidence = probability(sum / float64(known))
	}
	return segment
}
