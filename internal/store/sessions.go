package store

import (
	"context"
	"fmt"
	"time"

	"standin/internal/account"
	"standin/internal/store/sqldb"
)

// InsertSession implements account.UserStore.
func (s *Store) InsertSession(ctx context.Context, session account.Session) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.exec(ctx, `INSERT INTO sessions (hash, user_id, created_at, last_seen_at, expires_at) VALUES ($1, $2, $3, $4, $5)`,
			session.Hash, session.User.ID, millis(session.CreatedAt), millis(session.LastSeenAt), millis(session.ExpiresAt))
		if err != nil {
			return fmt.Errorf("insert session: %w", err)
		}
		return nil
	})
}

// Session implements account.UserStore. It uses the primary keys of sessions,
// users and consumers.
func (db *Reader) Session(ctx context.Context, hash string, now time.Time) (account.Session, error) {
	return one(db.queryRow(ctx, `SELECT `+userColumns+`, s.created_at, s.last_seen_at, s.expires_at
		FROM sessions s JOIN users u ON u.id = s.user_id JOIN consumers c ON c.id = u.consumer_id
		WHERE s.hash = $1 AND s.expires_at > $2`, hash, millis(now)), func(row sqldb.Row) (account.Session, error) {
		found := account.Session{Hash: hash}
		var err error
		found.User, err = scanUser(extraColumns{row, []any{timeColumn{&found.CreatedAt}, timeColumn{&found.LastSeenAt}, timeColumn{&found.ExpiresAt}}})
		return found, err
	}, "session")
}

// TouchSession implements account.UserStore.
func (s *Store) TouchSession(ctx context.Context, hash string, now time.Time) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.exec(ctx, `UPDATE sessions SET last_seen_at = $2 WHERE hash = $1`, hash, millis(now))
		return err
	})
}

// EndSession implements account.UserStore.
func (s *Store) EndSession(ctx context.Context, hash string) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if _, err := tx.exec(ctx, `DELETE FROM sessions WHERE hash = $1`, hash); err != nil {
			return fmt.Errorf("end a session: %w", err)
		}
		return nil
	})
}

// DeleteExpired implements account.UserStore. It uses the indexes
// sessions_expiry, invitations_expiry, share_links_expiry and audit_log_expiry.
func (s *Store) DeleteExpired(ctx context.Context, now time.Time) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		for _, table := range []string{"sessions", "invitations", "share_links"} {
			if _, err := tx.exec(ctx, `DELETE FROM `+table+` WHERE expires_at <= $1`, millis(now)); err != nil {
				return fmt.Errorf("delete the expired rows of %s: %w", table, err)
			}
		}
		if _, err := tx.exec(ctx, `DELETE FROM audit_log WHERE at <= $1`, millis(now.Add(-account.AuditLifetime))); err != nil {
			return fmt.Errorf("delete old entries of audit logs: %w", err)
		}
		return nil
	})
}
