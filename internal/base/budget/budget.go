// Package budget divides what a process shares, such as memory, slots and workers, between
// those who use it, so that nobody takes all and the others notice nothing.
package budget

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// ErrFull is returned to a user who has as many calls waiting as one may have.
var ErrFull = errors.New("too many requests are waiting")

// Budget is a number of units, such as bytes or slots. Each user may use a part of them at
// a time, and those who want more wait. Nobody waits for the calls of another user that
// wait for that user's own part. It is safe for concurrent use.
type Budget struct {
	each    int64
	waiting int // calls of one user that may wait; no limit when 0
	total   *semaphore.Weighted

	mu    sync.Mutex
	users map[string]*user // those who use or wait for a part
}

// user is what one user may use.
type user struct {
	units *semaphore.Weighted
	calls int // that use or wait for a part
	using int // of these
}

// New returns a Budget of total units, of which each user may use a part. At most waiting
// calls of one user wait; 0 is no limit.
func New(total, each int64, waiting int) *Budget {
	return &Budget{each: each, waiting: waiting, total: semaphore.NewWeighted(total), users: make(map[string]*user)}
}

// Acquire waits until a user may use so many units, and returns what ends the use. More
// than one user may use is all of that. The error is that of ctx, or ErrFull.
func (b *Budget) Acquire(ctx context.Context, name string, units int64) (release func(), err error) {
	return b.acquire(name, min(units, b.each), func(s *semaphore.Weighted, units int64) error { return s.Acquire(ctx, units) })
}

// TryAcquire is Acquire without waiting.
func (b *Budget) TryAcquire(name string, units int64) (release func(), err error) {
	return b.acquire(name, min(units, b.each), func(s *semaphore.Weighted, units int64) error {
		if !s.TryAcquire(units) {
			return ErrFull
		}
		return nil
	})
}

func (b *Budget) acquire(name string, units int64, from func(*semaphore.Weighted, int64) error) (release func(), err error) {
	u, err := b.join(name)
	if err != nil {
		return nil, err
	}
	if err := from(u.units, units); err != nil {
		b.leave(name, u, 0)
		return nil, err
	}
	if err := from(b.total, units); err != nil {
		u.units.Release(units)
		b.leave(name, u, 0)
		return nil, err
	}
	b.mu.Lock()
	u.using++
	b.mu.Unlock()
	return func() {
		b.total.Release(units)
		u.units.Release(units)
		b.leave(name, u, 1)
	}, nil
}

// AcquireWithin is Acquire for a user who waits for a time at most: then the error is ErrFull.
func (b *Budget) AcquireWithin(ctx context.Context, wait time.Duration, name string, units int64) (release func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if release, err = b.Acquire(waiting, name, units); err != nil && ctx.Err() == nil {
		return nil, ErrFull
	}
	return release, err
}

func (b *Budget) join(name string) (*user, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.users[name]
	if u == nil {
		u = &user{units: semaphore.NewWeighted(b.each)}
		b.users[name] = u
	}
	if b.waiting > 0 && u.calls-u.using >= b.waiting {
		return nil, ErrFull
	}
	u.calls++
	return u, nil
}

func (b *Budget) leave(name string, u *user, using int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u.using -= using
	if u.calls--; u.calls == 0 {
		delete(b.users, name)
	}
}
