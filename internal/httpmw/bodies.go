package httpmw

import (
	"context"

	"standin/internal/budget"
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
type Bodies struct{ small, large, decodeSmall, decodeLarge *budget.Budget }

// NewBodies returns a Bodies for a process.
func NewBodies() *Bodies {
	return &Bodies{
		small:       budget.New(smallTotal, smallPerClient, 0),
		large:       budget.New(largeTotal, largePerClient, 0),
		decodeSmall: budget.New(smallDecoding, smallDecodingPerClient, 0),
		decodeLarge: budget.New(largeDecoding, largeDecoding, 0),
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
