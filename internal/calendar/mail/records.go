package mail

import (
	"context"
	"time"

	"github.com/google/uuid"

	"standin/internal/store"
)

// Record is a received message, for people.
type Record struct {
	ID         uuid.UUID `json:"id"`
	ReceivedAt time.Time `json:"receivedAt"`
	Source     string    `json:"source"` // smtp or imap
	Sender     string    `json:"sender"` // unauthenticated if the message is refused
	Subject    string    `json:"subject"`
	Auth       string    `json:"auth"`    // how the sender was authenticated
	Verdict    string    `json:"verdict"` // waiting, accepted, ignored, refused or failed
	Detail     string    `json:"detail"`
	Attempts   int       `json:"attempts"`
	NextAt     time.Time `json:"nextAt,omitzero"` // next attempt; zero if there is none
	Reply      string    `json:"reply"`           // empty, waiting, sent or failed
	Changes    []Change  `json:"changes"`
}

// Change is a change of a job that a message caused.
type Change struct {
	JobID   string    `json:"jobId"`
	Kind    string    `json:"kind"` // scheduled, moved, updated, cancelled, dismissed or free_tier_exhausted
	Summary string    `json:"summary"`
	Start   time.Time `json:"start"`
	Zone    string    `json:"zone"` // IANA name; empty if unknown
}

// Records returns the newest messages before the one with the given ID, or the
// newest if it is uuid.Nil.
func (s *Store) Records(ctx context.Context, before uuid.UUID, limit int) ([]Record, error) {
	if before == uuid.Nil {
		before = uuid.Max
	}
	found, err := list(ctx, s.DB.Reader, func(row store.Row, r *Record) error {
		return row.Scan(&r.ID, &r.ReceivedAt, &r.Source, &r.Sender, &r.Subject, &r.Auth, &r.Verdict, &r.Detail, &r.Attempts, &r.NextAt, &r.Reply)
	}, `SELECT id, received_at, source, sender, subject, auth, verdict, detail, attempts, next_at, reply FROM mail_messages
		WHERE id < $1 ORDER BY id DESC LIMIT $2`, before, limit)
	for i := range found {
		if err == nil {
			found[i].Changes, err = s.changes(ctx, found[i].ID)
		}
	}
	return found, err
}

// changes returns the changes that a message caused, by time.
func (s *Store) changes(ctx context.Context, message uuid.UUID) ([]Change, error) {
	return list(ctx, s.DB.Reader, func(row store.Row, c *Change) error {
		return row.Scan(&c.JobID, &c.Kind, &c.Summary, &c.Start, &c.Zone)
	}, `SELECT job, kind, summary, starts_at, zone FROM mail_changes WHERE message = $1 ORDER BY starts_at, kind LIMIT 200`, message)
}
