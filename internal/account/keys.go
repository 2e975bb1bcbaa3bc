package account

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
)

// Prefixes of live and test keys.
const (
	livePrefix = "standin_live_"
	testPrefix = "standin_test_"
)

// visibleChars is how many characters of a key's random part are stored in
// plain text, so that people can identify their keys.
const visibleChars = 4

// Key is a stored API key. Only the hash of the secret is stored.
type Key struct {
	ID         uuid.UUID
	ConsumerID uuid.UUID
	Consumer   string // name; set when read from the database
	Name       string // what people call it; may be empty
	Mode       job.Mode
	Scope      Scope
	Prefix     string // the first characters of the key
	Hash       string // hex SHA-256 of the key
	CreatedAt  time.Time
	CreatedBy  string    // e-mail of the user, or CommandLine; empty when unknown
	UserID     uuid.UUID // to whom it belongs: it ends with the user; uuid.Nil: the team
	Reference  bool      // of the API reference, which it cannot outlive: it creates no keys
	LastUsedAt time.Time // zero when never used; precise to a minute
	ExpiresAt  time.Time // zero for a key that does not expire
	RevokedAt  time.Time // zero while it is valid
}

// Personal reports whether the key belongs to a user, and not to the team.
func (k Key) Personal() bool { return k.UserID != uuid.Nil }

// Limit returns the key with what it may do while its owner has a role.
func (k Key) Limit(role Role) Key {
	if limit := role.Scope(); !limit.Allows(k.Scope) {
		k.Scope = limit
	}
	return k
}

// Expired reports whether the key has expired.
func (k Key) Expired(now time.Time) bool { return !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt) }

// Scope is what a key may do. Each scope includes the ones before it.
type Scope string

// The scopes of keys.
const (
	ReadScope  Scope = "read"  // read jobs, recordings and texts
	JobsScope  Scope = "jobs"  // also send and control bots, and delete recordings
	AdminScope Scope = "admin" // also what changes the team, such as its webhook secret
)

// Scopes returns all scopes.
func Scopes() []Scope { return []Scope{ReadScope, JobsScope, AdminScope} }

// Allows reports whether a key with this scope may do what needs another one.
func (s Scope) Allows(needed Scope) bool {
	own := slices.Index(Scopes(), s)
	return own >= 0 && own >= slices.Index(Scopes(), needed)
}

// KeyOptions are optional properties of a new key.
type KeyOptions struct {
	Name      string    // up to 100 characters
	Scope     Scope     // AdminScope if empty
	ExpiresAt time.Time // zero for never
	Reference bool      // of the API reference
}

// maxKeyName is the maximum length of a key's name, in characters.
const maxKeyName = 100

// Set sets the options of a new key. The error is a *job.Error with InvalidInput.
func (o KeyOptions) Set(key *Key, now time.Time) error {
	if o.Name != "" {
		if err := checkName("name", "The name of the key", o.Name, maxKeyName); err != nil {
			return err
		}
	}
	if o.Scope != "" && !slices.Contains(Scopes(), o.Scope) {
		return job.NewInvalidInput(fmt.Sprintf("%q is not a scope; use read, jobs or admin", o.Scope), "scope")
	}
	if !o.ExpiresAt.IsZero() && !o.ExpiresAt.After(now) {
		return job.NewInvalidInput("the key would expire in the past", "expiresAt")
	}
	key.Name, key.Scope, key.ExpiresAt, key.Reference = o.Name, cmp.Or(o.Scope, AdminScope), o.ExpiresAt, o.Reference
	return nil
}

// CommandLine is the CreatedBy of keys that were created on the machine of the
// service.
const CommandLine = "command line"

// NewKey returns a new key for a consumer, which may do everything and does not expire, and its
// secret, which is not part of the Key.
func NewKey(consumerID uuid.UUID, mode job.Mode, createdBy string, now time.Time) (Key, string) {
	prefix := livePrefix
	if mode == job.Test {
		prefix = testPrefix
	}
	secret := prefix + NewToken()
	return Key{
		ID:         job.NewID(),
		ConsumerID: consumerID,
		Mode:       mode,
		Scope:      AdminScope,
		Prefix:     secret[:len(prefix)+visibleChars],
		Hash:       Hash(secret),
		CreatedAt:  now,
		CreatedBy:  createdBy,
	}, secret
}

// Sealer encrypts texts for the database.
type Sealer struct{ aead cipher.AEAD }

// NewSealer returns a Sealer with a key that is derived from a secret for one purpose.
func NewSealer(secret []byte, purpose string) (Sealer, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, purpose, 32)
	if err != nil {
		return Sealer{}, fmt.Errorf("derive a key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return Sealer{}, fmt.Errorf("create a cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return Sealer{aead}, err
}

// Seal encrypts a text that belongs to the row with an ID.
func (s Sealer) Seal(id, text string) string {
	return base64.RawStdEncoding.EncodeToString(s.aead.Seal(nil, nil, []byte(text), []byte(id))) // #nosec G407 -- the nonce is random
}

// Open decrypts a text; false if it was encrypted with another key or for another row.
func (s Sealer) Open(id, sealed string) (string, bool) {
	encrypted, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil {
		return "", false
	}
	text, err := s.aead.Open(nil, nil, encrypted, []byte(id))
	return string(text), err == nil
}

// Hash returns the hash by which a secret is stored and found. A secret has 256
// random bits, so SHA-256 needs no salt and no stretching, and finding it by
// its hash leaks nothing through timing.
func Hash(secret string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(secret)))
}

// Store is the part of the database that Keys uses.
type Store interface {
	// EnsureConsumer returns the consumer with that name, and inserts the given
	// one if there is none.
	EnsureConsumer(ctx context.Context, consumer Consumer) (Consumer, error)
	InsertKey(ctx context.Context, key Key) error
	// KeyByHash returns a *job.Error with NotFound for an unknown hash.
	KeyByHash(ctx context.Context, hash string) (Key, error)
	// ConsumerKeys returns the keys of a consumer, newest first.
	ConsumerKeys(ctx context.Context, consumerID uuid.UUID) ([]Key, error)
	// RevokeConsumerKey reports whether the consumer has the key. A revoked key keeps its
	// revocation time.
	RevokeConsumerKey(ctx context.Context, consumerID, id uuid.UUID, now time.Time) (bool, error)
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

// Issue is IssueWith without options.
func (k *Keys) Issue(ctx context.Context, consumer, email string, mode job.Mode) (Key, string, error) {
	return k.IssueWith(ctx, consumer, email, mode, KeyOptions{})
}

// IssueWith creates a key for the consumer with that name, and the consumer if it is
// new. It returns the key's secret, which is not stored. The error is a *job.Error with
// InvalidInput for invalid options.
func (k *Keys) IssueWith(ctx context.Context, consumer, email string, mode job.Mode, options KeyOptions) (Key, string, error) {
	now := k.Now()
	key, secret := NewKey(uuid.Nil, mode, CommandLine, now)
	if err := options.Set(&key, now); err != nil { // before the consumer is made
		return Key{}, "", err
	}
	owner, err := k.Store.EnsureConsumer(ctx, NewConsumer(consumer, email, k.WebhookSecret, now))
	if err != nil {
		return Key{}, "", err
	}
	key.ConsumerID, key.Consumer = owner.ID, owner.Name
	return key, secret, k.Store.InsertKey(ctx, key)
}

// maxKeys is how many valid keys may belong to a user, and to the team itself, when another one is
// created.
const maxKeys = 100

// Of returns the keys that a caller may see and revoke, newest first: those of its consumer that
// are not revoked, and with a test key only test keys.
func (k *Keys) Of(ctx context.Context, caller Caller) ([]Key, error) {
	keys, err := k.Store.ConsumerKeys(ctx, caller.ConsumerID)
	return slices.DeleteFunc(keys, func(key Key) bool { return !key.RevokedAt.IsZero() || !caller.manages(key.Mode) }), err
}

// Create creates a key that belongs to whom the caller belongs, and returns its secret. A test
// key creates only test keys, a key of the API reference none, and nobody one that may do more
// than the caller. The error is a *job.Error with InvalidInput or InvalidState.
func (k *Keys) Create(ctx context.Context, caller Caller, mode job.Mode, options KeyOptions) (key Key, secret string, err error) {
	switch {
	case caller.Reference:
		return key, "", job.NewInvalidState("a key of the API reference cannot create keys")
	case !caller.manages(mode):
		return key, "", job.NewInvalidState("a test key cannot create a live key")
	case !caller.Scope.Allows(cmp.Or(options.Scope, AdminScope)):
		return key, "", job.NewInvalidState("a key cannot be allowed more than its creator")
	}
	existing, err := k.Store.ConsumerKeys(ctx, caller.ConsumerID)
	if err != nil {
		return key, "", err
	}
	valid := 0
	for _, other := range existing {
		if other.RevokedAt.IsZero() && !other.Expired(k.Now()) && other.UserID == caller.UserID {
			valid++
		}
	}
	if valid >= maxKeys {
		return key, "", job.NewInvalidState("there are %d keys; revoke one first", valid)
	}
	key, secret = NewKey(caller.ConsumerID, mode, caller.Actor(), k.Now())
	key.UserID = caller.UserID
	if err := options.Set(&key, k.Now()); err != nil {
		return key, "", err
	}
	return key, secret, k.Store.InsertKey(ctx, key)
}

// Revoke revokes a key that Of returns. The error is a *job.Error with NotFound for others.
func (k *Keys) Revoke(ctx context.Context, caller Caller, id uuid.UUID) error {
	keys, err := k.Of(ctx, caller)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(keys, func(key Key) bool { return key.ID == id }) {
		return job.NewError(job.NotFound, "no such key")
	}
	_, err = k.Store.RevokeConsumerKey(ctx, caller.ConsumerID, id, k.Now())
	return err
}

// errUnauthorized is the error of a bearer token that is not a valid key.
var errUnauthorized = job.NewError(job.Unauthorized, "missing or invalid API key")

// Find returns the key of a bearer token. The error is a *job.Error with Unauthorized for an
// unknown, revoked or expired key. It reads the key each time, so a revoked key is refused at
// once.
func (k *Keys) Find(ctx context.Context, bearer string) (Key, error) {
	if len(bearer) >= 128 || !strings.HasPrefix(bearer, livePrefix) && !strings.HasPrefix(bearer, testPrefix) { // never reaches the database
		return Key{}, errUnauthorized
	}
	key, err := k.Store.KeyByHash(ctx, Hash(bearer))
	switch {
	case job.IsNotFound(err):
		return Key{}, errUnauthorized
	case err != nil:
		return Key{}, err
	case !key.RevokedAt.IsZero():
		return Key{}, errUnauthorized
	case key.Expired(k.Now()):
		return Key{}, job.NewError(job.Unauthorized, "the API key has expired")
	}
	return key, nil
}

// Authenticate returns the owner of a bearer token, and notes the use of its key. Its errors are
// those of Find.
func (k *Keys) Authenticate(ctx context.Context, bearer string) (Caller, error) {
	key, err := k.Find(ctx, bearer)
	if err != nil {
		return Caller{}, err
	}
	if now := k.Now(); now.Sub(key.LastUsedAt) >= lastUsedPrecision {
		_ = k.Store.TouchKey(ctx, key.ID, now) // best effort: requests that only read work on a full disk
	}
	return Caller{
		KeyID: key.ID, KeyName: cmp.Or(key.Name, key.Prefix+"…"), UserID: key.UserID, ConsumerID: key.ConsumerID,
		Mode: key.Mode, Scope: key.Scope, Reference: key.Reference,
	}, nil
}
