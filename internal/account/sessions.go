package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"time"

	"standin/internal/base/retry"
	"standin/internal/jobs/job"
)

// Lifetime of a session, in total and without use.
const (
	SessionLifetime = 14 * 24 * time.Hour
	sessionIdle     = 3 * 24 * time.Hour
)

// sessionPrecision is the precision of a session's last use.
const sessionPrecision = 5 * time.Minute

// Session is a signed-in browser. Its secret is only in the cookie; the database
// stores the hash.
type Session struct {
	Hash       string
	User       User
	CreatedAt  time.Time
	LastSeenAt time.Time // precise to sessionPrecision
	ExpiresAt  time.Time
}

// Open starts a session of a user and returns its secret.
func (u *Users) Open(ctx context.Context, user User) (string, Session, error) {
	now := job.AsStored(u.Now())
	secret := NewToken()
	session := Session{Hash: Hash(secret), User: user, CreatedAt: now, LastSeenAt: now, ExpiresAt: now.Add(SessionLifetime)}
	if err := u.Store.InsertSession(ctx, session); err != nil {
		return "", Session{}, err
	}
	return secret, session, u.Store.RecordSignIn(ctx, user.ID, now)
}

// Session returns the session with that secret. The error is a *job.Error with
// Unauthorized for an expired or unknown session.
func (u *Users) Session(ctx context.Context, secret string) (Session, error) {
	unauthorized := job.NewError(job.Unauthorized, "not signed in")
	if len(secret) != TokenLength {
		return Session{}, unauthorized
	}
	now := u.Now()
	session, err := u.Store.Session(ctx, Hash(secret), now)
	switch unused := now.Sub(session.LastSeenAt); {
	case job.IsNotFound(err):
		return Session{}, unauthorized
	case err != nil:
		return Session{}, err
	case unused >= sessionIdle:
		return Session{}, unauthorized
	case unused >= sessionPrecision:
		_ = u.Store.TouchSession(ctx, session.Hash, now) // best effort: pages that only read work on a full disk
	}
	return session, nil
}

// End ends a session.
func (u *Users) End(ctx context.Context, session Session) error {
	defer u.Revocations.Announce()
	return u.Store.EndSession(ctx, session.Hash)
}

// FormToken returns the CSRF token that every form of a session contains. Pages
// of other sites cannot read it.
func FormToken(secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("standin form token v1"))
	return hex.EncodeToString(mac.Sum(nil))
}

// FormTokenMatches reports whether a form token belongs to a session's secret.
func FormTokenMatches(given, secret string) bool {
	return SameSecret(given, FormToken(secret))
}

// RecheckInterval is how often a long response checks the key or the session that it was
// opened with. Revocations of this process are noticed at once; the interval is for
// those of other nodes and of the command line.
const RecheckInterval = 3 * time.Second

// Revocations tells the long responses of this process that a key or a session may have
// ended. Announce a revocation after it was stored.
type Revocations = retry.Broadcast

// SameSecret compares two secrets in constant time, even if their lengths differ.
func SameSecret(given, secret string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
