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

	"standin/internal/job"
)

// Parameters of argon2id, the first of those that the OWASP Password Storage
// Cheat Sheet recommends: 19 MiB, two passes, one lane.
const (
	argonMemory = 19 * 1024 // KiB
	argonPasses = 2
	argonLanes  = 1
	argonSalt   = 16 // bytes
	argonKey    = 32 // bytes
)

// hashesAtATime bounds the memory that signing in takes, whoever tries.
const hashesAtATime = 4

// Bounds of a password. Characters at least, as NIST SP 800-63B has it without
// rules of composition; bytes at most, so that hashing has a bound.
const (
	MinPassword      = 12
	maxPasswordBytes = 1024
)

// nobodysHash is what the password of an unknown user is held against, so that
// it takes as long. No password gives an all-zero key.
const nobodysHash = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// newHash checks a new password and hashes it.
func (u *Users) newHash(ctx context.Context, password string) (string, error) {
	switch {
	case !utf8.ValidString(password) || utf8.RuneCountInString(password) < MinPassword:
		return "", &job.Error{Code: job.InvalidInput, Message: fmt.Sprintf("The password must have at least %d characters.", MinPassword), Path: []any{"password"}}
	case len(password) > maxPasswordBytes:
		return "", &job.Error{Code: job.InvalidInput, Message: fmt.Sprintf("The password may have %d bytes.", maxPasswordBytes), Path: []any{"password"}}
	}
	if err := u.takeTurn(ctx); err != nil {
		return "", err
	}
	defer u.endTurn()
	return hashPassword(password, randomBytes(argonSalt)), nil
}

// matches reports whether a password gives the hash.
func (u *Users) matches(ctx context.Context, password, hash string) (bool, error) {
	if len(password) > maxPasswordBytes {
		return false, nil // none is that long
	}
	if err := u.takeTurn(ctx); err != nil {
		return false, err
	}
	defer u.endTurn()
	return passwordMatches(password, hash)
}

func (u *Users) takeTurn(ctx context.Context) error {
	select {
	case u.hashing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (u *Users) endTurn() { <-u.hashing }

// hashPassword writes a hash in the form of the reference implementation, so
// that parameters may change and old hashes stay readable.
func hashPassword(password string, salt []byte) string {
	key := argon2.IDKey([]byte(password), salt, argonPasses, argonMemory, argonLanes, argonKey)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonPasses, argonLanes,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key))
}

var errPasswordHash = errors.New("a kept password hash is unreadable")

// passwordMatches holds a password against a hash, in constant time.
func passwordMatches(password, hash string) (bool, error) {
	parts := strings.Split(hash, "$")
	var version, memory, passes uint32
	var lanes uint8
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, errPasswordHash
	}
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return false, errPasswordHash
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &passes, &lanes); err != nil || passes == 0 || lanes == 0 {
		return false, errPasswordHash
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false, errPasswordHash
	}
	kept, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(kept) == 0 {
		return false, errPasswordHash
	}
	key := argon2.IDKey([]byte(password), salt, passes, memory, lanes, uint32(len(kept))) // #nosec G115 -- our own hash, 32 bytes
	return subtle.ConstantTimeCompare(key, kept) == 1, nil
}
