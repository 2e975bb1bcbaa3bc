package account

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// Store is the part of the database that Keys uses.
type Store interface {
	// EnsureConsumer returns the consumer with that name, and inserts the given
	// one if there is none.
	EnsureConsumer(ctx context.Context, consumer Consumer) (Consumer, error)
	InsertKey(ctx context.Context, key Key) error
	// KeyByHash returns a *job.Error with NotFound for an unknown hash.
	KeyByHash(ctx context.Context, hash string) (Key, error)
	Keys(ctx context.Context) ([]Key, error)
	// RevokeKey reports whether the key exists. A revoked key keeps its
	// revocation time.
	RevokeKey(ctx context.Context, id uuid.UUID, now time.Time) (bool, error)
	TouchKey(ctx context.Context, id uuid.UUID, now time.Time) error
}

// lastUsedPrecision is the precision of a key's last use. It avoids a write for
// every request.
const lastUsedPrecision = time.Minute

// Keys issues, checks and revokes keys.
type Keys struct {
	Store Store
	Now   func() time.Time

	// WebhookSecret is the secret of new consumers; generated when empty.
	WebhookSecret string
}

// Issue creates a key for the consumer with that name, and the consumer if it is
// new. It returns the key's secret, which is not stored.
func (k *Keys) Issue(ctx context.Context, consumer, email string, mode job.Mode) (Key, string, error) {
	now := k.Now()
	owner, err := k.Store.EnsureConsumer(ctx, NewConsumer(consumer, email, k.WebhookSecret, now))
	if err != nil {
		return Key{}, "", fmt.Errorf("ensure consumer %q: %w", consumer, err)
	}
	key, secret := NewKey(owner.ID, mode, CommandLine, now)
	if err := k.Store.InsertKey(ctx, key); err != nil {
		return Key{}, "", fmt.Errorf("insert the key: %w", err)
	}
	key.Consumer = owner.Name
	return key, secret, nil
}

// errUnauthorized is the error of a bearer token that is not a valid key.
var errUnauthorized = &job.Error{Code: job.Unauthorized, Message: "missing or invalid API key"}

// Authenticate returns the owner of a bearer token. The error is a *job.Error
// with Unauthorized for an unknown or revoked key. It reads the key each time, so a
// revoked key is refused at once.
func (k *Keys) Authenticate(ctx context.Context, bearer string) (Caller, error) {
	if !plausible(bearer) {
		return Caller{}, errUnauthorized
	}
	key, err := k.Store.KeyByHash(ctx, Hash(bearer))
	if job.ErrorIs(err, job.NotFound) {
		return Caller{}, errUnauthorized
	}
	if err != nil {
		return Caller{}, fmt.Errorf("find the key: %w", err)
	}
	if !key.RevokedAt.IsZero() {
		return Caller{}, errUnauthorized
	}
	if now := k.Now(); now.Sub(key.LastUsedAt) >= lastUsedPrecision {
		_ = k.Store.TouchKey(ctx, key.ID, now) // best effort: requests that only read work on a full disk
	}
	return Caller{KeyID: key.ID, ConsumerID: key.ConsumerID, Mode: key.Mode}, nil
}
