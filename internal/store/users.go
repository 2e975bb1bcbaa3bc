package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
)

const userColumns = `u.id, u.consumer_id, c.name, u.email, u.name, u.operator, u.founder, u.password_hash,
	u.oidc_issuer, u.oidc_subject, u.created_at, u.last_sign_in_at`

const fromUsers = ` FROM users u JOIN consumers c ON c.id = u.consumer_id `

// HasUsers implements account.UserStore.
func (q *Queries) HasUsers(ctx context.Context) (bool, error) {
	var n int
	if err := q.queryRow(ctx, `SELECT COUNT(*) FROM (SELECT 1 FROM users LIMIT 1) AS one`).Scan(&n); err != nil {
		return false, fmt.Errorf("look for users: %w", err)
	}
	return n > 0, nil
}

// UserByEmail implements account.UserStore. It uses the index that UNIQUE
// makes.
func (q *Queries) UserByEmail(ctx context.Context, email string) (account.User, error) {
	return oneUser(q.queryRow(ctx, `SELECT `+userColumns+fromUsers+`WHERE u.email = $1`, email))
}

// UserByIdentity implements account.UserStore. It uses the index
// users_identity.
func (q *Queries) UserByIdentity(ctx context.Context, identity account.Identity) (account.User, error) {
	return oneUser(q.queryRow(ctx, `SELECT `+userColumns+fromUsers+`
		WHERE u.oidc_issuer = $1 AND u.oidc_subject = $2 AND u.oidc_issuer <> ''`, identity.Issuer, identity.Subject))
}

// ConsumerUsers implements account.UserStore. It uses the index users_consumer.
func (q *Queries) ConsumerUsers(ctx context.Context, consumerID uuid.UUID) ([]account.User, error) {
	var users []account.User
	err := q.collect(ctx, func(rows *sql.Rows) error {
		u, err := scanUser(rows)
		users = append(users, u)
		return err
	}, `SELECT `+userColumns+fromUsers+`WHERE u.consumer_id = $1 ORDER BY u.email`, consumerID)
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	return users, nil
}

// RecordSignIn implements account.UserStore.
func (s *Store) RecordSignIn(ctx context.Context, id uuid.UUID, now time.Time) error {
	return s.Write(ctx, func(q *Queries) error {
		_, err := q.exec(ctx, `UPDATE users SET last_sign_in_at = $2 WHERE id = $1`, id, millis(now))
		return err
	})
}

// SetIdentity implements account.UserStore.
func (s *Store) SetIdentity(ctx context.Context, id uuid.UUID, identity account.Identity) error {
	return s.Write(ctx, func(q *Queries) error {
		_, err := q.exec(ctx, `UPDATE users SET oidc_issuer = $2, oidc_subject = $3 WHERE id = $1`, id, identity.Issuer, identity.Subject)
		if err != nil {
			return fmt.Errorf("keep who user %s is elsewhere: %w", id, err)
		}
		return nil
	})
}

// SetPassword implements account.UserStore.
func (s *Store) SetPassword(ctx context.Context, id uuid.UUID, passwordHash, keepSession string) error {
	return s.Write(ctx, func(q *Queries) error {
		if _, err := q.exec(ctx, `UPDATE users SET password_hash = $2 WHERE id = $1`, id, passwordHash); err != nil {
			return fmt.Errorf("set the password of user %s: %w", id, err)
		}
		if _, err := q.exec(ctx, `DELETE FROM sessions WHERE user_id = $1 AND hash <> $2`, id, keepSession); err != nil {
			return fmt.Errorf("end the sessions of user %s: %w", id, err)
		}
		return nil
	})
}

// RemoveUser implements account.UserStore.
func (s *Store) RemoveUser(ctx context.Context, consumerID, id uuid.UUID) error {
	return s.Write(ctx, func(q *Queries) error {
		if err := q.lastOperator(ctx, id); err != nil {
			return err
		}
		if _, err := q.exec(ctx, `DELETE FROM sessions WHERE user_id IN (SELECT id FROM users WHERE id = $1 AND consumer_id = $2)`, id, consumerID); err != nil {
			return fmt.Errorf("end the sessions of user %s: %w", id, err)
		}
		n, err := q.exec(ctx, `DELETE FROM users WHERE id = $1 AND consumer_id = $2`, id, consumerID)
		if err != nil {
			return fmt.Errorf("remove user %s: %w", id, err)
		}
		if n == 0 {
			return &job.Error{Code: job.NotFound, Message: "no such user"}
		}
		return nil
	})
}

// lastOperator is the error for the user without whom nobody would be an
// operator. It holds all operators until the transaction ends.
func (q *Queries) lastOperator(ctx context.Context, id uuid.UUID) error {
	operators, is := 0, false
	err := q.collect(ctx, func(rows *sql.Rows) error {
		var one uuid.UUID
		err := rows.Scan(&one)
		operators, is = operators+1, is || one == id
		return err
	}, `SELECT id FROM users WHERE operator = 1 ORDER BY id`+q.forUpdate)
	if err != nil {
		return fmt.Errorf("count the operators: %w", err)
	}
	if is && operators == 1 {
		return &job.Error{Code: job.InvalidState, Message: "this is the only operator"}
	}
	return nil
}

// insertUser keeps a new user. It is NotFound for a second founder, and
// InvalidInput for an e-mail that is another's.
func (q *Queries) insertUser(ctx context.Context, u account.User) error {
	var founder sql.NullInt64
	if u.Founder {
		founder = sql.NullInt64{Int64: 1, Valid: true}
	}
	n, err := q.exec(ctx, `
		INSERT INTO users (id, consumer_id, email, name, operator, founder, password_hash, oidc_issuer, oidc_subject, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
		u.ID, u.ConsumerID, u.Email, keptText(u.Name), flag(u.Operator), founder, u.PasswordHash,
		u.Identity.Issuer, u.Identity.Subject, millis(u.CreatedAt))
	if err != nil {
		return fmt.Errorf("insert user: %w", err)
	}
	if n == 1 {
		return nil
	}
	if _, err := q.UserByEmail(ctx, u.Email); err == nil {
		return &job.Error{Code: job.InvalidInput, Message: "There is a user with this e-mail address already.", Path: []any{"email"}}
	}
	return &job.Error{Code: job.NotFound, Message: "no such invitation"}
}

// flag is a truth as it is kept.
func flag(is bool) int {
	if is {
		return 1
	}
	return 0
}

func oneUser(row *sql.Row) (account.User, error) { return one(row, scanUser, "user") }

func scanUser(row scanned) (account.User, error) {
	var u account.User
	into, finish := userFields(&u)
	err := row.Scan(into...)
	finish()
	return u, err
}

// userFields are where userColumns are read to; finish is called after that.
func userFields(u *account.User) (into []any, finish func()) {
	var operator int
	var founder, signedIn sql.NullInt64
	var created int64
	return []any{
			&u.ID, &u.ConsumerID, &u.Consumer, &u.Email, &u.Name, &operator, &founder, &u.PasswordHash,
			&u.Identity.Issuer, &u.Identity.Subject, &created, &signedIn,
		}, func() {
			u.Operator, u.Founder, u.Name = operator == 1, founder.Valid, fromKeptText(u.Name)
			u.CreatedAt, u.LastSignInAt = fromMillis(created), fromNull(signedIn)
		}
}
