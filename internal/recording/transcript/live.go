package transcript

import (
	"context"

	"standin/internal/jobs/job"
	"standin/internal/recording"
)

// edgeMs is how much of the beginning and the end of a recording the live transcriber may
// have missed, in milliseconds: it begins and ends with the connection of the bot.
const edgeMs = 3000

// liveTranscript returns what the live transcriber has recognized, as a transcript. It is
// partial unless everything was recognized. found is false if there was no live transcriber.
func (h *task) liveTranscript(ctx context.Context, m recording.Manifest, texts []job.MeetingText) (d Document, found bool, err error) {
	transcripts, err := h.Jobs.LiveTranscripts(ctx, h.state.JobID)
	if err != nil {
		return d, false, err
	}
	d = Document{SchemaVersion: SchemaVersion, JobID: m.JobID}
	complete, ends := true, int64(0)
	for _, transcript := range transcripts {
		complete = complete && transcript.Complete && transcript.FromMs <= ends+edgeMs
		ends, d.Model = max(ends, transcript.ToMs), transcript.Model
	}
	people := newSpeakers(m)
	segments := []Segment{}
	for _, text := range texts {
		if text.Speech == nil || !text.Speech.Final || text.Text == "" {
			continue
		}
		segment := Segment{StartMs: text.Speech.StartMs, EndMs: text.Speech.EndMs, Text: text.Text, Source: Live}
		for _, word := range text.Speech.Words {
			if word.EndMs == 0 {
				segment.Words = nil
				break // not all have times
			}
			segment.Words = append(segment.Words, Word{StartMs: word.StartMs, EndMs: word.EndMs, Text: word.Text, Confidence: word.Confidence})
		}
		if text.Speech.Mixed || text.Author == "" && text.ParticipantID == "" {
			segments = append(segments, people.attribute([]Segment{segment}, len(segment.Words) > 0)...)
			continue
		}
		segment.Speaker = text.Author
		// The IDs of a bot's roster are not those of the manifest.
		segment.ParticipantID = participantNamed(m.Participants, text.Author)
		segments = append(segments, segment)
	}
	d.Segments = segments
	people.confirm(d.Segments)
	d.sortSegments()
	length := int64(0) // of the recording
	for _, file := range m.Media {
		if file.Kind == recording.Video || file.Kind == recording.Audio {
			length = max(length, file.StartOffsetMs+file.DurationMs)
		}
	}
	d.Partial = !complete || ends+edgeMs < length || !people.speechCoveredBy(d.Segments)
	return d, len(transcripts) > 0 || len(d.Segments) > 0, nil
}

// minCovered is the percentage of the known speech for which a live transcript must have
// words, or it is partial.
const minCovered = 95

// speechCoveredBy reports whether there are words for enough of the known speech.
func (s speakers) speechCoveredBy(segments []Segment) bool {
	var total, covered int64
	for _, speech := range s.speech {
		total += speech.EndMs - speech.StartMs
		at := speech.StartMs
		for _, segment := range segments { // by StartMs
			from, to := max(at, segment.StartMs-nearSpeech), min(speech.EndMs, segment.EndMs+nearSpeech)
			if to > from {
				covered, at = covered+to-from, to
			}
		}
	}
	return covered >= total*minCovered/100
}
