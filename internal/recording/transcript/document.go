// Package transcript transcribes finished recordings with a speech recognizer
// that has the interface of OpenAI's audio transcriptions, and attaches the
// result to the recording.
//
// The recording is final before its transcription begins, so that a recognizer
// that is slow or away neither delays nor fails it. The progress is in the
// database: another node, or this one after a restart, continues the work.
package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/recording"
)

// Names of the files in a recording.
const (
	FileName    = "transcript.json"
	vttFileName = "transcript.vtt"
)

// SchemaVersion is the version of Document (docs/transcripts.md).
const SchemaVersion = 1

// Source is the evidence from which a segment was made.
type Source string

// The sources.
const (
	ParticipantAudio Source = "participant_audio" // the audio of one participant
	Mixed            Source = "mixed"             // the audio of the meeting; speakers are those of the speech timeline
	Captions         Source = "captions"          // the captions of the meeting platform
	Live             Source = "live"              // what the live transcriber has heard
)

// Document is a transcript. Times are milliseconds since the start of the
// recording, like those of the manifest.
type Document struct {
	SchemaVersion int       `json:"schemaVersion"`
	JobID         string    `json:"jobId"`
	Language      string    `json:"language,omitempty"` // the recognizer's name for it
	Model         string    `json:"model,omitempty"`    // the recognizer's model
	Partial       bool      `json:"partial"`            // audio beyond the limit of a job was not transcribed
	Segments      []Segment `json:"segments"`           // sorted by startMs
}

// Segment is a section of speech of one speaker.
type Segment struct {
	StartMs       int64    `json:"startMs"`
	EndMs         int64    `json:"endMs"`
	ParticipantID string   `json:"participantId,omitempty"` // ID in the manifest; empty when the speaker is unknown
	Speaker       string   `json:"speaker,omitempty"`       // name; empty when unknown
	Text          string   `json:"text"`
	Confidence    *float64 `json:"confidence,omitempty"` // 0 to 1
	Source        Source   `json:"source"`
	Unconfirmed   bool     `json:"unconfirmed,omitempty"` // nobody is known to have spoken: the recognizer may have invented it
	Words         []Word   `json:"words,omitempty"`       // empty when the recognizer reports none
}

// speaker returns how people read who speaks: unknown without a name.
func (s Segment) speaker(unknown string) string {
	switch {
	case !s.Unconfirmed:
		return cmp.Or(s.Speaker, unknown)
	case s.Speaker != "":
		return s.Speaker + " (unconfirmed)"
	}
	return "Unconfirmed"
}

// Word is a word of a segment.
type Word struct {
	StartMs    int64    `json:"startMs"`
	EndMs      int64    `json:"endMs"`
	Text       string   `json:"text"`
	Confidence *float64 `json:"confidence,omitempty"`
}

// maxStored bounds a stored transcript that is read into memory, in bytes.
const maxStored = 256 << 20

// Read decodes a stored transcript.
func Read(stored io.Reader) (d Document, err error) {
	if err := json.NewDecoder(io.LimitReader(stored, maxStored)).Decode(&d); err != nil {
		return Document{}, fmt.Errorf("read a transcript: %w", err)
	}
	return d, nil
}

// sortSegments sorts segments by time.
func (d *Document) sortSegments() {
	slices.SortStableFunc(d.Segments, func(a, b Segment) int { return cmp.Compare(a.StartMs, b.StartMs) })
}

// JSON returns the document as it is stored.
func (d Document) JSON() ([]byte, error) {
	return json.MarshalIndent(d, "", " ")
}

// VTT returns the transcript as WebVTT, with the speakers as voices. Its times are
// positions in the recorded video, which has no gaps.
func (d Document) VTT(gaps []recording.Gap) []byte {
	cues := make([]recording.Cue, len(d.Segments))
	for i, s := range d.Segments {
		cues[i] = recording.Cue{StartMs: s.StartMs, EndMs: s.EndMs, Speaker: s.speaker(""), Text: s.Text}
	}
	return recording.WebVTT(cues, gaps)
}

// Text returns the transcript as plain text: a line for each segment.
func (d Document) Text() []byte {
	var out bytes.Buffer
	for _, s := range d.Segments {
		at := s.StartMs / 1000
		fmt.Fprintf(&out, "[%02d:%02d:%02d] %s: %s\n", at/3600, at/60%60, at%60, oneLine(s.speaker("Unknown speaker")), oneLine(s.Text))
	}
	return out.Bytes()
}

// oneLine joins the lines of a text. Control characters become spaces.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029
	}), " ")
}

// FromCaptions returns the captions of a meeting as a transcript. start is the
// start of the recording; participants are those of its manifest.
func FromCaptions(jobID string, texts []job.MeetingText, start time.Time, participants []recording.Participant) Document {
	d := Document{SchemaVersion: SchemaVersion, JobID: jobID, Segments: []Segment{}}
	for _, text := range texts {
		// A correction can leave a text empty.
		if text.Kind != job.CaptionText || text.Text == "" || text.EndedAt.Before(start) {
			continue
		}
		segment := Segment{
			StartMs: max(0, text.StartedAt.Sub(start).Milliseconds()), EndMs: max(0, text.EndedAt.Sub(start).Milliseconds()),
			Speaker: text.Author, Text: text.Text, Source: Captions,
		}
		// The IDs of a bot's roster are not those of the manifest.
		segment.ParticipantID = participantNamed(participants, text.Author)
		if d.Language == "" {
			d.Language = text.Language
		}
		d.Segments = append(d.Segments, segment)
	}
	d.sortSegments()
	return d
}

// participantNamed returns the ID of the only participant with a name; empty if there is none.
func participantNamed(participants []recording.Participant, name string) (id string) {
	for _, p := range participants {
		switch {
		case name == "" || p.Name != name:
		case id != "":
			return ""
		default:
			id = p.ID
		}
	}
	return id
}
