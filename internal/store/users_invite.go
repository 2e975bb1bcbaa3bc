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

const invitationColumns = `i.hash, i.consumer_id, COALESCE(c.name, ''), i.email, i.operator, i.created_at, i.expires_at`

const fromInvitations = ` FROM invitations i LEFT JOIN consumers c ON c.id = i.consumer_id `

// InsertInvitation implements account.UserStore.
func (s *Store) InsertInvitation(ctx context.Context, i account.Invitation) error {
	return s.Write(ctx, func(q *Queries) error {
		consumer := uuid.NullUUID{UUID: i.ConsumerID, Valid: i.ConsumerID != uuid.Nil}
		_, err := q.exec(ctx, `INSERT INTO invitations (hash, consumer_id, email, operator, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)`,
			i.Hash, consumer, i.Email, flag(i.Operator), millis(i.CreatedAt), millis(i.ExpiresAt))
		if err != nil {
			return fmt.Errorf("insert invitation: %w", err)
		}
		return nil
	})
}

// Invitation implements account.UserStore.
func (q *Queries) Invitation(ctx context.Context, hash string, now time.Time) (account.Invitation, error) {
	return oneInvitation(q.queryRow(ctx, `SELECT `+invitationColumns+fromInvitations+`WHERE i.hash = $1 AND i.expires_at > $2`, hash, millis(now)))
}

// InvitationByEmail implements account.UserStore: the newest one. It uses the
// index invitations_email.
func (q *Queries) InvitationByEmail(ctx context.Context, email string, now time.Time) (account.Invitation, error) {
	return oneInvitation(q.queryRow(ctx, `SELECT `+invitationColumns+fromInvitations+`
		WHERE i.email = $1 AND i.consumer_id IS NOT NULL AND i.expires_at > $2 ORDER BY i.created_at DESC LIMIT 1`, email, millis(now)))
}

// ConsumerInvitations implements account.UserStore, oldest first. It uses the index
// invitations_consumer.
func (q *Queries) ConsumerInvitations(ctx context.Context, consumerID uuid.UUID, now time.Time) ([]account.Invitation, error) {
	var invitations []account.Invitation
	err := q.collect(ctx, func(rows *sql.Rows) error {
		i, err := scanInvitation(rows)
		invitations = append(invitations, i)
		return err
	}, `SELECT `+invitationColumns+fromInvitations+`WHERE i.consumer_id = $1 AND i.expires_at > $2 ORDER BY i.created_at, i.hash`, consumerID, millis(now))
	if err != nil {
		return nil, fmt.Errorf("list invitations: %w", err)
	}
	return invitations, nil
}

// AcceptInvitation implements account.UserStore.
func (s *Store) AcceptInvitation(ctx context.Context, hash string, user account.User, now time.Time) error {
	return s.Write(ctx, func(q *Queries) error {
		n, err := q.exec(ctx, `DELETE FROM invitations WHERE hash = $1 AND expires_at > $2`, hash, millis(now))
		if err != nil {
			return fmt.Errorf("use an invitation up: %w", err)
		}
		if n == 0 {
			return &job.Error{Code: job.NotFound, Message: "no such invitation"}
		}
		return q.insertUser(ctx, user)
	})
}

// DeleteInvitation implements account.UserStore.
func (s *Store) DeleteInvitation(ctx context.Context, consumerID uuid.UUID, hash string) error {
	return s.Write(ctx, func(q *Queries) error {
		_, err := q.exec(ctx, `DELETE FROM invitations WHERE hash = $1 AND consumer_id = $2`, hash, consumerID)
		if err != nil {
			return fmt.Errorf("withdraw an invitation: %w", err)
		}
		return nil
	})
}

func oneInvitation(row *sql.Row) (account.Invitation, error) {
	return one(row, scanInvitation, "invitation")
}

func scanInvitation(row scanned) (account.Invitation, error) {
	var i account.Invitation
	var consumer uuid.NullUUID
	var operator int
	var created, expires int64
	err := row.Scan(&i.Hash, &consumer, &i.Consumer, &i.Email, &operator, &created, &expires)
	i.ConsumerID, i.Operator = consumer.UUID, operator == 1
	i.CreatedAt, i.ExpiresAt = fromMillis(created), fromMillis(expires)
	return i, err
}
