package httpmw

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Bounds of Bodies, in bytes, for all clients together and for one of them.
const (
	smallBody      = 64 << 10
	smallTotal     = 32 << 20
	smallPerClient = 2 << 20
	largeTotal     = 32 << 20
	largePerClient = 4 << 20

	// A decoded body takes up to fifty times its size.
	smallDecoding          = 512 << 10
	smallDecodingPerClient = 256 << 10
	largeDecoding          = 1 << 20 // the largest body
)

// Bodies bounds the bodies that this process reads and decodes at a time. Requests
// beyond the bounds wait. Small bodies, such as those of most bots, do not wait for
// large ones. Until all clients together use too much, a client waits only for its own. A client is named by AddressKey. It is
// safe for concurrent use.
type Bodies struct{ small, large, decodeSmall, decodeLarge *Budget }

// NewBodies returns a Bodies for a process.
func NewBodies() *Bodies {
	return &Bodies{
		small:       NewBudget(smallTotal, smallPerClient),
		large:       NewBudget(largeTotal, largePerClient),
		decodeSmall: NewBudget(smallDecoding, smallDecodingPerClient),
		decodeLarge: NewBudget(largeDecoding, largeDecoding),
	}
}

// Read waits until a body of a size may be read. The body counts until release is
// called. The error is that of ctx.
func (b *Bodies) Read(ctx context.Context, client string, size int64) (release func(), err error) {
	if size <= smallBody {
		return b.small.Acquire(ctx, client, size)
	}
	return b.large.Acquire(ctx, client, size)
}

// Decode waits until a body of a size may be decoded, as Read does.
func (b *Bodies) Decode(ctx context.Context, client string, size int64) (release func(), err error) {
	if size <= smallBody {
		return b.decodeSmall.Acquire(ctx, client, size)
	}
	return b.decodeLarge.Acquire(ctx, client, size)
}

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
