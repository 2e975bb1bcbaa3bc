package recording

import (
	"encoding/json"
	"fmt"
	"time"
)

// SchemaVersion is the version of the manifest that this package writes.
// api/manifest.schema.json describes it.
const SchemaVersion = 1

// Manifest describes the recording of a meeting. Offsets are milliseconds
// from Timeline.RecordingStartedAt, as the clock went on, so gaps count.
type Manifest struct {
	SchemaVersion int             `json:"schemaVersion"`
	JobID         string          `json:"jobId"`
	ExternalID    string          `json:"externalId"`
	Platform      string          `json:"platform"`
	MeetingURL    string          `json:"meetingUrl"`
	Metadata      json.RawMessage `json:"metadata"` // a JSON object
	Bot           Bot             `json:"bot"`
	Timeline      Timeline        `json:"timeline"`
	End           End             `json:"end"`
	Partial       bool            `json:"partial"` // something of a started recording is missing
	Gaps          []Gap           `json:"gaps"`
	Media         []Media         `json:"media"`
	Participants  []Participant   `json:"participants"`
	Speech        []Speech        `json:"speech"`
	Consent       []Consent       `json:"consent"`
}

// Bot is who recorded.
type Bot struct {
	Name    string  `json:"name"`
	Version *string `json:"version"` // nil when no report tells
}

// Timeline holds the moments of a bot's visit; zero where unknown.
type Timeline struct {
	JoinedAt           Instant `json:"joinedAt"`   // join was clicked
	AdmittedAt         Instant `json:"admittedAt"` // seen inside the meeting
	RecordingStartedAt Instant `json:"recordingStartedAt"`
	RecordingStoppedAt Instant `json:"recordingStoppedAt"`
	LeftAt             Instant `json:"leftAt"`
}

// End says why the bot's visit ended.
type End struct {
	Reason string  `json:"reason"`
	Detail *string `json:"detail"` // nil when there is none
}

// EndUnknown is the reason when nobody told one.
const EndUnknown = "unknown"

// Gap is a time after the recording began in which nothing was kept.
type Gap struct {
	StartMs int64  `json:"startMs"`
	EndMs   int64  `json:"endMs"`
	Reason  string `json:"reason"`
}

// Media is a file with the address it is read at.
type Media struct {
	File
	URI string `json:"uri"`
}

// Participant was seen in the roster.
type Participant struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	JoinedAt Instant `json:"joinedAt"`
	LeftAt   Instant `json:"leftAt"` // zero when the participant was not seen leaving
}

// Speech is a time in which a participant spoke.
type Speech struct {
	ParticipantID string `json:"participantId"`
	StartMs       int64  `json:"startMs"`
	EndMs         int64  `json:"endMs"`
}

// Consent is a request for the host's permission to record, with its outcome.
type Consent struct {
	CommandID   string         `json:"commandId"`
	RequestedAt Instant        `json:"requestedAt"`
	Outcome     ConsentOutcome `json:"outcome"`     // null while nobody answered
	RespondedAt Instant        `json:"respondedAt"` // zero while nobody answered
}

// ConsentOutcome is what became of a request; empty while nobody answered.
type ConsentOutcome string

// The outcomes (docs/states.md).
const (
	ConsentGranted ConsentOutcome = "granted"
	ConsentDenied  ConsentOutcome = "denied"
	ConsentTimeout ConsentOutcome = "timeout"
)

// MarshalJSON writes null for no outcome.
func (o ConsentOutcome) MarshalJSON() ([]byte, error) {
	if o == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(o))
}

// Instant is a moment as it stands in a manifest: RFC 3339, UTC, milliseconds,
// Z; null when it is zero.
type Instant struct{ time.Time }

const instantLayout = "2006-01-02T15:04:05.000Z"

// MarshalJSON writes the moment.
func (i Instant) MarshalJSON() ([]byte, error) {
	if i.IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + i.UTC().Format(instantLayout) + `"`), nil
}

// UnmarshalJSON reads any RFC 3339 moment, or null.
func (i *Instant) UnmarshalJSON(data []byte) error {
	*i = Instant{}
	if string(data) == "null" {
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("read a moment: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return fmt.Errorf("read a moment: %w", err)
	}
	i.Time = at.UTC()
	return nil
}
