package account

import (
	"context"
	"fmt"
	"sync"
	"time"

	"standin/internal/job"
)

// Bounds of the sessions that are not stored.
const (
	maxUnsaved      = 100
	unsavedLifetime = time.Hour
)

// unsavedSessions are sessions that the database could not store, for example on a
// full disk. Its users can sign in to read pages and to delete recordings. The
// sessions are valid on this node until it restarts.
type unsavedSessions struct {
	mu       sync.Mutex
	sessions map[string]Session // by hash
}

// add adds a session, which then ends earlier than a stored one. It reports false
// when there are too many.
func (s *unsavedSessions) add(session *Session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for hash, other := range s.sessions {
		if !other.ExpiresAt.After(session.CreatedAt) {
			delete(s.sessions, hash)
		}
	}
	if len(s.sessions) >= maxUnsaved {
		return false
	}
	if s.sessions == nil {
		s.sessions = make(map[string]Session)
	}
	session.ExpiresAt = session.CreatedAt.Add(unsavedLifetime)
	s.sessions[session.Hash] = *session
	return true
}

// remove removes a session and reports whether it existed.
func (s *unsavedSessions) remove(hash string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.sessions[hash]
	delete(s.sessions, hash)
	return ok
}

func (s *unsavedSessions) find(hash string) (Session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, ok := s.sessions[hash]
	return session, ok
}

// unsavedSession returns a session that is not stored. As with stored sessions, it
// ends when the user is removed or gets another password.
func (u *Users) unsavedSession(ctx context.Context, hash string, now time.Time) (Session, bool, error) {
	session, ok := u.unsaved.find(hash)
	if !ok {
		return Session{}, false, nil
	}
	user, err := u.store.UserByEmail(ctx, session.User.Email)
	removed := job.ErrorIs(err, job.NotFound)
	if err != nil && !removed {
		return Session{}, false, fmt.Errorf("find a user: %w", err)
	}
	if removed || user.ID != session.User.ID || user.PasswordHash != session.User.PasswordHash || !now.Before(session.ExpiresAt) {
		u.unsaved.remove(hash)
		return Session{}, false, nil
	}
	session.User = user
	return session, true, nil
}
