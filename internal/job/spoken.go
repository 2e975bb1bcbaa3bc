package job

import (
	"time"

	"github.com/google/uuid"
)

// Transcription is the state of the transcription of a job's recording.
type Transcription struct {
	JobID     uuid.UUID
	CreatedAt time.Time // when the recording was finalized
	Lease     string    // of the node that works on it
	Failures  int       // since the last response of the transcriber
	Sent      time.Duration
}

// SpokenKind is the origin of searchable text.
type SpokenKind string

// The origins.
const (
	SpokenChat       SpokenKind = "chat"
	SpokenCaption    SpokenKind = "caption"
	SpokenTranscript SpokenKind = "transcript"
)

// Spoken is a searchable text of a recording: a chat message, a caption or a
// segment of the transcript.
type Spoken struct {
	JobID   uuid.UUID
	Kind    SpokenKind
	StartMs int64 // since the start of the recording
	Speaker string
	Text    string
}

// SpokenMatch is a text that matches a search, with its job.
type SpokenMatch struct {
	Spoken
	MeetingURL string
	CreatedAt  time.Time // of the job
}

// TranscriptResult is the result of a transcription, as its timeline entry has it.
type TranscriptResult struct {
	Failure  string `json:"detail,omitempty"` // why there is no transcript; empty when there is one
	Segments int    `json:"segments"`
	AudioMs  int64  `json:"audioMs"`                    // that was sent to the transcriber
	Partial  bool   `json:"partial"`                    // audio beyond the limit was not transcribed
	Revision int    `json:"manifestRevision,omitempty"` // of the manifest with the transcript
}
