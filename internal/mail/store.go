package mail

import (
	"context"
	"crypto/sha256"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver named sqlite

	"standin/internal/fsutil"
)

//go:embed schema.sql
var schema string

// fileName is the name of the worker's database in its directory.
const fileName = "mail.db"

// keepTime is how long processed messages and meetings that are over are kept.
const keepTime = 30 * 24 * time.Hour

// maxBacklog limits the messages of a sender domain that wait. Further ones are refused
// by SMTP for now.
const maxBacklog = 200

// errBacklog is returned for a message of a domain with too many waiting messages.
var errBacklog = errors.New("too many messages of the sender's domain wait to be processed")

// errFull is returned when there is no space for a message.
var errFull = errors.New("the mail directory has reached its maximum size")

// Store keeps received messages, the meetings in them, and what the service was
// asked for, in a SQLite file. A message is on disk when add returns. Its
// methods may be called from any goroutine.
type Store struct {
	db       *sql.DB
	maxBytes int64 // limit of the size of all messages
}

// OpenStore opens or creates the store in a directory. maxBytes limits the size
// of all messages.
func OpenStore(ctx context.Context, dir string, maxBytes int64) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the mail directory: %w", err)
	}
	path := filepath.Join(dir, fileName)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // SQLite gives its other files the same permissions
	if err != nil {
		return nil, fmt.Errorf("create the mail database: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("create the mail database: %w", err)
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+
		"?_pragma=busy_timeout(15000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)&_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("open the mail database: %w", err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("open the mail database %s: %w", path, err), db.Close())
	}
	return &Store{db: db, maxBytes: maxBytes}, nil
}

// Close closes the store.
func (s *Store) Close() error { return s.db.Close() }

// lockDir makes sure that one worker uses the directory at a time.
func lockDir(dir string) (*os.File, error) {
	lock, err := fsutil.TryLock(filepath.Join(dir, "mail.lock"))
	if errors.Is(err, fsutil.ErrLocked) {
		return nil, fmt.Errorf("another mail worker uses the directory %s: %w", dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the mail directory: %w", err)
	}
	return lock, nil
}

// write runs fn in a transaction that is on disk when write returns.
func (s *Store) write(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("mail database: %w", err)
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("mail database: %w", err)
	}
	return nil
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// exec runs a statement.
func exec(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	if _, err := tx.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("mail database: %w", err)
	}
	return nil
}

// exec runs one statement in its own transaction.
func (s *Store) exec(ctx context.Context, query string, args ...any) error {
	return s.write(ctx, func(tx *sql.Tx) error { return exec(ctx, tx, query, args...) })
}

// list returns all rows of a query.
func list[T any](ctx context.Context, s *Store, scan func(scan func(...any) error) (T, error), query string, args ...any) (found []T, err error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("mail database: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		one, err := scan(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("mail database: %w", err)
		}
		found = append(found, one)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("mail database: %w", err)
	}
	return found, nil
}

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
		err := tx.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM messages WHERE key = $1), (SELECT COALESCE(SUM(size), 0) FROM messages)`, key).Scan(&known, &size)
		if err != nil {
			return fmt.Errorf("mail database: %w", err)
		}
		if known > 0 {
			return nil
		}
		if excess := size + int64(len(m.raw)) - s.maxBytes; excess > 0 {
			freed, err := deleteOldest(ctx, tx, excess)
			if err != nil {
				return err
			}
			if freed < excess {
				return errFull
			}
		}
		err = tx.QueryRowContext(ctx, `INSERT INTO messages (key, source, remote, received_at, raw, size, verdict, since, next_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $4, $4) RETURNING id`,
			key, m.source, m.remote, now.UnixMilli(), m.raw, len(m.raw), waiting).Scan(&id)
		if err != nil {
			return fmt.Errorf("mail database: %w", err)
		}
		if m.judgment == nil {
			return nil
		}
		if err := saveJudgment(ctx, tx, id, *m.judgment, now); err != nil {
			return err
		}
		return checkBacklog(ctx, tx, m.judgment.domain())
	})
	return id, err
}

// checkBacklog returns errBacklog if too many messages of a domain wait.
func checkBacklog(ctx context.Context, tx *sql.Tx, domain string) error {
	var count int
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM messages WHERE domain = $1 AND next_at IS NOT NULL`, domain).Scan(&count); err != nil {
		return fmt.Errorf("mail database: %w", err)
	}
	if domain != "" && count > maxBacklog {
		return errBacklog
	}
	return nil
}

// saveJudgment saves the fields of a message that people see, and what is known of
// its author. A message that waits is to be processed now.
func saveJudgment(ctx context.Context, tx *sql.Tx, id int64, j judgment, now time.Time) error {
	var next any
	if j.verdict == waiting {
		next = now.UnixMilli()
	}
	return exec(ctx, tx, `UPDATE messages SET message_id = $2, subject = $3, sender = $4, domain = $5, auth = $6, sealed = $7, addressed = $8, verdict = $9, detail = $10, next_at = $11
		WHERE id = $1`, id, j.content.id, j.content.subject, j.content.from, j.domain(), j.auth.method, j.auth.sealed, j.auth.addressed, j.verdict, j.detail, next)
}

// saveJudgment saves a judgment in its own transaction.
func (s *Store) saveJudgment(ctx context.Context, id int64, j judgment, now time.Time) error {
	return s.write(ctx, func(tx *sql.Tx) error { return saveJudgment(ctx, tx, id, j, now) })
}

// unused is the condition for messages that are processed and not the source of
// a meeting.
const unused = `next_at IS NULL AND reply_at IS NULL AND NOT EXISTS (SELECT 1 FROM events WHERE events.message = messages.id)`

// deleteOldest deletes the oldest unused messages until the given number of
// bytes is free, and returns how many are.
func deleteOldest(ctx context.Context, tx *sql.Tx, bytes int64) (freed int64, err error) {
	for freed < bytes {
		var id, size int64
		err := tx.QueryRowContext(ctx, `SELECT id, size FROM messages WHERE `+unused+` ORDER BY id LIMIT 1`).Scan(&id, &size)
		if errors.Is(err, sql.ErrNoRows) {
			return freed, nil
		}
		if err != nil {
			return freed, fmt.Errorf("mail database: %w", err)
		}
		if err := exec(ctx, tx, `DELETE FROM messages WHERE id = $1`, id); err != nil {
			return freed, err
		}
		freed += size
	}
	return freed, nil
}

// purge deletes meetings that are over and messages that were processed, after
// keepTime.
func (s *Store) purge(ctx context.Context, now time.Time) error {
	before := now.Add(-keepTime).UnixMilli()
	return s.write(ctx, func(tx *sql.Tx) error {
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
	id         int64
	source     string
	remote     string
	raw        []byte
	auth       authentication
	receivedAt time.Time
	since      time.Time
	attempts   int
}

// message returns a message.
func (s *Store) message(ctx context.Context, id int64) (p pending, err error) {
	var receivedAt, since int64
	err = s.db.QueryRowContext(ctx, `SELECT id, source, remote, raw, auth, sealed, addressed, received_at, since, attempts FROM messages WHERE id = $1`, id).
		Scan(&p.id, &p.source, &p.remote, &p.raw, &p.auth.method, &p.auth.sealed, &p.auth.addressed, &receivedAt, &since, &p.attempts)
	if err != nil {
		return pending{}, fmt.Errorf("mail database: %w", err)
	}
	p.receivedAt, p.since = time.UnixMilli(receivedAt), time.UnixMilli(since)
	return p, nil
}

// dueDomains returns the sender domains of the authenticated messages that are due.
func (s *Store) dueDomains(ctx context.Context, now time.Time) ([]string, error) {
	return list(ctx, s, func(scan func(...any) error) (domain string, err error) {
		err = scan(&domain)
		return domain, err
	}, `SELECT domain FROM messages WHERE next_at <= $1 AND auth <> '' GROUP BY domain ORDER BY MIN(next_at), domain`, now.UnixMilli())
}

// nextMessage returns the authenticated message of a domain that is due first.
func (s *Store) nextMessage(ctx context.Context, domain string, now time.Time) (pending, error) {
	var id int64
	err := s.db.QueryRowContext(ctx, `SELECT id FROM messages WHERE domain = $1 AND next_at <= $2 AND auth <> '' ORDER BY next_at, id LIMIT 1`, domain, now.UnixMilli()).Scan(&id)
	if err != nil {
		return pending{}, fmt.Errorf("mail database: %w", err)
	}
	return s.message(ctx, id)
}

// arrival is a message to authenticate.
type arrival struct {
	id int64
	at time.Time
}

// arrivals returns the first messages to authenticate, also those that are not yet
// due.
func (s *Store) arrivals(ctx context.Context, limit int) ([]arrival, error) {
	return list(ctx, s, func(scan func(...any) error) (a arrival, err error) {
		var at int64
		err = scan(&a.id, &at)
		a.at = time.UnixMilli(at)
		return a, err
	}, `SELECT id, next_at FROM messages WHERE next_at IS NOT NULL AND auth = '' ORDER BY next_at, id LIMIT $1`, limit)
}

// meeting identifies a meeting.
type meeting struct {
	organizer, uid string
}

// nextMeeting returns the meeting whose further occurrences are due first.
func (s *Store) nextMeeting(ctx context.Context, now time.Time) (m meeting, attempts int, ok bool, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT organizer, uid, attempts FROM meetings WHERE next_at <= $1 ORDER BY next_at LIMIT 1`, now.UnixMilli()).
		Scan(&m.organizer, &m.uid, &attempts)
	if errors.Is(err, sql.ErrNoRows) {
		return m, 0, false, nil
	}
	return m, attempts, err == nil, err
}

// nextWork returns when the next authenticated message or meeting is due; zero if
// there is none.
func (s *Store) nextWork(ctx context.Context) (time.Time, error) {
	return s.earliest(ctx, `SELECT MIN(at) FROM (SELECT MIN(next_at) AS at FROM messages WHERE next_at IS NOT NULL AND auth <> ''
		UNION ALL SELECT MIN(next_at) FROM meetings WHERE next_at IS NOT NULL)`)
}

// nextReply returns when the next reply is due; zero if there is none.
func (s *Store) nextReply(ctx context.Context) (time.Time, error) {
	return s.earliest(ctx, `SELECT MIN(reply_at) FROM messages WHERE reply_at IS NOT NULL`)
}

// earliest returns the time that a query finds; zero if there is none.
func (s *Store) earliest(ctx context.Context, query string) (time.Time, error) {
	var at sql.NullInt64
	if err := s.db.QueryRowContext(ctx, query).Scan(&at); err != nil {
		return time.Time{}, fmt.Errorf("mail database: %w", err)
	}
	if !at.Valid {
		return time.Time{}, nil
	}
	return time.UnixMilli(at.Int64), nil
}

// finish saves the verdict of a processed message. With reply, a reply is due.
func (s *Store) finish(ctx context.Context, id int64, verdict, detail string, reply bool, now time.Time) error {
	var replyAt any
	state := ""
	if reply {
		replyAt, state = now.UnixMilli(), waiting
	}
	return s.exec(ctx, `UPDATE messages SET verdict = $2, detail = $3, next_at = NULL,
		reply = CASE WHEN reply = '' THEN $4 ELSE reply END, reply_at = CASE WHEN reply = '' THEN $5 END WHERE id = $1`, id, verdict, detail, state, replyAt)
}

// retryLater saves that a message is to be processed again.
func (s *Store) retryLater(ctx context.Context, id int64, detail string, at time.Time) error {
	return s.exec(ctx, `UPDATE messages SET detail = $2, attempts = attempts + 1, next_at = $3 WHERE id = $1`, id, detail, at.UnixMilli())
}

// continueLater saves that a message is to be processed further after others had
// their turn.
func (s *Store) continueLater(ctx context.Context, id int64, now time.Time) error {
	return s.exec(ctx, `UPDATE messages SET next_at = $2 WHERE id = $1`, id, now.UnixMilli())
}

// ErrNoMessage is the error for a message that does not exist.
var ErrNoMessage = errors.New("there is no such message")

// Retry processes a message again, now. Jobs that it has scheduled stay.
func (s *Store) Retry(ctx context.Context, id int64, now time.Time) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `UPDATE messages SET verdict = $2, detail = '', attempts = 0, since = $3, next_at = $3, auth = '' WHERE id = $1`,
			id, waiting, now.UnixMilli())
		if err != nil {
			return fmt.Errorf("mail database: %w", err)
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return errors.Join(ErrNoMessage, err)
		}
		return nil
	})
}

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
	Kind    string    `json:"kind"` // scheduled, moved, updated, cancelled or free_tier_exhausted
	Summary string    `json:"summary"`
	Start   time.Time `json:"start"`
	Zone    string    `json:"zone"` // IANA name; empty if unknown
}

// Records returns the newest messages before the one with the given ID, or the
// newest if it is 0.
func (s *Store) Records(ctx context.Context, before int64, limit int) ([]Record, error) {
	found, err := list(ctx, s, func(scan func(...any) error) (r Record, err error) {
		var at int64
		var next sql.NullInt64
		err = scan(&r.ID, &at, &r.Source, &r.Sender, &r.Subject, &r.Auth, &r.Verdict, &r.Detail, &r.Attempts, &next, &r.Reply)
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
	return list(ctx, s, func(scan func(...any) error) (c Change, err error) {
		var at int64
		err = scan(&c.JobID, &c.Kind, &c.Summary, &at, &c.Zone)
		c.Start = time.UnixMilli(at).UTC()
		return c, err
	}, `SELECT job, kind, summary, starts_at, zone FROM changes WHERE message = $1 ORDER BY starts_at, kind LIMIT 200`, message)
}

// mailbox is the progress of reading an IMAP mailbox.
type mailbox struct {
	validity  uint32    // UIDVALIDITY, for which uid counts
	uid       uint32    // the last message that was stored or refused
	firstSeen time.Time // older messages are not read
}

// mailbox returns the progress of reading an IMAP mailbox; zero if the worker has
// not seen it.
func (s *Store) mailbox(ctx context.Context, name string) (mailbox, error) {
	var box mailbox
	var firstSeen int64
	err := s.db.QueryRowContext(ctx, `SELECT uid_validity, uid, first_seen_at FROM mailboxes WHERE name = $1`, name).Scan(&box.validity, &box.uid, &firstSeen)
	if errors.Is(err, sql.ErrNoRows) {
		return mailbox{}, nil
	}
	if err != nil {
		return mailbox{}, fmt.Errorf("mail database: %w", err)
	}
	box.firstSeen = time.UnixMilli(firstSeen)
	return box, nil
}

// saveMailbox saves the progress of reading an IMAP mailbox.
func (s *Store) saveMailbox(ctx context.Context, name string, box mailbox) error {
	return s.exec(ctx, `INSERT INTO mailboxes (name, uid_validity, uid, first_seen_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (name) DO UPDATE SET uid_validity = $2, uid = $3`, name, box.validity, box.uid, box.firstSeen.UnixMilli())
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
	s, err := OpenStore(ctx, string(d), 0)
	if err != nil {
		return err
	}
	return errors.Join(fn(s), s.Close())
}
