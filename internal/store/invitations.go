package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/store/sqldb"
)

const selectInvitations = `SELECT i.hash, i.consumer_id, COALESCE(c.name, ''), i.email, i.role, i.operator, i.created_at, i.expires_at
	FROM invitations i LEFT JOIN consumers c ON c.id = i.consumer_id `

// InsertInvitation implements account.UserStore.
func (s *Store) InsertInvitation(ctx context.Context, i account.Invitation) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		consumer := uuid.NullUUID{UUID: i.ConsumerID, Valid: i.ConsumerID != uuid.Nil}
		_, err := tx.exec(ctx, `INSERT INTO invitations (hash, consumer_id, email, role, operator, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			i.Hash, consumer, i.Email, i.Role, boolInt(i.Operator), millis(i.CreatedAt), millis(i.ExpiresAt))
		if err != nil {
			return fmt.Errorf("insert invitation: %w", err)
		}
		return nil
	})
}

// Invitation implements account.UserStore.
func (db *Reader) Invitation(ctx context.Context, hash string, now time.Time) (account.Invitation, error) {
	return one(db.queryRow(ctx, selectInvitations+`WHERE i.hash = $1 AND i.expires_at > $2`, hash, millis(now)), scanInvitation, "invitation")
}

// InvitationByEmail implements account.UserStore. It returns the newest
// invitation and uses the index invitations_email.
func (db *Reader) InvitationByEmail(ctx context.Context, email string, now time.Time) (account.Invitation, error) {
	return one(db.queryRow(ctx, selectInvitations+`
		WHERE i.email = $1 AND i.consumer_id IS NOT NULL AND i.expires_at > $2 ORDER BY i.created_at DESC LIMIT 1`,
		email, millis(now)), scanInvitation, "invitation")
}

// ConsumerInvitations implements account.UserStore. It returns the oldest first
// and uses the index invitations_consumer.
func (db *Reader) ConsumerInvitations(ctx context.Context, consumerID uuid.UUID, now time.Time) ([]account.Invitation, error) {
	invitations, err := list(ctx, db, scanInvitation, selectInvitations+`
		WHERE i.consumer_id = $1 AND i.expires_at > $2 ORDER BY i.created_at, i.hash`, consumerID, millis(now))
	if err != nil {
		return nil, fmt.Errorf("list invitations: %w", err)
	}
	return invitations, nil
}

// AcceptInvitation implements account.UserStore.
func (s *Store) AcceptInvitation(ctx context.Context, hash string, user account.User, now time.Time) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		n, err := tx.exec(ctx, `DELETE FROM invitations WHERE hash = $1 AND expires_at > $2`, hash, millis(now))
		if err != nil {
			return fmt.Errorf("accept an invitation: %w", err)
		}
		if n == 0 {
			return notFound("invitation")
		}
		return tx.insertUser(ctx, user)
	})
}

// DeleteInvitation implements account.UserStore.
func (s *Store) DeleteInvitation(ctx context.Context, consumerID uuid.UUID, hash string) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.exec(ctx, `DELETE FROM invitations WHERE hash = $1 AND consumer_id = $2`, hash, consumerID)
		if err != nil {
			return fmt.Errorf("delete an invitation: %w", err)
		}
		return nil
	})
}

func scanInvitation(row sqldb.Row) (i account.Invitation, err error) {
	var consumer uuid.NullUUID
	err = row.Scan(&i.Hash, &consumer, &i.Consumer, &i.Email, &i.Role, &i.Operator, timeColumn{&i.CreatedAt}, timeColumn{&i.ExpiresAt})
	i.ConsumerID = consumer.UUID
	return i, err
}
