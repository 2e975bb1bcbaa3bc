package webhook

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// JobBody is a job as callers and receivers see it: every field is always
// present (specification, Job).
type JobBody struct {
	ID            uuid.UUID        `json:"id"`
	ExternalID    string           `json:"externalId"`
	Status        job.Status       `json:"status"`
	MeetingURL    string           `json:"meetingUrl"`
	Platform      job.Platform     `json:"platform"`
	JoinAt        Timestamp        `json:"joinAt"`
	Attempts      int              `json:"attempts"`
	CreatedAt     Timestamp        `json:"createdAt"`
	StartedAt     *Timestamp       `json:"startedAt"`
	FinalizedAt   *Timestamp       `json:"finalizedAt"`
	ManifestURI   *string          `json:"manifestUri"`
	FailureCode   *job.FailureCode `json:"failureCode"`
	FailureDetail *string          `json:"failureDetail"`
	Metadata      json.RawMessage  `json:"metadata"`
	AutoLeave     job.AutoLeave    `json:"autoLeave"`
}

// JobView returns the job's body.
func JobView(j job.Job) JobBody {
	body := JobBody{
		ID:          j.ID,
		ExternalID:  j.ExternalID,
		Status:      j.Status,
		MeetingURL:  j.MeetingURL,
		Platform:    j.Platform,
		JoinAt:      Timestamp(j.JoinAt),
		Attempts:    j.Attempts,
		CreatedAt:   Timestamp(j.CreatedAt),
		StartedAt:   timestampOrNull(j.StartedAt),
		FinalizedAt: timestampOrNull(j.FinalizedAt),
		Metadata:    j.Metadata,
		AutoLeave:   j.AutoLeave,
	}
	if j.ManifestURI != "" {
		body.ManifestURI = &j.ManifestURI
	}
	if j.Status == job.Failed {
		detail := failureDetail(j)
		body.FailureCode, body.FailureDetail = &j.FailureCode, &detail
	}
	if len(body.Metadata) == 0 {
		body.Metadata = json.RawMessage("{}")
	}
	return body
}

// failureDetail returns a sentence for every failed job: a failed job carries
// one (specification, States and transitions), and a bot that names a code need
// not name a detail.
func failureDetail(j job.Job) string {
	if j.FailureDetail != "" {
		return j.FailureDetail
	}
	return strings.ReplaceAll(string(j.FailureCode), "_", " ")
}

// Timestamp is a time on the wire: UTC, milliseconds, Z (contract, Jobs).
type Timestamp time.Time

const timestampLayout = "2006-01-02T15:04:05.000Z"

func timestampOrNull(t time.Time) *Timestamp {
	if t.IsZero() {
		return nil
	}
	timestamp := Timestamp(t)
	return &timestamp
}

// Time returns the timestamp as a time.
func (t Timestamp) Time() time.Time { return time.Time(t) }

func (t Timestamp) String() string { return time.Time(t).UTC().Format(timestampLayout) }

// MarshalText writes the timestamp, finer parts than a millisecond cut off.
func (t Timestamp) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads any RFC 3339 time.
func (t *Timestamp) UnmarshalText(text []byte) error {
	parsed, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return fmt.Errorf("read a timestamp: %w", err)
	}
	*t = Timestamp(parsed)
	return nil
}
