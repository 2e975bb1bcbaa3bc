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

// Prefixes of keys; they tell live from test (specification, Authentication).
const (
	livePrefix = "standin_live_"
	testPrefix = "standin_test_"
)

// shownPrefix is how many characters of a key's random part are kept in the
// clear, so that people can tell their keys apart.
const shownPrefix = 4

// Key is an API key as it is kept: the key itself is not, only its hash.
type Key struct {
	ID         uuid.UUID
	ConsumerID uuid.UUID
	Consumer   string // its name, filled by List
	Mode       job.Mode
	Prefix     string // the first characters of the key
	Hash       string // hex SHA-256 of the key
	CreatedAt  time.Time
	LastUsedAt time.Time // zero when never used; exact to a minute
	RevokedAt  time.Time // zero while it is valid
}

// NewKey makes a key for a consumer. The secret is returned once and is not
// in the Key.
func NewKey(consumerID uuid.UUID, mode job.Mode, now time.Time) (Key, string) {
	prefix := livePrefix
	if mode == job.Test {
		prefix = testPrefix
	}
	secret := prefix + base64.RawURLEncoding.EncodeToString(randomBytes(32))
	return Key{
		ID:         uuid.Must(uuid.NewV7()),
		ConsumerID: consumerID,
		Mode:       mode,
		Prefix:     secret[:len(prefix)+shownPrefix],
		Hash:       Hash(secret),
		CreatedAt:  now,
	}, secret
}

// Hash is the form in which a key is kept and looked up. A key has 256 random
// bits, so a plain SHA-256 needs no salt and no stretching, and looking it up
// by its hash tells nothing of the key through time.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// plausible reports whether a bearer could be a key at all, so that garbage
// does not reach the database.
func plausible(bearer string) bool {
	return len(bearer) < 128 && (strings.HasPrefix(bearer, livePrefix) || strings.HasPrefix(bearer, testPrefix))
}
