package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"log/slog"
	"time"

	"standin/internal/job"
)

// How long a session lives: in all, and without being used.
const (
	SessionLifetime = 14 * 24 * time.Hour
	SessionIdle     = 3 * 24 * time.Hour
)

// sessionPrecision is how exact the last use of a session is kept.
const sessionPrecision = 5 * time.Minute

// Session is a browser that is signed in. Its secret is in the cookie alone;
// what is kept is its hash.
type Session struct {
	Hash       string
	User       User
	CreatedAt  time.Time
	LastSeenAt time.Time // exact to sessionPrecision
	ExpiresAt  time.Time
}

// Open begins a session of a user and returns its secret.
func (u *Users) Open(ctx context.Context, user User) (string, Session, error) {
	now := u.now().UTC().Truncate(time.Millisecond)
	secret := newToken()
	session := Session{Hash: Hash(secret), User: user, CreatedAt: now, LastSeenAt: now, ExpiresAt: now.Add(SessionLifetime)}
	if err := u.store.InsertSession(ctx, session); err != nil {
		return "", Session{}, fmt.Errorf("keep a session: %w", err)
	}
	if err := u.store.RecordSignIn(ctx, user.ID, now); err != nil {
		return "", Session{}, fmt.Errorf("note a sign-in: %w", err)
	}
	return secret, session, nil
}

// Session returns the session of a secret. One that has ended, or never was,
// gives a *job.Error with Unauthorized.
func (u *Users) Session(ctx context.Context, secret string) (Session, error) {
	ended := &job.Error{Code: job.Unauthorized, Message: "not signed in"}
	if len(secret) != tokenLength {
		return Session{}, ended
	}
	now := u.now()
	session, err := u.store.Session(ctx, Hash(secret), now)
	if job.ErrorIs(err, job.NotFound) {
		return Session{}, ended
	}
	if err != nil {
		return Session{}, fmt.Errorf("look a session up: %w", err)
	}
	if now.Sub(session.LastSeenAt) >= SessionIdle {
		return Session{}, ended
	}
	if now.Sub(session.LastSeenAt) >= sessionPrecision {
		if err := u.store.TouchSession(ctx, session.Hash, now); err != nil {
			return Session{}, fmt.Errorf("note a session's use: %w", err)
		}
	}
	return session, nil
}

// End ends a session.
func (u *Users) End(ctx context.Context, session Session) error {
	return u.store.EndSession(ctx, session.Hash)
}

// FormToken is what every form of a session carries, beside the cookie that a
// browser sends by itself: a page of another site does not know it.
func FormToken(secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("standin form token v1"))
	return hex.EncodeToString(mac.Sum(nil))
}

// FormTokenMatches holds a form's token against the session's secret.
func FormTokenMatches(given, secret string) bool {
	return subtle.ConstantTimeCompare([]byte(given), []byte(FormToken(secret))) == 1
}

// eraseEvery is how often Run looks for what has ended.
const eraseEvery = time.Hour

// Run erases sessions and invitations that have ended, until ctx ends.
func (u *Users) Run(ctx context.Context, log *slog.Logger) {
	again := time.NewTicker(eraseEvery)
	defer again.Stop()
	for {
		if err := u.store.DeleteExpired(ctx, u.now()); err != nil && ctx.Err() == nil {
			log.Error("cannot erase sessions that have ended; trying again in an hour", "error", err)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}
