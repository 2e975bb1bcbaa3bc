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
// large ones. Until all clients together use too much, a client waits only for its own. A client is named by AddressKey. It is safe for concurrent use.
type Bodies struct{ small, large, decodeSmall, decodeLarge *budget }

// NewBodies returns a Bodies for a process.
func NewBodies() *Bodies {
	return &Bodies{
		small:       newBudget(smallTotal, smallPerClient),
		large:       newBudget(largeTotal, largePerClient),
		decodeSmall: newBudget(smallDecoding, smallDecodingPerClient),
		decodeLarge: newBudget(largeDecoding, largeDecoding),
	}
}

// Read waits until a body of a size may be read. The body counts until release is
// called. The error is that of ctx.
func (b *Bodies) Read(ctx context.Context, client string, size int64) (release func(), err error) {
	if size <= smallBody {
		return b.small.acquire(ctx, client, size)
	}
	return b.large.acquire(ctx, client, size)
}

// Decode waits until a body of a size may be decoded, as Read does.
func (b *Bodies) Decode(ctx context.Context, client string, size int64) (release func(), err error) {
	if size <= smallBody {
		return b.decodeSmall.acquire(ctx, client, size)
	}
	return b.decodeLarge.acquire(ctx, client, size)
}

// budget is a number of bytes that clients share.
type budget struct {
	perClient int64
	total     *semaphore.Weighted

	mu     sync.Mutex
	shares map[string]*share // of the clients that use or wait for bytes
}

// share is the part of a budget that one client may use.
type share struct {
	bytes *semaphore.Weighted
	users int
}

func newBudget(total, perClient int64) *budget {
	return &budget{perClient: perClient, total: semaphore.NewWeighted(total), shares: make(map[string]*share)}
}

// acquire waits for bytes of the client's share, and then for bytes of the total. A
// size beyond the share takes the whole share.
func (b *budget) acquire(ctx context.Context, client string, size int64) (release func(), err error) {
	size = min(size, b.perClient)
	own := b.join(client)
	if err := own.bytes.Acquire(ctx, size); err != nil {
		b.leave(client, own)
		return nil, err
	}
	if err := b.total.Acquire(ctx, size); err != nil {
		own.bytes.Release(size)
		b.leave(client, own)
		return nil, err
	}
	return func() {
		b.total.Release(size)
		own.bytes.Release(size)
		b.leave(client, own)
	}, nil
}

func (b *budget) join(client string) *share {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.shares[client]
	if own == nil {
		own = &share{bytes: semaphore.NewWeighted(b.perClient)}
		b.shares[client] = own
	}
	own.users++
	return own
}

func (b *budget) leave(client string, own *share) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(b.shares, client)
	}
}
