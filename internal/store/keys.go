package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/store/sqldb"
)

// InsertKey implements account.Store.
func (s *Store) InsertKey(ctx context.Context, k account.Key) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.exec(ctx, `INSERT INTO api_keys (id, consumer_id, name, mode, scope, prefix, hash, created_at, created_by, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			k.ID, k.ConsumerID, k.Name, k.Mode, k.Scope, k.Prefix, k.Hash, millis(k.CreatedAt), k.CreatedBy, nullMillis(k.ExpiresAt))
		if err != nil {
			return fmt.Errorf("insert key: %w", err)
		}
		return nil
	})
}

const selectKeys = `SELECT k.id, k.consumer_id, c.name, k.name, k.mode, k.scope, k.prefix, k.hash, k.created_at, k.created_by, k.last_used_at, k.expires_at, k.revoked_at
	FROM api_keys k JOIN consumers c ON c.id = k.consumer_id `

const selectKeyByHash = selectKeys + `WHERE k.hash = $1`

// KeyByHash implements account.Store. It uses the UNIQUE index of the hash.
func (db *Reader) KeyByHash(ctx context.Context, hash string) (account.Key, error) {
	return one(db.queryRow(ctx, selectKeyByHash, hash), scanKey, "key")
}

// Keys implements account.Store. It returns all keys, oldest first.
func (db *Reader) Keys(ctx context.Context) ([]account.Key, error) {
	keys, err := list(ctx, db, scanKey, selectKeys+`ORDER BY k.id`)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	return keys, nil
}

// ConsumerKeys returns the keys of a consumer, newest first. It uses the index
// api_keys_consumer.
func (db *Reader) ConsumerKeys(ctx context.Context, consumerID uuid.UUID) ([]account.Key, error) {
	keys, err := list(ctx, db, scanKey, selectKeys+`WHERE k.consumer_id = $1 ORDER BY k.id DESC`, consumerID)
	if err != nil {
		return nil, fmt.Errorf("read the keys of a consumer: %w", err)
	}
	return keys, nil
}

// RevokeKey implements account.Store.
func (s *Store) RevokeKey(ctx context.Context, id uuid.UUID, now time.Time) (bool, error) {
	return s.revokeKey(ctx, `id = $1`, millis(now), id)
}

// RevokeConsumerKey revokes a key of the consumer and reports whether it
// exists. A key that is already revoked keeps its revocation time.
func (s *Store) RevokeConsumerKey(ctx context.Context, consumerID, id uuid.UUID, now time.Time) (bool, error) {
	return s.revokeKey(ctx, `id = $1 AND consumer_id = $3`, millis(now), id, consumerID)
}

// revokeKey revokes the key that the condition selects. Its arguments are $1
// and $3.
func (s *Store) revokeKey(ctx context.Context, condition string, now int64, id uuid.UUID, more ...any) (bool, error) {
	var n int64
	err := s.Write(ctx, func(ctx context.Context, tx *Tx) (err error) {
		n, err = tx.exec(ctx, `UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $2) WHERE `+condition, append([]any{id, now}, more...)...)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("revoke key %s: %w", id, err)
	}
	return n == 1, nil
}

// TouchKey implements account.Store.
func (s *Store) TouchKey(ctx context.Context, id uuid.UUID, now time.Time) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.exec(ctx, `UPDATE api_keys SET last_used_at = $2 WHERE id = $1`, id, millis(now))
		return err
	})
}

func scanKey(row sqldb.Row) (k account.Key, err error) {
	err = row.Scan(&k.ID, &k.ConsumerID, &k.Consumer, &k.Name, &k.Mode, &k.Scope, &k.Prefix, &k.Hash,
		timeColumn{&k.CreatedAt}, &k.CreatedBy, timeColumn{&k.LastUsedAt}, timeColumn{&k.ExpiresAt}, timeColumn{&k.RevokedAt})
	return k, err
}
