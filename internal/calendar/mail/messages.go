package mail

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"standin/internal/jobs/runner"
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

// add stores a message that was received and returns its ID; 0 if the store has it.
// It returns errFull if there is no space, and errBacklog if too many messages of the
// sender's domain wait.
func (s *Store) add(ctx context.Context, m received, now time.Time) (id int64, err error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n%q\n", m.source, m.remote, m.origin)
	sum.Write(m.raw)
	key := sum.Sum(nil)
	err = s.write(ctx, func(tx *sql.Tx) error {
		var known, size int64
		err := tx.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM messages WHERE key = $1), (SELECT COALESCE(SUM(size), 0)
			FROM messages)`, key).Scan(&known, &size)
		if err != nil {
			return wrap(err)
		}
		if known > 0 {
			return nil
		}
		if excess := size + int64(len(m.raw)) - s.maxBytes; excess > 0 { // the oldest are deleted
			var freed int64
			err := tx.QueryRowContext(ctx, `SELECT COALESCE(SUM(size), 0) FROM messages WHERE `+unused).Scan(&freed)
			if err == nil && freed < excess {
				return errFull
			}
			err = errors.Join(err, exec(ctx, tx, `DELETE FROM messages WHERE id IN (SELECT id FROM (SELECT id,
				SUM(size) OVER (ORDER BY id) - size AS freed FROM messages WHERE `+unused+`) WHERE freed < $1)`, excess))
			if err != nil {
				return wrap(err)
			}
		}
		err = tx.QueryRowContext(ctx, `INSERT INTO messages (key, source, remote, received_at, raw, size, verdict, since, next_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $4, $4) RETURNING id`,
			key, m.source, m.remote, now.UnixMilli(), m.raw, len(m.raw), waiting).Scan(&id)
		if err != nil || m.judgment == nil {
			return wrap(err)
		}
		if err := saveJudgment(ctx, tx, id, *m.judgment, now); err != nil {
			return err
		}
		domain, backlog := m.judgment.domain(), 0
		err = tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM messages WHERE domain = $1 AND next_at IS NOT NULL`, domain).Scan(&backlog)
		if err == nil && domain != "" && backlog > maxBacklog {
			return errBacklog
		}
		return wrap(err)
	})
	return id, err
}

// saveJudgment saves the fields of a message that people see, and what is known of
// its author. A message that waits is to be processed now.
func saveJudgment(ctx context.Context, tx *sql.Tx, id int64, j judgment, now time.Time) error {
	var next any
	if j.verdict == waiting {
		next = now.UnixMilli()
	}
	return exec(ctx, tx, `UPDATE messages SET message_id = $2, subject = $3, sender = $4, domain = $5, auth = $6, sealed = $7,
		addressed = $8, verdict = $9, detail = $10, next_at = $11
		WHERE id = $1`, id, j.content.id, j.content.subject, j.content.from, j.domain(), j.auth.method, j.auth.sealed, j.auth.addressed,
		j.verdict, j.detail, next)
}

// unused is the condition for messages that are processed and not the source of
// a meeting.
const unused = `next_at IS NULL AND reply_at IS NULL AND NOT EXISTS (SELECT 1 FROM events WHERE events.message = messages.id)`

// purge deletes meetings that are over and messages that were processed, after
// keepTime.
func (w *Worker) purge(ctx context.Context) error {
	before := w.settings.Now().Add(-keepTime).UnixMilli()
	return w.store.write(ctx, func(tx *sql.Tx) error {
		return errors.Join(
			exec(ctx, tx, `DELETE FROM meetings WHERE next_at IS NULL AND updated_at < $1`, before),
			exec(ctx, tx, `DELETE FROM messages WHERE received_at < $1 AND `+unused, before))
	})
}

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
	id       int64
	auth     authentication
	since    time.Time
	attempts int
}

// message returns a message.
func (s *Store) message(ctx context.Context, id int64) (p pending, err error) {
	var receivedAt, since int64
	err = s.db.QueryRowContext(ctx, `SELECT id, source, remote, raw, auth, sealed, addressed, received_at, since, attempts FROM messages
		WHERE id = $1`, id).
		Scan(&p.id, &p.source, &p.remote, &p.raw, &p.auth.method, &p.auth.sealed, &p.auth.addressed, &receivedAt, &since, &p.attempts)
	p.at, p.since = time.UnixMilli(receivedAt), time.UnixMilli(since)
	return p, wrap(err)
}

// queue is a kind of work: the rows of a table with a time in a column for which a
// condition holds.
type queue struct{ name, table, column, condition string }

// dueDomains returns the sender domains of rows that are due, each after an @: that of a
// sender whose domain is not known or does not count is empty.
func (s *Store) dueDomains(ctx context.Context, q queue, now time.Time) ([]string, error) {
	return list(ctx, s.db, func(row *sql.Rows) (domain string, err error) {
		err = row.Scan(&domain)
		return domain, err
	}, `SELECT DISTINCT '@' || domain FROM `+q.table+` WHERE `+q.column+` <= $1 AND `+q.condition, now.UnixMilli())
}

// claim leases the row of a domain that is due first.
func (s *Store) claim(ctx context.Context, q queue, domain string, now, until time.Time) (id int64, ok bool, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
		return wrap(tx.QueryRowContext(ctx, `UPDATE `+q.table+` SET `+q.column+` = $1 WHERE rowid = (SELECT rowid FROM `+q.table+`
			WHERE `+q.column+` <= $2 AND '@' || domain = $3 AND `+q.condition+` ORDER BY `+q.column+`, rowid LIMIT 1) RETURNING rowid`,
			until.UnixMilli(), now.UnixMilli(), domain).Scan(&id))
	})
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return id, err == nil, err
}

// extend sets when a row is due, or returns runner.ErrLost if it is not in the queue anymore.
func (s *Store) extend(ctx context.Context, q queue, id int64, at time.Time) error {
	err := s.write(ctx, func(tx *sql.Tx) error {
		return wrap(tx.QueryRowContext(ctx, `UPDATE `+q.table+` SET `+q.column+` = $2 WHERE rowid = $1 AND `+q.column+` IS NOT NULL
			AND `+q.condition+` RETURNING rowid`, id, at.UnixMilli()).Scan(&id))
	})
	if errors.Is(err, sql.ErrNoRows) {
		return runner.ErrLost
	}
	return err
}

// meeting identifies a meeting.
type meeting struct {
	organizer, uid string
}

// ErrNoMessage is the error for a message that does not exist.
var ErrNoMessage = errors.New("there is no such message")

// Retry processes a message again, now. Jobs that it has scheduled stay.
func (s *Store) Retry(ctx context.Context, id int64, now time.Time) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `UPDATE messages SET verdict = $2, detail = '', attempts = 0, since = $3, next_at = $3, auth = ''
			WHERE id = $1`,
			id, waiting, now.UnixMilli())
		if err != nil {
			return wrap(err)
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return errors.Join(ErrNoMessage, err)
		}
		return nil
	})
}
