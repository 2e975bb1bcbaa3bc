package job

import (
	"time"

	"github.com/google/uuid"
)

// TextKind is the kind of a MeetingText.
type TextKind string

// The kinds of texts.
const (
	ChatText    TextKind = "chat"    // a message in the chat of the meeting
	CaptionText TextKind = "caption" // a sentence of the platform's live captions
)

// MeetingText is a text that a bot read in a meeting. Job, attempt, kind and ID
// identify it. A corrected text replaces the earlier one under a new sequence.
type MeetingText struct {
	JobID         uuid.UUID
	Sequence      int64 // of its last change within the job, from 1
	Attempt       int
	Kind          TextKind
	ID            string // chosen by the bot, unique within its attempt and kind
	ParticipantID string // in the roster of the attempt; empty if unknown
	Author        string // the name on the page; empty if unknown
	Text          string // plain text, not markup
	Language      string // BCP 47, of a caption; empty if unknown
	StartedAt     time.Time
	EndedAt       time.Time // that of a message is StartedAt
}

// Limits of the texts of a job's bots. A correction counts as another text.
const (
	MaxTexts     = 100_000
	MaxTextBytes = 32 << 20 // of texts and authors, in UTF-8
)
