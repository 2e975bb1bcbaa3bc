// Package job is the domain: what a job is, which states it may pass through,
// what ends it, and which platform a meeting address belongs to.
//
// It is pure. It reads no clock, no file, no network and no database, and it
// imports nothing else of Standin; every other package may import it.
package job

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// DefaultDisplayName is the name shown to other participants when the job
// names none.
const DefaultDisplayName = "Standin"

// Mode tells live jobs from test jobs. The two are separate spaces: the same
// externalId may stand in both.
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

	State
}

// Webhooks are the addresses a job's events are posted to; either may be
// empty.
type Webhooks struct {
	OnStatusChange string
	OnFinalize     string
}

// AutoLeave holds the knobs that make a bot leave by itself (specification,
// AutoLeaveConfig). Each fires on its own; durations are in seconds, 1..86400.
type AutoLeave struct {
	AfterEntryDelaySeconds int  `json:"afterEntryDelaySeconds"`
	AfterSilenceSeconds    int  `json:"afterSilenceSeconds"`
	AfterSoloSeconds       int  `json:"afterSoloSeconds"`
	AfterMaxSeconds        int  `json:"afterMaxSeconds"`
	OnBotDetected          bool `json:"onBotDetected"`
}

// DefaultAutoLeave returns the defaults of the specification.
func DefaultAutoLeave() AutoLeave {
	return AutoLeave{
		AfterEntryDelaySeconds: 600,
		AfterSilenceSeconds:    1200,
		AfterSoloSeconds:       60,
		AfterMaxSeconds:        14400,
	}
}

// FailureCode says why a job failed (specification, FailureCode).
type FailureCode string

// The failure codes of the specification.
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

// FailureCodes lists every failure code in the specification's order.
func FailureCodes() []FailureCode {
	return []FailureCode{
		WaitingForHost, MeetingNotFound, HostDeniedAdmission, RemovedFromMeeting,
		MeetingEnded, InternalError, DispatchTimeout, NetworkLoss,
		RecordingDisabled, LobbyTimeout, AuthFailure, QuotaExceeded,
	}
}

// Known reports whether the code is one of the specification's.
func (c FailureCode) Valid() bool {
	for _, known := range FailureCodes() {
		if c == known {
			return true
		}
	}
	return false
}
