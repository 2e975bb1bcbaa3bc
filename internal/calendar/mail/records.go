package mail

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Record is a received message, for people.
type Record struct {
	ID         int64     `json:"id"`
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
// newest if it is 0.
func (s *Store) Records(ctx context.Context, before int64, limit int) ([]Record, error) {
	found, err := list(ctx, s.db, func(row *sql.Rows) (r Record, err error) {
		var at int64
		var next sql.NullInt64
		err = row.Scan(&r.ID, &at, &r.Source, &r.Sender, &r.Subject, &r.Auth, &r.Verdict, &r.Detail, &r.Attempts, &next, &r.Reply)
		if r.ReceivedAt = time.UnixMilli(at).UTC(); next.Valid {
			r.NextAt = time.UnixMilli(next.Int64).UTC()
		}
		return r, err
	}, `SELECT id, received_at, source, sender, subject, auth, verdict, detail, attempts, next_at, reply FROM messages
		WHERE $1 = 0 OR id < $1 ORDER BY id DESC LIMIT $2`, before, limit)
	for i := range found {
		if err == nil {
			found[i].Changes, err = s.changes(ctx, found[i].ID)
		}
	}
	return found, err
}

// changes returns the changes that a message caused, by time.
func (s *Store) changes(ctx context.Context, message int64) ([]Change, error) {
	return list(ctx, s.db, func(row *sql.Rows) (c Change, err error) {
		var at int64
		err = row.Scan(&c.JobID, &c.Kind, &c.Summary, &at, &c.Zone)
		c.Start = time.UnixMilli(at).UTC()
		return c, err
	}, `SELECT job, kind, summary, starts_at, zone FROM changes WHERE message = $1 ORDER BY starts_at, kind LIMIT 200`, message)
}

// Directory is the mail directory of a worker, which may be another process. It
// is opened when it is used.
type Directory string

// Exists reports whether a worker has used the directory.
func (d Directory) Exists() bool {
	_, err := os.Stat(filepath.Join(string(d), fileName))
	return err == nil
}

// Records returns received messages as Store.Records does.
func (d Directory) Records(ctx context.Context, before int64, limit int) (found []Record, err error) {
	if !d.Exists() {
		return nil, nil
	}
	err = d.with(ctx, func(s *Store) (err error) {
		found, err = s.Records(ctx, before, limit)
		return err
	})
	return found, err
}

// Retry processes a message again. The worker notices within pollInterval.
func (d Directory) Retry(ctx context.Context, id int64) error {
	if !d.Exists() {
		return ErrNoMessage
	}
	return d.with(ctx, func(s *Store) error { return s.Retry(ctx, id, time.Now()) })
}

func (d Directory) with(ctx context.Context, fn func(*Store) error) error {
	s, err := openStore(ctx, string(d), 0)
	if err != nil {
		return err
	}
	return errors.Join(fn(s), s.Close())
}
