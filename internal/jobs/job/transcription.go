package job

import (
	"time"

	"github.com/google/uuid"
)

// TaskKind is what a task does with a finished recording.
type TaskKind string

// The kinds of tasks.
const (
	TranscriptTask TaskKind = "transcript" // make texts searchable, and transcribe
	VideoTask      TaskKind = "video"      // compose the picture of participants' videos
)

// RecordingTask is the state of a task of a job's recording.
type RecordingTask struct {
	JobID     uuid.UUID
	Kind      TaskKind
	CreatedAt time.Time // when the recording was finalized
	Lease     string    // of the node that works on it
	Failures  int       // since the last response of the transcriber
	Sent      time.Duration
	Again     *TranscriptionOptions // of a transcription that was requested; nil for the first one
}

// TranscriptionOptions are how a recording is transcribed. Empty ones leave the settings
// of the service as they are.
type TranscriptionOptions struct {
	Model    string   `json:"model,omitempty"`
	Language string   `json:"language,omitempty"` // BCP 47
	Keyterms []string `json:"keyterms,omitempty"` // words and names that are likely
}

// Or returns the options with those of other in place of the empty ones.
func (o TranscriptionOptions) Or(other TranscriptionOptions) TranscriptionOptions {
	return or(o, other)
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

// TextFilter selects searchable texts. Empty fields select all.
type TextFilter struct {
	Speaker  string    // words of the name, in any case, or their beginnings
	From, To time.Time // when the job was created; To is not included
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

// LiveTranscript is what became of a live transcription, as its timeline entry has it.
// Times are milliseconds since the start of the recording.
type LiveTranscript struct {
	Complete bool   `json:"complete"` // everything between the two times was recognized
	Model    string `json:"model"`
	FromMs   int64  `json:"fromMs"`
	ToMs     int64  `json:"toMs"`
	LostMs   int64  `json:"lostMs"`
	Failures int    `json:"failures"`
}

// TranscriptResult is the result of a transcription, as its timeline entry has it.
type TranscriptResult struct {
	Failure  string `json:"detail,omitempty"` // why there is no transcript; empty when there is one
	Segments int    `json:"segments"`
	Words    int    `json:"words"`
	AudioMs  int64  `json:"audioMs"`                    // that was sent to the transcriber
	Partial  bool   `json:"partial"`                    // audio beyond the limit was not transcribed
	Live     bool   `json:"live,omitempty"`             // it is what the live transcriber has heard
	Revision int    `json:"manifestRevision,omitempty"` // of the manifest with the transcript
}

// VideoResult is the outcome of composing the picture of a recording.
type VideoResult struct {
	Failure    string         `json:"detail,omitempty"` // why there is none; empty when there is one
	DurationMs int64          `json:"durationMs"`
	Bytes      int64          `json:"bytes"`
	Revision   int            `json:"manifestRevision,omitempty"` // of the manifest with the file
	Summarize  func(*Summary) `json:"-"`                          // sets what the manifest has of a summary
}
