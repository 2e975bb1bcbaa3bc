package recording

import (
	"encoding/json"
	"fmt"
	"time"
)

// SchemaVersion is the version of the manifest that this package writes.
// api/manifest.schema.json describes it.
const SchemaVersion = 1

// Manifest describes the recording of a meeting. Offsets are milliseconds of
// elapsed time since Timeline.RecordingStartedAt, including gaps.
type Manifest struct {
	SchemaVersion int             `json:"schemaVersion"`
	Revision      int             `json:"revision,omitempty"` // from 2 on, after files were attached; 0 as finalized
	JobID         string          `json:"jobId"`
	ExternalID    string          `json:"externalId"`
	Platform      string          `json:"platform"`
	MeetingURL    string          `json:"meetingUrl"`
	Metadata      json.RawMessage `json:"metadata"` // a JSON object
	Bot           Bot             `json:"bot"`
	Timeline      Timeline        `json:"timeline"`
	End           End             `json:"end"`
	Partial       bool            `json:"partial"` // true when media of a started recording is missing
	Gaps          []Gap           `json:"gaps"`
	MediaFaults   []MediaFault    `json:"mediaFaults"`
	Media         []Media         `json:"media"`
	Participants  []Participant   `json:"participants"`
	Speech        []Speech        `json:"speech"`
	SpeechSource  SpeechSource    `json:"speechSource"`
	Consent       []Consent       `json:"consent"`
}

// Bot describes the bot that recorded.
type Bot struct {
	Name    string  `json:"name"`
	Version *string `json:"version"` // nil when no report has it
}

// Timeline holds the times of a bot's stay in the meeting; zero where unknown.
type Timeline struct {
	JoinedAt           Instant `json:"joinedAt"`   // when the bot clicked the join button
	AdmittedAt         Instant `json:"admittedAt"` // when the bot was in the meeting
	RecordingStartedAt Instant `json:"recordingStartedAt"`
	RecordingStoppedAt Instant `json:"recordingStoppedAt"`
	LeftAt             Instant `json:"leftAt"`
}

// End describes why the bot left the meeting.
type End struct {
	Reason string  `json:"reason"`
	Detail *string `json:"detail"` // nil when there is none
}

// EndUnknown is the end reason when none was reported.
const EndUnknown = "unknown"

// Gap is a period of a recording without media.
type Gap struct {
	StartMs int64  `json:"startMs"`
	EndMs   int64  `json:"endMs"`
	Reason  string `json:"reason"`
}

// MediaFault is a period of a recording whose media is faulty.
type MediaFault struct {
	Kind    string `json:"kind"` // no_sound or frozen_picture
	StartMs int64  `json:"startMs"`
	EndMs   int64  `json:"endMs"`
}

// Media is a file with its URL.
type Media struct {
	File
	URI string `json:"uri"`
}

// Participant is a person in the roster.
type Participant struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	JoinedAt Instant `json:"joinedAt"`
	LeftAt   Instant `json:"leftAt"` // zero when unknown
}

// Speech is a period in which a participant spoke.
type Speech struct {
	ParticipantID string `json:"participantId"`
	StartMs       int64  `json:"startMs"`
	EndMs         int64  `json:"endMs"`
}

// SpeechSource is the evidence by which the speech is known.
type SpeechSource string

// The kinds of evidence.
const (
	SpeechUnknown        SpeechSource = "none" // nothing is known, and nobody is listed
	SpeechByPage         SpeechSource = "page" // the meeting page marks who speaks
	SpeechByAudio        SpeechSource = "audio"
	SpeechByPageAndAudio SpeechSource = "page_and_audio"
)

// Consent is a request for the host's permission to record, with its outcome.
type Consent struct {
	CommandID   string         `json:"commandId"`
	RequestedAt Instant        `json:"requestedAt"`
	Outcome     ConsentOutcome `json:"outcome"`     // null without a response
	RespondedAt Instant        `json:"respondedAt"` // zero without a response
}

// ConsentOutcome is the outcome of a request; empty without a response.
type ConsentOutcome string

// The outcomes (docs/states.md).
const (
	ConsentGranted ConsentOutcome = "granted"
	ConsentDenied  ConsentOutcome = "denied"
	ConsentTimeout ConsentOutcome = "timeout"
)

// MarshalJSON returns the outcome as a JSON string, or null if it is empty.
func (o ConsentOutcome) MarshalJSON() ([]byte, error) {
	if o == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(o))
}

// Instant is a time whose JSON is RFC 3339 in UTC with milliseconds and a Z, or
// null if it is zero.
type Instant struct{ time.Time }

const instantLayout = "2006-01-02T15:04:05.000Z"

// MarshalJSON returns the time as a JSON string, or null if it is zero.
func (i Instant) MarshalJSON() ([]byte, error) {
	if i.IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + i.UTC().Format(instantLayout) + `"`), nil
}

// UnmarshalJSON parses an RFC 3339 time or null.
func (i *Instant) UnmarshalJSON(data []byte) error {
	*i = Instant{}
	if string(data) == "null" {
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("parse an instant: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return fmt.Errorf("parse an instant: %w", err)
	}
	i.Time = at.UTC()
	return nil
}
