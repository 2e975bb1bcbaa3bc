// Package job defines the domain: jobs, their state machine, the types in which
// the other packages exchange them, and the platforms of meetings.
//
// It is pure: apart from NewID, it reads no clock, file, network or database, and it imports no other
// package of Standin. Every other package may import it.
package job

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// NewID returns a new ID. Later ones are greater.
func NewID() uuid.UUID { return uuid.Must(uuid.NewV7()) } // fails only if the system has no random numbers

// AsStored returns a time as the database returns it: in UTC, without fractions of a millisecond.
func AsStored(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// DefaultDisplayName is the name that other participants see unless the job has
// another.
const DefaultDisplayName = "Standin"

// Bounds of a job's texts in bytes; those of externalId and URLs are also in
// api/openapi.yaml, in characters.
const (
	MaxExternalID = 2048
	MaxURL        = 8192
	MaxMetadata   = 256 << 10 // as JSON
)

// Mode separates live jobs from test jobs. The same externalId may exist in
// both.
type Mode string

// The modes of keys and of the jobs made with them.
const (
	Live Mode = "live"
	Test Mode = "test"
)

// Job is one bot sent into one meeting for one consumer.
type Job struct {
	ID          uuid.UUID
	ConsumerID  uuid.UUID
	Mode        Mode
	ExternalID  string
	MeetingURL  string
	Platform    Platform
	DisplayName string
	JoinAt      time.Time
	CreatedAt   time.Time
	Webhooks    Webhooks
	Metadata    json.RawMessage // a JSON object, never empty
	AutoLeave   AutoLeave
	Options     Options // of the request

	State
}

// Webhooks are the URLs that a job's events are sent to; either may be empty.
type Webhooks struct {
	OnStatusChange string `json:"onStatusChange,omitempty"`
	OnFinalize     string `json:"onFinalize,omitempty"`
}

// AutoLeave is the AutoLeaveConfig schema of api/openapi.yaml: the conditions on
// which a bot leaves the meeting. Each applies independently. Durations are in
// seconds, from 1 to 86400.
type AutoLeave struct {
	AfterEntryDelaySeconds int  `json:"afterEntryDelaySeconds"`
	AfterSilenceSeconds    int  `json:"afterSilenceSeconds"`
	AfterSoloSeconds       int  `json:"afterSoloSeconds"`
	AfterMaxSeconds        int  `json:"afterMaxSeconds"`
	OnBotDetected          bool `json:"onBotDetected"`

	OnlyNotetakersSeconds int  `json:"onlyNotetakersSeconds,omitempty"` // 0: 60
	SilentAreNotetakers   bool `json:"silentAreNotetakers,omitempty"`   // participants who have not spoken since the bot joined
}

// DefaultAutoLeave returns the default conditions.
func DefaultAutoLeave() AutoLeave {
	return AutoLeave{
		AfterEntryDelaySeconds: 600,
		AfterSilenceSeconds:    1200,
		AfterSoloSeconds:       60,
		AfterMaxSeconds:        14400,
	}
}

// FailureCode is the reason why a job failed.
type FailureCode string

// The failure codes.
const (
	WaitingForHost      FailureCode = "waiting_for_host"
	MeetingNotFound     FailureCode = "meeting_not_found"
	HostDeniedAdmission FailureCode = "host_denied_admission"
	RemovedFromMeeting  FailureCode = "removed_from_meeting"
	MeetingEnded        FailureCode = "meeting_ended"
	InternalError       FailureCode = "internal_error"
	DispatchTimeout     FailureCode = "dispatch_timeout"
	NetworkLoss         FailureCode = "network_loss"
	RecordingDisabled   FailureCode = "recording_disabled"
	LobbyTimeout        FailureCode = "lobby_timeout"
	AuthFailure         FailureCode = "auth_failure"
	QuotaExceeded       FailureCode = "quota_exceeded"
)

// FailureCodes returns all failure codes, in the order of api/openapi.yaml.
func FailureCodes() []FailureCode {
	return []FailureCode{
		WaitingForHost, MeetingNotFound, HostDeniedAdmission, RemovedFromMeeting,
		MeetingEnded, InternalError, DispatchTimeout, NetworkLoss,
		RecordingDisabled, LobbyTimeout, AuthFailure, QuotaExceeded,
	}
}
