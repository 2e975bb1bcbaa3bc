package account

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/webhook"
)

// Store is what Keys needs of the database.
type Store interface {
	// EnsureConsumer returns the consumer of that name, making it from the
	// given one when there is none.
	EnsureConsumer(ctx context.Context, consumer Consumer) (Consumer, error)
	InsertKey(ctx context.Context, key Key) error
	// KeyByHash returns a *job.Error with NotFound for an unknown hash.
	KeyByHash(ctx context.Context, hash string) (Key, error)
	Keys(ctx context.Context) ([]Key, error)
	// RevokeKey reports whether there is such a key; revoking twice keeps the
	// first time.
	RevokeKey(ctx context.Context, id uuid.UUID, now time.Time) (bool, error)
	TouchKey(ctx context.Context, id uuid.UUID, now time.Time) error
}

// lastUsedPrecision is how exact a key's last use is kept: a write for every
// request would cost more than the fact is worth.
const lastUsedPrecision = time.Minute

// Keys issues, checks and revokes keys.
type Keys struct {
	Store Store
	Now   func() time.Time

	// WebhookSecret is given to new consumers; each gets its own when empty.
	WebhookSecret string
}

// Issue makes a key for the consumer of that name, and the consumer when it
// is new. It returns the secret, which is not kept.
func (k *Keys) Issue(ctx context.Context, consumer, email string, mode job.Mode) (Key, string, error) {
	now := k.Now()
	owner := Consumer{
		ID:             uuid.Must(uuid.NewV7()),
		Name:           consumer,
		Email:          email,
		WebhookSecret:  k.WebhookSecret,
		WebhookVersion: 2,
		CreatedAt:      now,
	}
	if owner.WebhookSecret == "" {
		owner.WebhookSecret = webhook.NewSecret()
	}
	owner, err := k.Store.EnsureConsumer(ctx, owner)
	if err != nil {
		return Key{}, "", fmt.Errorf("find or make consumer %q: %w", consumer, err)
	}
	key, secret := NewKey(owner.ID, mode, now)
	if err := k.Store.InsertKey(ctx, key); err != nil {
		return Key{}, "", fmt.Errorf("keep the key: %w", err)
	}
	key.Consumer = owner.Name
	return key, secret, nil
}

// Authenticate tells who shows the bearer. An unknown or revoked key gives a
// *job.Error with Unauthorized; nothing is cached, so a revoked key is refused
// at once.
func (k *Keys) Authenticate(ctx context.Context, bearer string) (Caller, error) {
	unauthorized := &job.Error{Code: job.Unauthorized, Message: "missing or invalid API key"}
	if !plausible(bearer) {
		return Caller{}, unauthorized
	}
	key, err := k.Store.KeyByHash(ctx, Hash(bearer))
	if job.ErrorIs(err, job.NotFound) {
		return Caller{}, unauthorized
	}
	if err != nil {
		return Caller{}, fmt.Errorf("look the key up: %w", err)
	}
	if !key.RevokedAt.IsZero() {
		return Caller{}, unauthorized
	}
	if now := k.Now(); now.Sub(key.LastUsedAt) >= lastUsedPrecision {
		if err := k.Store.TouchKey(ctx, key.ID, now); err != nil {
			return Caller{}, fmt.Errorf("note the key's use: %w", err)
		}
	}
	return Caller{KeyID: key.ID, ConsumerID: key.ConsumerID, Mode: key.Mode}, nil
}
