package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/store/sqldb"
)

const userColumns = `u.id, u.consumer_id, c.name, u.email, u.name, u.role, u.operator, u.founder, u.password_hash,
	u.oidc_issuer, u.oidc_subject, u.created_at, u.last_sign_in_at`

const selectUsers = `SELECT ` + userColumns + ` FROM users u JOIN consumers c ON c.id = u.consumer_id `

// HasUsers implements account.UserStore.
func (db *Reader) HasUsers(ctx context.Context) (bool, error) {
	var n int
	if err := db.queryRow(ctx, `SELECT COUNT(*) FROM (SELECT 1 FROM users LIMIT 1) AS one`).Scan(&n); err != nil {
		return false, fmt.Errorf("count users: %w", err)
	}
	return n > 0, nil
}

// UserByEmail implements account.UserStore. It uses the UNIQUE index of the
// e-mail.
func (db *Reader) UserByEmail(ctx context.Context, email string) (account.User, error) {
	return one(db.queryRow(ctx, selectUsers+`WHERE u.email = $1`, email), scanUser, "user")
}

// UserByIdentity implements account.UserStore. It uses the index
// users_identity.
func (db *Reader) UserByIdentity(ctx context.Context, identity account.Identity) (account.User, error) {
	return one(db.queryRow(ctx, selectUsers+`WHERE u.oidc_issuer = $1 AND u.oidc_subject = $2 AND u.oidc_issuer <> ''`,
		identity.Issuer, identity.Subject), scanUser, "user")
}

// ConsumerUsers implements account.UserStore. It uses the index users_consumer.
func (db *Reader) ConsumerUsers(ctx context.Context, consumerID uuid.UUID) ([]account.User, error) {
	users, err := list(ctx, db, scanUser, selectUsers+`WHERE u.consumer_id = $1 ORDER BY u.email`, consumerID)
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	return users, nil
}

// RecordSignIn implements account.UserStore.
func (s *Store) RecordSignIn(ctx context.Context, id uuid.UUID, now time.Time) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.exec(ctx, `UPDATE users SET last_sign_in_at = $2 WHERE id = $1`, id, millis(now))
		return err
	})
}

// SetIdentity implements account.UserStore.
func (s *Store) SetIdentity(ctx context.Context, id uuid.UUID, identity account.Identity) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.exec(ctx, `UPDATE users SET oidc_issuer = $2, oidc_subject = $3 WHERE id = $1`, id, identity.Issuer, identity.Subject)
		if err != nil {
			return fmt.Errorf("set the identity of user %s: %w", id, err)
		}
		return nil
	})
}

// SetPassword implements account.UserStore.
func (s *Store) SetPassword(ctx context.Context, id uuid.UUID, passwordHash, keepSession string) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if _, err := tx.exec(ctx, `UPDATE users SET password_hash = $2 WHERE id = $1`, id, passwordHash); err != nil {
			return fmt.Errorf("set the password of user %s: %w", id, err)
		}
		if _, err := tx.exec(ctx, `DELETE FROM sessions WHERE user_id = $1 AND hash <> $2`, id, keepSession); err != nil {
			return fmt.Errorf("end the sessions of user %s: %w", id, err)
		}
		return nil
	})
}

// RemoveUser implements account.UserStore.
func (s *Store) RemoveUser(ctx context.Context, consumerID, id uuid.UUID, revokeKeys time.Time) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if err := tx.checkOtherOperator(ctx, id); err != nil {
			return err
		}
		if _, err := tx.exec(ctx, `DELETE FROM sessions WHERE user_id IN (SELECT id FROM users WHERE id = $1 AND consumer_id = $2)`, id, consumerID); err != nil {
			return fmt.Errorf("end the sessions of user %s: %w", id, err)
		}
		if !revokeKeys.IsZero() {
			_, err := tx.exec(ctx, `UPDATE api_keys SET revoked_at = $3 WHERE consumer_id = $2 AND revoked_at IS NULL
				AND created_by = (SELECT email FROM users WHERE id = $1 AND consumer_id = $2)`, id, consumerID, millis(revokeKeys))
			if err != nil {
				return fmt.Errorf("revoke the keys of user %s: %w", id, err)
			}
		}
		n, err := tx.exec(ctx, `DELETE FROM users WHERE id = $1 AND consumer_id = $2`, id, consumerID)
		if err != nil {
			return fmt.Errorf("remove user %s: %w", id, err)
		}
		if n == 0 {
			return notFound("user")
		}
		return nil
	})
}

// SetRole implements account.UserStore.
func (s *Store) SetRole(ctx context.Context, consumerID, id uuid.UUID, role account.Role) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		n, err := tx.exec(ctx, `UPDATE users SET role = $3 WHERE id = $1 AND consumer_id = $2`, id, consumerID, role)
		if err != nil {
			return fmt.Errorf("set the role of user %s: %w", id, err)
		}
		if n == 0 {
			return notFound("user")
		}
		return nil
	})
}

// checkOtherOperator returns an error if the user is the only operator. It locks
// all operators until the transaction ends.
func (tx *Tx) checkOtherOperator(ctx context.Context, id uuid.UUID) error {
	operators, err := list(ctx, &tx.Reader, scanColumn[uuid.UUID], `SELECT id FROM users WHERE operator = 1 ORDER BY id`+tx.dialect.ForUpdate)
	if err != nil {
		return fmt.Errorf("list operators: %w", err)
	}
	if slices.Equal(operators, []uuid.UUID{id}) {
		return &job.Error{Code: job.InvalidState, Message: "this is the only operator"}
	}
	return nil
}

// insertUser inserts a user. The error is a *job.Error with NotFound for a
// second founder, and with InvalidInput when the e-mail is taken.
func (tx *Tx) insertUser(ctx context.Context, u account.User) error {
	n, err := tx.exec(ctx, `
		INSERT INTO users (id, consumer_id, email, name, role, operator, founder, password_hash, oidc_issuer, oidc_subject, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING`,
		u.ID, u.ConsumerID, u.Email, u.Name, u.Role, boolInt(u.Operator), sql.NullInt64{Int64: 1, Valid: u.Founder}, u.PasswordHash,
		u.Identity.Issuer, u.Identity.Subject, millis(u.CreatedAt))
	if err != nil {
		return fmt.Errorf("insert user: %w", err)
	}
	if n == 1 {
		return nil
	}
	if _, err := tx.UserByEmail(ctx, u.Email); err == nil {
		return &job.Error{Code: job.InvalidInput, Message: "There is already a user with this email address.", Path: []any{"email"}}
	}
	return notFound("invitation")
}

func scanUser(row sqldb.Row) (u account.User, err error) {
	var founder sql.NullBool
	err = row.Scan(&u.ID, &u.ConsumerID, &u.Consumer, &u.Email, &u.Name, &u.Role, &u.Operator, &founder, &u.PasswordHash,
		&u.Identity.Issuer, &u.Identity.Subject, timeColumn{&u.CreatedAt}, timeColumn{&u.LastSignInAt})
	u.Founder = founder.Valid
	return u, err
}
