package browser

import (
	"context"
	"sync"
	"time"

	"standin/internal/base/retry"
)

// A headed browser gets input at a person's pace. Pages that follow the mouse get a
// path, and fields get one key after the other. Nothing imitates a person's hand:
// paths are straight and intervals are equal.
const (
	// moveInterval is the interval of mouse events: one per frame.
	moveInterval = 16 * time.Millisecond
	// moveBase and movePerPixel give the duration of a movement: 0.4 s for half
	// the width of a page.
	moveBase     = 80 * time.Millisecond
	movePerPixel = 500 * time.Microsecond
	// pressTime is how long a mouse button is down.
	pressTime = 60 * time.Millisecond
	// keyInterval is the time between two keys, about twelve per second.
	keyInterval = 80 * time.Millisecond
)

// point is a position on the page, in CSS pixels.
type point struct{ x, y float64 }

// pointer is where the mouse is. Movements do not overlap.
type pointer struct {
	sync.Mutex
	at point
}

// pause waits, in a headed browser only, unless ctx ends first.
func (p *Page) pause(ctx context.Context, duration time.Duration) error {
	if p.browser.options.Mode != Headed {
		return ctx.Err()
	}
	return retry.Sleep(ctx, duration)
}
