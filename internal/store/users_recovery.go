package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"standin/internal/account"
)

// AllUsers implements account.RecoveryStore.
func (db *Reader) AllUsers(ctx context.Context) ([]account.User, error) {
	users, err := list(ctx, db, scanUser, selectUsers+`ORDER BY u.email`)
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	return users, nil
}

// SetOperator implements account.RecoveryStore.
func (s *Store) SetOperator(ctx context.Context, id uuid.UUID, operator bool) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if !operator {
			if err := tx.checkOtherOperator(ctx, id); err != nil {
				return err
			}
		}
		if _, err := tx.exec(ctx, `UPDATE users SET operator = $2 WHERE id = $1`, id, boolInt(operator)); err != nil {
			return fmt.Errorf("set the role of user %s: %w", id, err)
		}
		return nil
	})
}
