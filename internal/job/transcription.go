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

// SearchText is a searchable text of a recording: a chat message, a caption or a
// segment of the transcript.
type SearchText struct {
	JobID   uuid.UUID
	Kind    TextKind
	StartMs int64 // since the start of the recording
	Speaker string
	Text    string
}

// SearchMatch is a text that matches a search, with its job.
type SearchMatch struct {
	SearchText
	MeetingURL string
	CreatedAt  time.Time // of the job
}

// TranscriptRetry is why and when a transcription is tried again, as its timeline
// entry has it.
type TranscriptRetry struct {
	Detail  string    `json:"detail"`
	RetryAt Timestamp `json:"retryAt"`
}

// TranscriptResult is the result of a transcription, as its timeline entry has it.
type TranscriptResult struct {
	Failure  string `json:"detail,omitempty"` // why there is no transcript; empty when there is one
	Segments int    `json:"segments"`
	AudioMs  int64  `json:"audioMs"`                    // that was sent to the transcriber
	Partial  bool   `json:"partial"`                    // audio beyond the limit was not transcribed
	Revision int    `json:"manifestRevision,omitempty"` // of the manifest with the transcript
}
