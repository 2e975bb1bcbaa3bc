package account

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
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
	LastUsedAt time.Time // zero when never used; precise to a minute
	ExpiresAt  time.Time // zero for a key that does not expire
	RevokedAt  time.Time // zero while it is valid
}

// label returns what people recognize the key by.
func (k Key) label() string { return cmp.Or(k.Name, k.Prefix+"…") }

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
		return &job.Error{Code: job.InvalidInput, Message: fmt.Sprintf("%q is not a scope; use read, jobs or admin", o.Scope), Path: []any{"scope"}}
	}
	if !o.ExpiresAt.IsZero() && !o.ExpiresAt.After(now) {
		return &job.Error{Code: job.InvalidInput, Message: "the key would expire in the past", Path: []any{"expiresAt"}}
	}
	key.Name, key.Scope, key.ExpiresAt = o.Name, cmp.Or(o.Scope, AdminScope), o.ExpiresAt
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
	secret := prefix + base64.RawURLEncoding.EncodeToString(randomBytes(32))
	return Key{
		ID:         uuid.Must(uuid.NewV7()),
		ConsumerID: consumerID,
		Mode:       mode,
		Scope:      AdminScope,
		Prefix:     secret[:len(prefix)+visibleChars],
		Hash:       Hash(secret),
		CreatedAt:  now,
		CreatedBy:  createdBy,
	}, secret
}

// Hash returns the hash by which a secret is stored and found. A secret has 256
// random bits, so SHA-256 needs no salt and no stretching, and finding it by
// its hash leaks nothing through timing.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// plausible reports whether a bearer token has the form of a key. Others never
// reach the database.
func plausible(bearer string) bool {
	return len(bearer) < 128 && (strings.HasPrefix(bearer, livePrefix) || strings.HasPrefix(bearer, testPrefix))
}
