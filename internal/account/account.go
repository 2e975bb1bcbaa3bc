// Package account manages consumers, their API keys and webhook secrets, and the
// users of the dashboard. It contains no HTTP and no SQL.
package account

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/text"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
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
	SignIn                job.SignIn           // likewise; empty: if required
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

// Caller identifies the sender of an authenticated request: an API key, or a user of the
// dashboard.
type Caller struct {
	KeyID      uuid.UUID // uuid.Nil for a user
	KeyName    string    // what people recognize the key by
	Email      string    // of a user; empty for a key
	UserID     uuid.UUID // the user, or to whom the key belongs; uuid.Nil for a key of the team
	ConsumerID uuid.UUID
	Mode       job.Mode
	Scope      Scope
	Reference  bool // it is a key of the API reference
}

// CallerOf returns a user as a caller. Live and test jobs are separate.
func CallerOf(user User, mode job.Mode) Caller {
	return Caller{Email: user.Email, UserID: user.ID, ConsumerID: user.ConsumerID, Mode: mode, Scope: user.Role.Scope()}
}

// Actor returns the caller as an actor in audit logs.
func (c Caller) Actor() string {
	if c.Email != "" {
		return c.Email
	}
	return "key " + c.KeyName
}

// manages reports whether the caller may manage keys of a mode.
func (c Caller) manages(mode job.Mode) bool {
	return c.Mode == job.Live || mode == job.Test || c.Email != ""
}

// NewConsumer returns a consumer to insert. An empty webhook secret is generated.
func NewConsumer(name, email, webhookSecret string, now time.Time) Consumer {
	if webhookSecret == "" {
		webhookSecret = webhook.NewSecret()
	}
	return Consumer{
		ID: job.NewID(), Name: name, Email: email, WebhookSecret: webhookSecret,
		WebhookVersion: webhook.Version2, CreatedAt: now,
	}
}

// randomBytes returns n random bytes. crypto/rand never returns an error.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

// Role is what a user may do in the team. Each role includes the ones before it.
type Role string

// The roles of users.
const (
	Viewer Role = "viewer" // see jobs and recordings
	Member Role = "member" // also send and control bots, connect calendars, and delete recordings
	Admin  Role = "admin"  // also manage keys, webhooks and users
)

// Roles returns all roles.
func Roles() []Role { return []Role{Viewer, Member, Admin} }

func (r Role) check() error {
	if !slices.Contains(Roles(), r) {
		return job.NewInvalidInput(fmt.Sprintf("%q is not a role; use viewer, member or admin", r), "role")
	}
	return nil
}

// Allows reports whether a user with this role may do what needs another one.
func (r Role) Allows(needed Role) bool {
	own := slices.Index(Roles(), r)
	return own >= 0 && own >= slices.Index(Roles(), needed)
}

// Scope returns the scope of the keys of a user with this role.
func (r Role) Scope() Scope {
	switch r {
	case Admin:
		return AdminScope
	case Member:
		return JobsScope
	case Viewer:
	}
	return ReadScope
}

// secretOverlap is how long webhooks are also signed with the old secret after a
// rotation.
const secretOverlap = 24 * time.Hour

// SecretStore is the part of the database that RotateSecret uses.
type SecretStore interface {
	// RotateWebhookSecret sets the consumer's secret. The secret before remains
	// valid until previousUntil; older ones do not. The error is a *job.Error
	// with NotFound for an unknown consumer.
	RotateWebhookSecret(ctx context.Context, consumer uuid.UUID, secret string, previousUntil time.Time) error
}

// RotateSecret replaces the webhook secret of a consumer. It returns the new
// secret, and until when the old one also signs.
func RotateSecret(ctx context.Context, store SecretStore, consumer uuid.UUID,
	now time.Time) (secret string, previousUntil time.Time, err error) {
	secret, previousUntil = webhook.NewSecret(), now.Add(secretOverlap)
	return secret, previousUntil, store.RotateWebhookSecret(ctx, consumer, secret, previousUntil)
}

// AuditLifetime is how long the entries of the audit log are kept.
const AuditLifetime = 365 * 24 * time.Hour

// AuditEntry says who changed what in a team.
type AuditEntry struct {
	ID         uuid.UUID // orders the entries
	ConsumerID uuid.UUID
	At         time.Time
	Actor      string // an e-mail address, "key NAME", or CommandLine
	Action     string // in words, such as "created an API key"
	Target     string // an ID, a name or an address; may be empty
}

// NewAuditEntry returns an entry to append.
func NewAuditEntry(consumerID uuid.UUID, actor, action, target string, now time.Time) AuditEntry {
	return AuditEntry{
		ID: job.NewID(), ConsumerID: consumerID, At: now, Actor: actor, Action: action, Target: text.CleanLine(target, 300),
	}
}
