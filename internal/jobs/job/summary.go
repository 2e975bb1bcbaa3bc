package job

import "time"

// Summary is what is known about the meeting of a job and its recording, for lists and
// details. The manifest has all of it.
type Summary struct {
	FailedIn     Status        `json:"failedIn,omitempty"`  // the status in which the job failed
	EndReason    string        `json:"endReason,omitempty"` // of the manifest
	Partial      bool          `json:"partial,omitempty"`
	DurationMs   int64         `json:"durationMs,omitempty"`   // of the recording with its gaps, or of the stay of a bot that recorded nothing
	Bytes        int64         `json:"bytes,omitempty"`        // of the files of the recording
	Participants []Participant `json:"participants,omitempty"` // at most MaxSummaryParticipants
	MediaURI     string        `json:"mediaUri,omitempty"`     // of the video, or the mixed audio
	Captions     bool          `json:"captions,omitempty"`     // the recording has captions
	Transcript   bool          `json:"transcript,omitempty"`   // the recording has a transcript
	Words        int           `json:"words,omitempty"`        // of the transcript
	Deleted      bool          `json:"deleted,omitempty"`      // the recording was deleted, and with it what only the manifest has
	Resources    Resources     `json:"resources,omitzero"`     // of attempts that have ended
}

// Participant is a person who was in the meeting of a job.
type Participant struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// MaxSummaryParticipants limits the participants of a Summary.
const MaxSummaryParticipants = 100

// Progress is what the service stores about a job beside the fields of Job, for people.
type Progress struct {
	StatusSince time.Time
	Stats       []byte // of the bot's last heartbeat with statistics; empty without one
	Summary
}
