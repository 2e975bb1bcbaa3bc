package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
)

const consumerColumns = `id, name, email, webhook_secret, previous_secret, previous_secret_expires,
	webhook_url, webhook_version, created_at, retention_ms`

// EnsureConsumer implements account.Store.
func (s *Store) EnsureConsumer(ctx context.Context, c account.Consumer) (account.Consumer, error) {
	var kept account.Consumer
	err := s.Write(ctx, func(q *Queries) error {
		_, err := q.exec(ctx, `
			INSERT INTO consumers (id, name, email, webhook_secret, previous_secret, previous_secret_expires,
				webhook_url, webhook_version, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (name) DO NOTHING`,
			c.ID, c.Name, c.Email, c.WebhookSecret, c.PreviousWebhookSecret, nullMillis(c.PreviousSecretExpires),
			c.WebhookURL, c.WebhookVersion, millis(c.CreatedAt))
		if err != nil {
			return fmt.Errorf("insert consumer: %w", err)
		}
		if kept, err = q.ConsumerByName(ctx, c.Name); err != nil {
			return err
		}
		if kept.Email == "" && c.Email != "" {
			kept.Email = c.Email
			if _, err = q.exec(ctx, `UPDATE consumers SET email = $2 WHERE id = $1`, kept.ID, c.Email); err != nil {
				return fmt.Errorf("set the consumer's e-mail: %w", err)
			}
		}
		return nil
	})
	return kept, err
}

// Consumer returns the consumer, or a *job.Error with NotFound.
func (q *Queries) Consumer(ctx context.Context, id uuid.UUID) (account.Consumer, error) {
	return oneConsumer(q.queryRow(ctx, `SELECT `+consumerColumns+` FROM consumers WHERE id = $1`, id))
}

// ConsumerByName returns the consumer, or a *job.Error with NotFound.
func (q *Queries) ConsumerByName(ctx context.Context, name string) (account.Consumer, error) {
	return oneConsumer(q.queryRow(ctx, `SELECT `+consumerColumns+` FROM consumers WHERE name = $1`, name))
}

// Consumers returns all consumers by name.
func (q *Queries) Consumers(ctx context.Context) ([]account.Consumer, error) {
	var consumers []account.Consumer
	err := q.collect(ctx, func(rows *sql.Rows) error {
		c, err := scanConsumer(rows)
		consumers = append(consumers, c)
		return err
	}, `SELECT `+consumerColumns+` FROM consumers ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("read the consumers: %w", err)
	}
	return consumers, nil
}

// InsertKey implements account.Store.
func (s *Store) InsertKey(ctx context.Context, k account.Key) error {
	return s.Write(ctx, func(q *Queries) error {
		_, err := q.exec(ctx, `INSERT INTO api_keys (id, consumer_id, mode, prefix, hash, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
			k.ID, k.ConsumerID, k.Mode, k.Prefix, k.Hash, millis(k.CreatedAt))
		if err != nil {
			return fmt.Errorf("insert key: %w", err)
		}
		return nil
	})
}

const keyColumns = `k.id, k.consumer_id, c.name, k.mode, k.prefix, k.hash, k.created_at, k.last_used_at, k.revoked_at`

// KeyByHash implements account.Store. It uses the index that UNIQUE makes.
func (q *Queries) KeyByHash(ctx context.Context, hash string) (account.Key, error) {
	k, err := scanKey(q.queryRow(ctx, `SELECT `+keyColumns+` FROM api_keys k JOIN consumers c ON c.id = k.consumer_id WHERE k.hash = $1`, hash))
	if errors.Is(err, sql.ErrNoRows) {
		return account.Key{}, &job.Error{Code: job.NotFound, Message: "no such key"}
	}
	if err != nil {
		return account.Key{}, fmt.Errorf("read a key: %w", err)
	}
	return k, nil
}

// Keys implements account.Store: all keys, oldest first.
func (q *Queries) Keys(ctx context.Context) ([]account.Key, error) {
	var keys []account.Key
	err := q.collect(ctx, func(rows *sql.Rows) error {
		k, err := scanKey(rows)
		keys = append(keys, k)
		return err
	}, `SELECT `+keyColumns+` FROM api_keys k JOIN consumers c ON c.id = k.consumer_id ORDER BY k.id`)
	if err != nil {
		return nil, fmt.Errorf("read the keys: %w", err)
	}
	return keys, nil
}

// RevokeKey implements account.Store.
func (s *Store) RevokeKey(ctx context.Context, id uuid.UUID, now time.Time) (bool, error) {
	var n int64
	err := s.Write(ctx, func(q *Queries) (err error) {
		n, err = q.exec(ctx, `UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1`, id, millis(now))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("revoke key %s: %w", id, err)
	}
	return n == 1, nil
}

// TouchKey implements account.Store.
func (s *Store) TouchKey(ctx context.Context, id uuid.UUID, now time.Time) error {
	return s.Write(ctx, func(q *Queries) error {
		_, err := q.exec(ctx, `UPDATE api_keys SET last_used_at = $2 WHERE id = $1`, id, millis(now))
		return err
	})
}

// oneConsumer reads the single row of a query for a consumer.
func oneConsumer(row *sql.Row) (account.Consumer, error) { return one(row, scanConsumer, "consumer") }

func scanConsumer(row scanned) (account.Consumer, error) {
	var c account.Consumer
	var expires, retention sql.NullInt64
	var created int64
	err := row.Scan(&c.ID, &c.Name, &c.Email, &c.WebhookSecret, &c.PreviousWebhookSecret, &expires,
		&c.WebhookURL, &c.WebhookVersion, &created, &retention)
	c.Retention = fromNullPeriod(retention)
	c.PreviousSecretExpires, c.CreatedAt = fromNull(expires), fromMillis(created)
	return c, err
}

func scanKey(row interface{ Scan(...any) error }) (account.Key, error) {
	var k account.Key
	var created int64
	var used, revoked sql.NullInt64
	err := row.Scan(&k.ID, &k.ConsumerID, &k.Consumer, &k.Mode, &k.Prefix, &k.Hash, &created, &used, &revoked)
	k.CreatedAt, k.LastUsedAt, k.RevokedAt = fromMillis(created), fromNull(used), fromNull(revoked)
	return k, err
}
