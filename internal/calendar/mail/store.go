package mail

import (
	"context"
	"errors"
	"time"

	"standin/internal/calendar/calendarsync"
	"standin/internal/store"
)

// keepTime is how long processed messages and meetings that are over are kept.
const keepTime = 30 * 24 * time.Hour

// errFull is returned when there is no space for a message.
var errFull = errors.New("received mail has reached its maximum size")

// Store keeps received messages and the meetings in them. A message is on disk when add
// returns. Its methods may be called from any goroutine.
type Store struct {
	DB       *store.Store
	Sealer   calendarsync.Key // of permissions to read a mailbox
	maxBytes int64            // limit of the size of all messages
}

// exec runs one statement in its own transaction.
func (s *Store) exec(ctx context.Context, query string, args ...any) error {
	return s.DB.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return exec(ctx, tx, query, args...) })
}

// exec runs a statement.
func exec(ctx context.Context, tx *store.Tx, query string, args ...any) error {
	_, err := tx.Affected(ctx, "change mail", query, args...)
	return err
}

// list returns all rows of a query.
func list[T any](ctx context.Context, db *store.Reader, scan func(store.Row, *T) error, query string, args ...any) ([]T, error) {
	return store.List(ctx, db, "read mail", scan, query, args...)
}

// get scans the first row of a query. It reports false without one.
func get(ctx context.Context, db *store.Reader, columns []any, query string, args ...any) (ok bool, err error) {
	_, err = list(ctx, db, func(row store.Row, _ *struct{}) error {
		if ok {
			return nil
		}
		ok = true
		return row.Scan(columns...)
	}, query, args...)
	return ok, err
}

// mailbox is the progress of reading an IMAP mailbox.
type mailbox struct {
	validity  uint32    // UIDVALIDITY, for which uid counts
	uid       uint32    // the last message that was stored or refused
	firstSeen time.Time // older messages are not read
}

// mailbox returns the progress of reading an IMAP mailbox; zero if the worker has
// not seen it.
func (s *Store) mailbox(ctx context.Context, name string) (box mailbox, err error) {
	_, err = get(ctx, s.DB.Reader, []any{&box.validity, &box.uid, &box.firstSeen},
		`SELECT uid_validity, uid, first_seen_at FROM mailboxes WHERE name = $1 AND first_seen_at > 0`, name)
	return box, err
}

// saveMailbox saves the progress of reading an IMAP mailbox.
func (s *Store) saveMailbox(ctx context.Context, name string, box mailbox) error {
	return s.exec(ctx, `INSERT INTO mailboxes (name, uid_validity, uid, first_seen_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (name) DO UPDATE SET uid_validity = $2, uid = $3, first_seen_at = $4`, name, box.validity, box.uid, box.firstSeen)
}

var errNoToken = errors.New("access to the mailbox has not been authorized")

// saveToken saves the refresh token of a mailbox.
func (s *Store) saveToken(ctx context.Context, mailbox, token string) error {
	return s.exec(ctx, `INSERT INTO mailboxes (name, uid_validity, uid, first_seen_at, refresh_token) VALUES ($1, 0, 0, 0, $2)
		ON CONFLICT (name) DO UPDATE SET refresh_token = $2`, mailbox, s.Sealer.Seal(mailbox, token))
}
