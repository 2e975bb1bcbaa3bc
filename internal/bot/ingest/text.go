package ingest

import (
	"time"

	"standin/internal/jobs/job"
)

// TextPath is the path of the operation that takes texts, below the service's
// base URL.
const TextPath = "/api/v1/ingest/texts"

// Limits of a request with texts. api/openapi.yaml repeats them.
const (
	MaxTextsPerRequest  = 100
	MaxTextCharacters   = 10_000
	MaxAuthorCharacters = 200
)

// MaxChatMessages limits the messages of an attempt that a bot remembers and reports.
const MaxChatMessages = 50_000

// Texts is a request with texts that a bot read in the meeting, in the order of
// their changes.
type Texts struct {
	JobID   string `json:"jobId"`
	Attempt int    `json:"attempt"`
	Texts   []Text `json:"texts"`
}

// Text is a chat message or a caption. A text with the ID and kind of an earlier
// one replaces it.
type Text struct {
	ID            string       `json:"id"`
	Kind          job.TextKind `json:"kind"`
	ParticipantID string       `json:"participantId,omitempty"`
	Author        string       `json:"author,omitempty"`
	Text          string       `json:"text"`
	Language      string       `json:"language,omitempty"`
	StartedAt     time.Time    `json:"startedAt"`
	EndedAt       time.Time    `json:"endedAt"`
}

// TextsResponse is the response to texts.
type TextsResponse struct {
	OK     bool       `json:"ok"`
	Stored int        `json:"stored"`           // texts that are new or changed
	Reason job.Reason `json:"reason,omitempty"` // why nothing may be stored
}
