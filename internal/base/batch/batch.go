// Package batch runs items in batches: while one batch runs, the items that
// arrive wait and form the next one. It is for work whose cost per batch is much
// higher than its cost per item, such as a durable commit.
package batch

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

var (
	// ErrClosed is the error of Do on a closed Batcher.
	ErrClosed = errors.New("the batcher is closed")
	// ErrFailed is the error of Do if the batch of the item has failed, maybe because of another
	// item: nothing of the batch was done, and the caller runs its item alone.
	ErrFailed = errors.New("the batch has failed")
)

// Batcher runs items of type T in batches, on one goroutine, which Close ends. Its
// methods are safe for concurrent use.
type Batcher[T any] struct {
	run    func(context.Context, []T) error
	limits Limits

	waiting chan *entry[T]
	closing chan struct{} // closed when no further item is accepted
	done    chan struct{} // closed when the goroutine has ended
	once    sync.Once
}

// Limits are the limits of batches.
type Limits struct {
	Items int // of a batch
	// Timeout of a batch, for which all later ones wait; none when 0.
	Timeout time.Duration
	// Interval is the shortest time between the starts of two batches, in which items gather. When it
	// is 0, the next batch starts as soon as the previous one ends.
	Interval time.Duration
}

// entry is an item that waits for its batch.
type entry[T any] struct {
	item  T
	taken atomic.Bool // by a batch, or by a caller that has given up
	done  chan struct{}
	err   error
}

// New starts a Batcher that passes batches to run. The contexts of the callers do not end that of
// run. A batch has failed if run returns an error or panics.
func New[T any](limits Limits, run func(context.Context, []T) error) *Batcher[T] {
	b := &Batcher[T]{
		run: run, limits: limits, waiting: make(chan *entry[T], limits.Items), closing: make(chan struct{}), done: make(chan struct{}),
	}
	go b.loop()
	return b
}

// Do adds an item and returns nil after its batch has run. After an error, nothing of the item was done.
func (b *Batcher[T]) Do(ctx context.Context, item T) error {
	e := &entry[T]{item: item, done: make(chan struct{})}
	select {
	case <-b.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	default:
	}
	select {
	case b.waiting <- e:
	case <-b.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	var err error
	select {
	case <-e.done:
	case <-ctx.Done():
		err = ctx.Err()
	case <-b.done: // closed meanwhile: the last batch may have had the item
		err = ErrClosed
	}
	if err != nil && !e.taken.Swap(true) {
		return err
	}
	<-e.done
	return e.err
}

// Close runs the waiting items and waits for the last batch.
func (b *Batcher[T]) Close() {
	b.once.Do(func() { close(b.closing) })
	<-b.done
}

// loop runs batches until the Batcher is closed.
func (b *Batcher[T]) loop() {
	defer close(b.done)
	for {
		select {
		case first := <-b.waiting:
			b.runBatch(first)
		case <-b.closing:
			for {
				select {
				case first := <-b.waiting:
					b.runBatch(first)
				default:
					return
				}
			}
		}
	}
}

// runBatch runs a batch of first and the items that are already waiting.
func (b *Batcher[T]) runBatch(first *entry[T]) {
	started := time.Now()
	runtime.Gosched() // the callers of the previous batch may have the next items
	var entries []*entry[T]
	var items []T
	for e := first; e != nil; {
		if !e.taken.Swap(true) {
			entries, items = append(entries, e), append(items, e.item)
		}
		if len(items) == b.limits.Items {
			break
		}
		select {
		case e = <-b.waiting:
		default:
			e = nil
		}
	}
	if len(items) == 0 {
		return
	}
	err := b.try(items)
	for _, e := range entries {
		e.err = err
		close(e.done)
	}
	b.pause(b.limits.Interval - time.Since(started))
}

// try runs items, and returns ErrFailed if that fails.
func (b *Batcher[T]) try(items []T) (err error) {
	ctx := context.Background()
	if b.limits.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.limits.Timeout)
		defer cancel()
	}
	defer func() {
		if r := recover(); r != nil || err != nil { // a panic comes again when its caller runs the item
			err = ErrFailed
		}
	}()
	return b.run(ctx, items)
}

// pause waits for a time, or until the Batcher is closed.
func (b *Batcher[T]) pause(length time.Duration) {
	if length <= 0 {
		return
	}
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.closing:
	}
}
