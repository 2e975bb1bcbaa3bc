package main

import (
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/server/httpapi"
)

// printJSON writes a value as indented JSON.
func printJSON(w io.Writer, value any) error {
	return printJSONLine(w, value, jsontext.WithIndent("  "))
}

// printJSONLine writes a value as the API does, as a line without other options, and a line break.
func printJSONLine(w io.Writer, value any, options ...json.Options) error {
	text, err := httpapi.EncodeJSON(value, options...)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// shownKey is the JSON form of a key.
type shownKey struct {
	ID         string     `json:"id"`
	Consumer   string     `json:"consumer"`
	Name       string     `json:"name"` // may be empty
	Mode       string     `json:"mode"`
	Scope      string     `json:"scope"` // read, jobs or admin
	Prefix     string     `json:"prefix"`
	CreatedAt  time.Time  `json:"createdAt"`
	CreatedBy  string     `json:"createdBy"` // e-mail of a user, or "command line"; empty when unknown
	LastUsedAt *time.Time `json:"lastUsedAt"`
	ExpiresAt  *time.Time `json:"expiresAt"`
	RevokedAt  *time.Time `json:"revokedAt"`
}

func showKey(k account.Key) shownKey {
	return shownKey{
		ID: k.ID.String(), Consumer: k.Consumer, Name: k.Name, Mode: string(k.Mode), Scope: string(k.Scope), Prefix: k.Prefix,
		CreatedAt: k.CreatedAt, CreatedBy: k.CreatedBy, LastUsedAt: timeOrNull(k.LastUsedAt), ExpiresAt: timeOrNull(k.ExpiresAt),
		RevokedAt: timeOrNull(k.RevokedAt),
	}
}

// shownConsumer is the JSON form of a consumer.
type shownConsumer struct {
	ID                  string             `json:"id"`
	Name                string             `json:"name"`
	Email               string             `json:"email"`
	WebhookURL          string             `json:"webhookUrl"`
	WebhookVersion      int                `json:"webhookVersion"`
	TranscriptEvent     bool               `json:"transcriptEvent"`         // receives job.transcript_ready
	CommandEvent        bool               `json:"commandEvent"`            // receives bot.command_outcome
	RecordingMode       string             `json:"recordingMode"`           // of jobs that do not set their own; empty: service default
	Layout              string             `json:"layout"`                  // likewise
	Resolution          string             `json:"resolution"`              // likewise
	Output              *job.OutputOptions `json:"output"`                  // likewise; null: none
	SignIn              job.SignIn         `json:"signIn"`                  // likewise; empty: ifRequired
	Mail                []string           `json:"mail,omitempty"`          // addresses and domains; only of show
	WebhookSecret       string             `json:"webhookSecret,omitempty"` // only with --secret
	RetentionSeconds    *float64           `json:"retentionSeconds"`        // null: service default; 0: forever
	JobRetentionSeconds *float64           `json:"jobRetentionSeconds"`     // the same, of jobs
	CreatedAt           time.Time          `json:"createdAt"`
}

func showConsumer(consumer account.Consumer) shownConsumer {
	return shownConsumer{
		ID: consumer.ID.String(), Name: consumer.Name, Email: consumer.Email, WebhookURL: consumer.WebhookURL,
		WebhookVersion:  consumer.WebhookVersion,
		TranscriptEvent: consumer.TranscriptEvent, CommandEvent: consumer.CommandEvent, CreatedAt: consumer.CreatedAt,
		RecordingMode: string(consumer.Recording.Mode), Layout: string(consumer.Recording.Layout),
		Resolution: string(consumer.Recording.Resolution),
		SignIn:     consumer.SignIn, Output: consumer.Output, RetentionSeconds: secondsOrNull(consumer.Retention),
		JobRetentionSeconds: secondsOrNull(consumer.JobRetention),
	}
}

func secondsOrNull(duration *time.Duration) *float64 {
	if duration == nil {
		return nil
	}
	return new(duration.Seconds())
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
