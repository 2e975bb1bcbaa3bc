package mail

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/jobs/runner"
	"standin/internal/store"
)

// maxBacklog limits the messages of a sender domain that wait. Further ones are refused
// by SMTP for now.
const maxBacklog = 200

// errBacklog is returned for a message of a domain with too many waiting messages.
var errBacklog = errors.New("too many messages of the sender's domain wait to be processed")

// received is a message as it was received.
type received struct {
	source   string // smtp or imap
	remote   string // address of the SMTP client
	origin   string // what distinguishes equal messages: the return path, or the mailbox and UID
	raw      []byte
	at       time.Time
	judgment *judgment // nil if the author is still to be authenticated
}

// receive stores a message that was received, and wakes the worker. It returns errFull if
// there is no space, and errBacklog if too many messages of the sender's domain wait.
func (w *Worker) receive(ctx context.Context, m received) error {
	w.step("received")
	var id uuid.UUID // uuid.Nil if it was received before
	now, sum := w.Now(), sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n%q\n", m.source, m.remote, m.origin)
	sum.Write(m.raw)
	key := hex.EncodeToString(sum.Sum(nil))
	err := w.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		id = uuid.Nil
		var known, size int64
		if _, err := get(ctx, tx.Reader, []any{&known, &size}, `SELECT (SELECT COUNT(*) FROM mail_messages WHERE message_key = $1),
			(SELECT COALESCE(SUM(size), 0) FROM mail_messages)`, key); err != nil || known > 0 {
			return err
		}
		if excess := size + int64(len(m.raw)) - w.MaxBytes; excess > 0 { // the oldest are deleted
			var freed int64
			_, err := get(ctx, tx.Reader, []any{&freed}, `SELECT COALESCE(SUM(size), 0) FROM mail_messages WHERE `+unused)
			if err == nil && freed < excess {
				err = errFull
			}
			if err == nil {
				err = exec(ctx, tx, `DELETE FROM mail_messages WHERE id IN (SELECT id FROM (SELECT id,
					SUM(size) OVER (ORDER BY id) - size AS freed FROM mail_messages WHERE `+unused+`) AS oldest WHERE freed < $1)`, excess)
			}
			if err != nil {
				return err
			}
		}
		id = job.NewID()
		err := exec(ctx, tx, `INSERT INTO mail_messages (id, message_key, source, remote, received_at, raw, size, verdict, since, next_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $5, $5) ON CONFLICT (message_key) DO NOTHING`,
			id, key, m.source, m.remote, now, base64.StdEncoding.EncodeToString(m.raw), len(m.raw), waiting)
		if err != nil || m.judgment == nil {
			return err
		}
		if err := saveJudgment(ctx, tx, id, *m.judgment, now); err != nil {
			return err
		}
		domain, backlog := m.judgment.domain(), 0
		_, err = get(ctx, tx.Reader, []any{&backlog}, `SELECT COUNT(*) FROM mail_messages WHERE domain = $1 AND next_at IS NOT NULL`, domain)
		if err == nil && domain != "" && backlog > maxBacklog {
			return errBacklog
		}
		return err
	})
	if err != nil {
		return err
	}
	w.step("stored")
	switch {
	case id == uuid.Nil:
	case m.judgment == nil:
		w.arrivals.Wake()
	case m.judgment.verdict == waiting:
		w.messages.Wake()
	default:
		w.logVerdict(id, m.source, m.remote, *m.judgment)
	}
	return nil
}

// saveJudgment saves the fields of a message that people see, and what is known of
// its author. A message that waits is to be processed now.
func saveJudgment(ctx context.Context, tx *store.Tx, id uuid.UUID, j judgment, now time.Time) error {
	var next time.Time
	if j.verdict == waiting {
		next = now
	}
	return exec(ctx, tx, `UPDATE mail_messages SET message_id = $2, subject = $3, sender = $4, domain = $5, auth = $6, sealed = $7,
		addressed = $8, verdict = $9, detail = $10, next_at = $11
		WHERE id = $1`, id, j.content.id, j.content.subject, j.content.from, j.domain(), j.auth.method, j.auth.sealed, j.auth.addressed,
		j.verdict, j.detail, store.NullTime(next))
}

// unused is the condition for messages that are processed and not the source of
// a meeting.
const unused = `next_at IS NULL AND reply_at IS NULL AND NOT EXISTS (SELECT 1 FROM mail_events WHERE mail_events.message = mail_messages.id)`

// A message's verdict.
const (
	waiting  = "waiting"  // still to be processed, or the service cannot be reached
	accepted = "accepted" // the service has what it asks for
	ignored  = "ignored"  // has no invitation, or a meeting that cannot be recorded
	refused  = "refused"  // the sender is not authenticated or not allowed
	failed   = "failed"   // the service could not be reached for too long
)

// pending is a message to process.
type pending struct {
	received
	id       uuid.UUID
	auth     authentication
	since    time.Time
	attempts int
}

// message returns a message.
func (s *Store) message(ctx context.Context, id uuid.UUID) (p pending, err error) {
	var raw string
	ok, err := get(ctx, s.DB.Reader, []any{
		&p.id, &p.source, &p.remote, &raw, &p.auth.method, &p.auth.sealed, &p.auth.addressed, &p.at, &p.since, &p.attempts,
	}, `SELECT id, source, remote, raw, auth, sealed, addressed, received_at, since, attempts FROM mail_messages WHERE id = $1`, id)
	switch {
	case err != nil:
		return p, err
	case !ok:
		return p, ErrNoMessage
	}
	p.raw, err = base64.StdEncoding.DecodeString(raw)
	return p, err
}

// queue is a kind of work: the rows of a table with a time in a column for which a
// condition holds.
type queue struct{ name, table, column, condition string }

// newRunner returns the runner of a queue, in which sender domains take turns. Each domain is after
// an @: that of a sender whose domain is not known or does not count is empty.
func (w *Worker) newRunner(q queue, slots, share int, run func(ctx context.Context, id uuid.UUID) error) *runner.Runner[uuid.UUID] {
	db, now := w.Store, w.Now
	return &runner.Runner[uuid.UUID]{
		Name: q.name, Slots: slots, Share: share, Poll: pollInterval, Lease: lease, Limit: itemTime, Now: now, Log: w.Log,
		Teams: func(ctx context.Context) ([]string, error) {
			return list(ctx, db.Reader, func(row store.Row, domain *string) error { return row.Scan(domain) },
				`SELECT DISTINCT '@' || domain FROM `+q.table+` WHERE `+q.column+` <= $1 AND `+q.condition, now())
		},
		ClaimOf: func(ctx context.Context, domain string) (id uuid.UUID, ok bool, err error) {
			err = db.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
				ok, err = get(ctx, tx.Reader, []any{&id}, `SELECT id FROM `+q.table+` WHERE `+q.column+` <= $1 AND '@' || domain = $2 AND `+
					q.condition+` ORDER BY `+q.column+`, id LIMIT 1`+tx.SkipLocked(), now(), domain)
				if !ok || err != nil {
					return err
				}
				return exec(ctx, tx, `UPDATE `+q.table+` SET `+q.column+` = $2 WHERE id = $1`, id, now().Add(lease))
			})
			return id, ok, err
		},
		Extend: func(ctx context.Context, id uuid.UUID, until time.Time) error {
			return db.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
				n, err := tx.Affected(ctx, "extend a lease", `UPDATE `+q.table+` SET `+q.column+` = $2 WHERE id = $1 AND `+q.column+
					` IS NOT NULL AND `+q.condition, id, until)
				if err == nil && n == 0 {
					err = runner.ErrLost
				}
				return err
			})
		},
		Run: func(ctx context.Context, id uuid.UUID, _ *runner.Lease) error { return run(ctx, id) },
		ID:  uuid.UUID.String,
	}
}

// meeting identifies a meeting.
type meeting struct {
	organizer, uid string
}

// ErrNoMessage is the error for a message that does not exist.
var ErrNoMessage = errors.New("there is no such message")

// Retry processes a message again, now. Jobs that it has scheduled stay.
func (s *Store) Retry(ctx context.Context, id uuid.UUID, now time.Time) error {
	return s.DB.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.Affected(ctx, "retry a message", `UPDATE mail_messages SET verdict = $2, detail = '', attempts = 0, since = $3, next_at = $3,
			auth = '' WHERE id = $1`, id, waiting, now)
		if err == nil && n == 0 {
			err = ErrNoMessage
		}
		return err
	})
}
