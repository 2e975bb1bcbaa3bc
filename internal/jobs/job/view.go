package job

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// View is the JSON of a job in API responses and webhook payloads, the Job
// schema of api/openapi.yaml. Every field is always present.
type View struct {
	ID            uuid.UUID       `json:"id"`
	ExternalID    string          `json:"externalId"`
	Status        Status          `json:"status"`
	MeetingURL    string          `json:"meetingUrl"`
	Platform      Platform        `json:"platform"`
	JoinAt        Timestamp       `json:"joinAt"`
	Attempts      int             `json:"attempts"`
	CreatedAt     Timestamp       `json:"createdAt"`
	StartedAt     *Timestamp      `json:"startedAt"`
	FinalizedAt   *Timestamp      `json:"finalizedAt"`
	ManifestURI   *string         `json:"manifestUri"`
	FailureCode   *FailureCode    `json:"failureCode"`
	FailureDetail *string         `json:"failureDetail"`
	Metadata      json.RawMessage `json:"metadata"`
	AutoLeave     AutoLeave       `json:"autoLeave"`
}

// NewView returns the View of a job.
func NewView(j Job) View {
	view := View{
		ID:          j.ID,
		ExternalID:  j.ExternalID,
		Status:      j.Status,
		MeetingURL:  j.MeetingURL,
		Platform:    j.Platform,
		JoinAt:      Timestamp(j.JoinAt),
		Attempts:    j.Attempts,
		CreatedAt:   Timestamp(j.CreatedAt),
		StartedAt:   NullTimestamp(j.StartedAt),
		FinalizedAt: NullTimestamp(j.FinalizedAt),
		Metadata:    j.Metadata,
		AutoLeave:   j.AutoLeave,
	}
	if j.ManifestURI != "" {
		view.ManifestURI = new(j.ManifestURI)
	}
	if j.Status == Failed {
		view.FailureCode, view.FailureDetail = new(j.FailureCode), new(j.FailureText())
	}
	if len(view.Metadata) == 0 {
		view.Metadata = json.RawMessage("{}")
	}
	return view
}

// FailureText returns the failure detail, or the failure code in words when
// the bot reported no detail.
func (j Job) FailureText() string {
	return cmp.Or(j.FailureDetail, strings.ReplaceAll(string(j.FailureCode), "_", " "))
}

// Timestamp is a time in JSON: UTC with milliseconds, as 2006-01-02T15:04:05.000Z.
type Timestamp time.Time

const timestampLayout = "2006-01-02T15:04:05.000Z"

// NullTimestamp returns the time as a Timestamp, nil for the zero time.
func NullTimestamp(t time.Time) *Timestamp {
	if t.IsZero() {
		return nil
	}
	return new(Timestamp(t))
}

// Time returns the timestamp as a time.
func (t Timestamp) Time() time.Time { return time.Time(t) }

// IsZero reports whether the timestamp is that of the zero time.
func (t Timestamp) IsZero() bool { return time.Time(t).IsZero() }

func (t Timestamp) String() string { return time.Time(t).UTC().Format(timestampLayout) }

// MarshalText formats the timestamp, truncated to milliseconds.
func (t Timestamp) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText parses any RFC 3339 time.
func (t *Timestamp) UnmarshalText(text []byte) error {
	parsed, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return fmt.Errorf("parse timestamp: %w", err)
	}
	*t = Timestamp(parsed)
	return nil
}

// Latest returns the latest of some times.
func Latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// Earliest returns the earliest of some times.
func Earliest(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }
