package account

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"standin/internal/jobs/job"
)

// Parameters of argon2id: the first choice of the OWASP Password Storage Cheat
// Sheet.
const (
	argonMemory = 19 * 1024 // KiB
	argonPasses = 2
	argonLanes  = 1
	argonSalt   = 16 // bytes
	argonKey    = 32 // bytes
)

// maxConcurrentHashes bounds the memory that sign-ins use.
const maxConcurrentHashes = 4

// Bounds of a password: a minimum of characters without composition rules, as in
// NIST SP 800-63B, and a maximum of bytes that bounds the work of hashing.
const (
	MinPassword      = 12
	maxPasswordBytes = 1024
)

// dummyHash is compared with the passwords of unknown users, so that their
// sign-in takes equally long. No password has an all-zero hash.
const dummyHash = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// newHash validates and hashes a new password.
func (u *Users) newHash(ctx context.Context, password string) (string, error) {
	switch {
	case !utf8.ValidString(password) || utf8.RuneCountInString(password) < MinPassword:
		return "", job.NewInvalidInput(fmt.Sprintf("The password must have at least %d characters.", MinPassword), "password")
	case len(password) > maxPasswordBytes:
		return "", job.NewInvalidInput(fmt.Sprintf("The password must have at most %d bytes.", maxPasswordBytes), "password")
	}
	if err := u.hashing.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer u.hashing.Release(1)
	return hashPassword(password, randomBytes(argonSalt)), nil
}

// matches reports whether a password has the hash.
func (u *Users) matches(ctx context.Context, password, hash string) (bool, error) {
	if len(password) > maxPasswordBytes {
		return false, nil // newHash admits none of this length
	}
	if err := u.hashing.Acquire(ctx, 1); err != nil {
		return false, err
	}
	defer u.hashing.Release(1)
	return passwordMatches(password, hash)
}

// hashPassword returns a hash in the format of the reference implementation,
// which includes its parameters.
func hashPassword(password string, salt []byte) string {
	key := argon2.IDKey([]byte(password), salt, argonPasses, argonMemory, argonLanes, argonKey)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonPasses, argonLanes,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key))
}

var errPasswordHash = errors.New("a stored password hash is malformed")

// passwordMatches compares a password with a hash in constant time.
func passwordMatches(password, hash string) (bool, error) {
	var version, memory, passes uint32
	var lanes uint8
	var encoded string
	if _, err := fmt.Sscanf(hash, "$argon2id$v=%d$m=%d,t=%d,p=%d$%s", &version, &memory, &passes, &lanes, &encoded); err != nil {
		return false, errPasswordHash
	}
	before, after, _ := strings.Cut(encoded, "$")
	salt, saltErr := base64.RawStdEncoding.DecodeString(before)
	stored, err := base64.RawStdEncoding.DecodeString(after)
	if saltErr != nil || err != nil || version != argon2.Version || passes == 0 || lanes == 0 || len(stored) == 0 {
		return false, errPasswordHash
	}
	key := argon2.IDKey([]byte(password), salt, passes, memory, lanes, uint32(len(stored))) // #nosec G115 -- our own hash, 32 bytes
	return subtle.ConstantTimeCompare(key, stored) == 1, nil
}
