package store

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
)

const userColumns = `u.id, u.consumer_id, c.name, u.email, u.name, u.role, u.operator, u.founder, u.password_hash,
	u.oidc_issuer, u.oidc_subject, u.created_at, u.last_sign_in_at`

const selectUsers = `SELECT ` + userColumns + ` FROM users u JOIN consumers c ON c.id = u.consumer_id `

// HasUsers implements account.UserStore.
func (db *Reader) HasUsers(ctx context.Context) (bool, error) {
	return queryValue[bool](ctx, db, "look for users", `SELECT EXISTS (SELECT 1 FROM users)`)
}

// UserByEmail implements account.UserStore. It uses the UNIQUE index of the
// e-mail.
func (db *Reader) UserByEmail(ctx context.Context, email string) (account.User, error) {
	return queryOne(ctx, db, "user", scanUser, selectUsers+`WHERE u.email = $1`, email)
}

// UserByIdentity implements account.UserStore. It uses the index
// users_identity.
func (db *Reader) UserByIdentity(ctx context.Context, identity account.Identity) (account.User, error) {
	return queryOne(ctx, db, "user", scanUser, selectUsers+`WHERE u.oidc_issuer = $1 AND u.oidc_subject = $2 AND u.oidc_issuer <> ''`,
		identity.Issuer, identity.Subject)
}

// ConsumerUsers implements account.UserStore. It uses the index users_consumer.
func (db *Reader) ConsumerUsers(ctx context.Context, consumerID uuid.UUID) ([]account.User, error) {
	return List(ctx, db, "list users", scanUser, selectUsers+`WHERE u.consumer_id = $1 ORDER BY u.email`, consumerID)
}

// RecordSignIn implements account.UserStore.
func (s *Store) RecordSignIn(ctx context.Context, id uuid.UUID, now time.Time) error {
	return s.exec(ctx, "note a sign-in", `UPDATE users SET last_sign_in_at = $2 WHERE id = $1`, id, now)
}

// SetIdentity implements account.UserStore.
func (s *Store) SetIdentity(ctx context.Context, id uuid.UUID, identity account.Identity) error {
	return s.exec(ctx, "set the identity of a user", `UPDATE users SET oidc_issuer = $2, oidc_subject = $3
		WHERE id = $1`, id, identity.Issuer, identity.Subject)
}

// SetPassword implements account.UserStore.
func (s *Store) SetPassword(ctx context.Context, id uuid.UUID, passwordHash, keepSession string) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if err := tx.exec(ctx, "set the password of a user", `UPDATE users SET password_hash = $2 WHERE id = $1`, id, passwordHash); err != nil {
			return err
		}
		return tx.exec(ctx, "end the sessions of a user", `DELETE FROM sessions WHERE user_id = $1 AND hash <> $2`, id, keepSession)
	})
}

// RemoveUser implements account.UserStore.
func (s *Store) RemoveUser(ctx context.Context, consumerID, id uuid.UUID, keepKeys bool) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if err := tx.checkOtherOperator(ctx, id); err != nil {
			return err
		}
		if keepKeys {
			err := tx.exec(ctx, "pass the keys of a user on", `UPDATE api_keys SET user_id = NULL
				WHERE consumer_id = $2 AND user_id = $1 AND reference = 0`, id, consumerID)
			if err != nil {
				return err
			}
		}
		return tx.change(ctx, "user", `DELETE FROM users WHERE id = $1 AND consumer_id = $2`, id, consumerID)
	})
}

// SetRole implements account.UserStore.
func (s *Store) SetRole(ctx context.Context, consumerID, id uuid.UUID, role account.Role) error {
	return s.change(ctx, "user", `UPDATE users SET role = $3 WHERE id = $1 AND consumer_id = $2`, id, consumerID, role)
}

// checkOtherOperator returns an error if the user is the only operator. It locks
// all operators until the transaction ends.
func (tx *Tx) checkOtherOperator(ctx context.Context, id uuid.UUID) error {
	operators, err := List(ctx, tx.Reader, "list operators", scanColumn[uuid.UUID], `SELECT id FROM users WHERE operator = 1 ORDER BY id`+
		tx.dialect.ForUpdate)
	if err != nil {
		return err
	}
	if slices.Equal(operators, []uuid.UUID{id}) {
		return job.NewInvalidState("this is the only operator")
	}
	return nil
}

func scanUser(r row, u *account.User) error {
	var founder sql.NullBool
	err := r.Scan(&u.ID, &u.ConsumerID, &u.Consumer, &u.Email, &u.Name, &u.Role, &u.Operator, &founder, &u.PasswordHash,
		&u.Identity.Issuer, &u.Identity.Subject, &u.CreatedAt, &u.LastSignInAt)
	u.Founder = founder.Valid
	return err
}

// AllUsers returns the users of all consumers, ordered by e-mail address.
func (db *Reader) AllUsers(ctx context.Context) ([]account.User, error) {
	return List(ctx, db, "list users", scanUser, selectUsers+`ORDER BY u.email`)
}

// SetOperator implements account.RecoveryStore.
func (s *Store) SetOperator(ctx context.Context, id uuid.UUID, operator bool) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if !operator {
			if err := tx.checkOtherOperator(ctx, id); err != nil {
				return err
			}
		}
		return tx.exec(ctx, "set the role of a user", `UPDATE users SET operator = $2 WHERE id = $1`, id, operator)
	})
}

const selectInvitations = `SELECT i.hash, i.consumer_id, COALESCE(c.name, ''), i.email, i.role, i.operator, i.created_at, i.expires_at
	FROM invitations i LEFT JOIN consumers c ON c.id = i.consumer_id `

// InsertInvitation implements account.UserStore.
func (s *Store) InsertInvitation(ctx context.Context, i account.Invitation) error {
	return s.exec(ctx, "insert an invitation", `INSERT INTO invitations (hash, consumer_id, email, role, operator, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		i.Hash, nullID(i.ConsumerID), i.Email, i.Role, i.Operator, i.CreatedAt, i.ExpiresAt)
}

// Invitation implements account.UserStore.
func (db *Reader) Invitation(ctx context.Context, hash string, now time.Time) (account.Invitation, error) {
	return queryOne(ctx, db, "invitation", scanInvitation, selectInvitations+`WHERE i.hash = $1 AND i.expires_at > $2`, hash, now)
}

// InvitationByEmail implements account.UserStore. It returns the newest
// invitation and uses the index invitations_email.
func (db *Reader) InvitationByEmail(ctx context.Context, email string, now time.Time) (account.Invitation, error) {
	return queryOne(ctx, db, "invitation", scanInvitation, selectInvitations+`
		WHERE i.email = $1 AND i.consumer_id IS NOT NULL AND i.expires_at > $2 ORDER BY i.created_at DESC LIMIT 1`,
		email, now)
}

// ConsumerInvitations implements account.UserStore. It returns the oldest first
// and uses the index invitations_consumer.
func (db *Reader) ConsumerInvitations(ctx context.Context, consumerID uuid.UUID, now time.Time) ([]account.Invitation, error) {
	return List(ctx, db, "list invitations", scanInvitation, selectInvitations+`
		WHERE i.consumer_id = $1 AND i.expires_at > $2 ORDER BY i.created_at, i.hash`, consumerID, now)
}

// AcceptInvitation implements account.UserStore. The error is a *job.Error with NotFound for a
// second founder, and with InvalidInput when the e-mail is taken.
func (s *Store) AcceptInvitation(ctx context.Context, hash string, u account.User, now time.Time) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		err := tx.change(ctx, "invitation", `DELETE FROM invitations WHERE hash = $1 AND expires_at > $2`, hash, now)
		if err != nil {
			return err
		}
		n, err := tx.Affected(ctx, "insert a user", `
			INSERT INTO users (id, consumer_id, email, name, role, operator, founder, password_hash, oidc_issuer, oidc_subject, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING`,
			u.ID, u.ConsumerID, u.Email, u.Name, u.Role, u.Operator, sql.NullInt64{Int64: 1, Valid: u.Founder}, u.PasswordHash,
			u.Identity.Issuer, u.Identity.Subject, u.CreatedAt)
		if err != nil || n == 1 {
			return err
		}
		if _, err := tx.UserByEmail(ctx, u.Email); err == nil {
			return job.NewInvalidInput("There is already a user with this email address.", "email")
		}
		return notFound("invitation")
	})
}

// DeleteInvitation implements account.UserStore.
func (s *Store) DeleteInvitation(ctx context.Context, consumerID uuid.UUID, hash string) error {
	return s.exec(ctx, "delete an invitation", `DELETE FROM invitations WHERE hash = $1 AND consumer_id = $2`, hash, consumerID)
}

func scanInvitation(r row, i *account.Invitation) error {
	return r.Scan(&i.Hash, &i.ConsumerID, &i.Consumer, &i.Email, &i.Role, &i.Operator, &i.CreatedAt, &i.ExpiresAt)
}

// InsertSession implements account.UserStore.
func (s *Store) InsertSession(ctx context.Context, session account.Session) error {
	return s.exec(ctx, "insert a session", `INSERT INTO sessions (hash, user_id, created_at, last_seen_at, expires_at)
		VALUES ($1, $2, $3, $4, $5)`,
		session.Hash, session.User.ID, session.CreatedAt, session.LastSeenAt, session.ExpiresAt)
}

// Session implements account.UserStore. It uses the primary keys of sessions,
// users and consumers.
func (db *Reader) Session(ctx context.Context, hash string, now time.Time) (account.Session, error) {
	return queryOne(ctx, db, "session", func(r row, s *account.Session) error {
		s.Hash = hash
		return scanUser(r.with(&s.CreatedAt, &s.LastSeenAt, &s.ExpiresAt), &s.User)
	}, `SELECT `+userColumns+`, s.created_at, s.last_seen_at, s.expires_at
		FROM sessions s JOIN users u ON u.id = s.user_id JOIN consumers c ON c.id = u.consumer_id
		WHERE s.hash = $1 AND s.expires_at > $2`, hash, now)
}

// TouchSession implements account.UserStore.
func (s *Store) TouchSession(ctx context.Context, hash string, now time.Time) error {
	return s.exec(ctx, "note the use of a session", `UPDATE sessions SET last_seen_at = $2 WHERE hash = $1`, hash, now)
}

// EndSession implements account.UserStore.
func (s *Store) EndSession(ctx context.Context, hash string) error {
	return s.exec(ctx, "end a session", `DELETE FROM sessions WHERE hash = $1`, hash)
}

// DeleteExpired deletes expired sessions, invitations, shared links, logins of command lines
// and kept answers, and old entries of audit logs. Each has an index of its expiry.
func (s *Store) DeleteExpired(ctx context.Context, now time.Time) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if err := tx.execAll(ctx, "delete what has expired", []string{
			`DELETE FROM sessions WHERE expires_at <= $1`,
			`DELETE FROM invitations WHERE expires_at <= $1`,
			`DELETE FROM share_links WHERE expires_at <= $1`,
			`DELETE FROM device_flows WHERE expires_at <= $1`,
			`DELETE FROM api_keys WHERE reference = 1 AND expires_at <= $1`, // of the API reference
		}, now); err != nil {
			return err
		}
		if err := tx.exec(ctx, "delete old answers", `DELETE FROM kept_requests WHERE at <= $1`,
			now.Add(-account.KeptLifetime)); err != nil {
			return err
		}
		return tx.exec(ctx, "delete old entries of audit logs", `DELETE FROM audit_log WHERE at <= $1`, now.Add(-account.AuditLifetime))
	})
}
