package httpmw

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Budget is a number of bytes, or of other units, that clients share. It is safe for
// concurrent use.
type Budget struct {
	perClient int64
	total     *semaphore.Weighted

	mu     sync.Mutex
	shares map[string]*share // of the clients that use or wait for a part
}

// share is the part of a budget that one client may use.
type share struct {
	units *semaphore.Weighted
	users int
}

// NewBudget returns a Budget of which each client may use a part at a time.
func NewBudget(total, perClient int64) *Budget {
	return &Budget{perClient: perClient, total: semaphore.NewWeighted(total), shares: make(map[string]*share)}
}

// Acquire waits until a client may use a part of the size, and returns what ends the use. A
// size beyond what one client may use takes all of that. The error is that of ctx.
func (b *Budget) Acquire(ctx context.Context, client string, size int64) (release func(), err error) {
	size = min(size, b.perClient)
	own := b.join(client)
	if err := own.units.Acquire(ctx, size); err != nil {
		b.leave(client, own)
		return nil, err
	}
	if err := b.total.Acquire(ctx, size); err != nil {
		own.units.Release(size)
		b.leave(client, own)
		return nil, err
	}
	return func() {
		b.total.Release(size)
		own.units.Release(size)
		b.leave(client, own)
	}, nil
}

func (b *Budget) join(client string) *share {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.shares[client]
	if own == nil {
		own = &share{units: semaphore.NewWeighted(b.perClient)}
		b.shares[client] = own
	}
	own.users++
	return own
}

func (b *Budget) leave(client string, own *share) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(b.shares, client)
	}
}
