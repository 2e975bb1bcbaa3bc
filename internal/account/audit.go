package account

import (
	"context"
	"time"

	"github.com/google/uuid"

	"standin/internal/text"
)

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

// AuditStore stores audit logs.
type AuditStore interface {
	AppendAudit(ctx context.Context, entry AuditEntry) error
	// AuditLog returns up to limit entries of a consumer, newest first, those older than the entry
	// with that ID if it is not uuid.Nil.
	AuditLog(ctx context.Context, consumerID, before uuid.UUID, limit int) ([]AuditEntry, error)
}

// NewAuditEntry returns an entry to append.
func NewAuditEntry(consumerID uuid.UUID, actor, action, target string, now time.Time) AuditEntry {
	const longest = 300
	return AuditEntry{
		ID: uuid.Must(uuid.NewV7()), ConsumerID: consumerID, At: now, Actor: actor, Action: action, Target: text.CleanLine(target, longest),
	}
}
