package account

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
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
	Mode       job.Mode
	Prefix     string // the first characters of the key
	Hash       string // hex SHA-256 of the key
	CreatedAt  time.Time
	CreatedBy  string    // e-mail of the user, or CommandLine; empty when unknown
	LastUsedAt time.Time // zero when never used; precise to a minute
	RevokedAt  time.Time // zero while it is valid
}

// CommandLine is the CreatedBy of keys that were created on the machine of the
// service.
const CommandLine = "command line"

// NewKey returns a new key for a consumer, and its secret, which is not part of
// the Key.
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
