// Package account manages consumers, their API keys and webhook secrets, and the
// users of the dashboard. It contains no HTTP and no SQL.
package account

import (
	"crypto/rand"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/webhook"
)

// Consumer is a customer of the service. It owns jobs, keys and a webhook secret.
type Consumer struct {
	ID                    uuid.UUID
	Name                  string
	Email                 string // empty when unknown
	WebhookSecret         string
	PreviousWebhookSecret string // also signs until PreviousSecretExpires
	PreviousSecretExpires time.Time
	WebhookURL            string // default endpoint of jobs without webhook URLs; may be empty
	WebhookVersion        int
	TranscriptEvent       bool                 // receives the webhook event job.transcript_ready
	CommandEvent          bool                 // receives the webhook event bot.command_outcome
	Recording             job.RecordingOptions // of jobs that do not set their own
	Output                *job.OutputOptions   // likewise; nil: their bots neither play nor show anything
	CreatedAt             time.Time
	Retention             *time.Duration // how long recordings are kept; nil means the default, 0 forever
	JobRetention          *time.Duration // how long ended jobs are kept, likewise
}

// WebhookSecrets returns the secrets that sign webhooks, the current one first.
func (c Consumer) WebhookSecrets() []webhook.Secret {
	secrets := []webhook.Secret{{Value: c.WebhookSecret}}
	if c.PreviousWebhookSecret != "" {
		secrets = append(secrets, webhook.Secret{Value: c.PreviousWebhookSecret, ExpiresAt: c.PreviousSecretExpires})
	}
	return secrets
}

// Caller identifies the sender of an authenticated request.
type Caller struct {
	KeyID      uuid.UUID
	KeyName    string // what people recognize the key by
	ConsumerID uuid.UUID
	Mode       job.Mode
	Scope      Scope
}

// Actor returns the caller as an actor in audit logs.
func (c Caller) Actor() string { return "key " + c.KeyName }

// manages reports whether the caller may manage keys of a mode.
func (c Caller) manages(mode job.Mode) bool { return c.Mode == job.Live || mode == job.Test }

// NewConsumer returns a consumer to insert. An empty webhook secret is generated.
func NewConsumer(name, email, webhookSecret string, now time.Time) Consumer {
	if webhookSecret == "" {
		webhookSecret = webhook.NewSecret()
	}
	return Consumer{
		ID: uuid.Must(uuid.NewV7()), Name: name, Email: email, WebhookSecret: webhookSecret,
		WebhookVersion: webhook.Version2, CreatedAt: now,
	}
}

// randomBytes returns n random bytes. crypto/rand never returns an error.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}
