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

// ErrClosed is the error of Do on a closed Batcher.
var ErrClosed = errors.New("the batcher is closed")

// Batcher runs items of type T in batches, on one goroutine, which Close ends. Its
// methods are safe for concurrent use.
type Batcher[T any] struct {
	run      func([]T)
	maximum  int
	interval time.Duration

	waiting chan *entry[T]
	closing chan struct{} // closed when no further item is accepted
	done    chan struct{} // closed when the goroutine has ended
	once    sync.Once
}

// entry is an item that waits for its batch.
type entry[T any] struct {
	item  T
	taken atomic.Bool // by a batch, or by a caller that has given up
	done  chan struct{}
}

// New starts a Batcher that passes up to maximum items at a time to run. Batches
// start at least interval apart, so that items gather in between; 0 starts the
// next batch as soon as the previous one ends.
func New[T any](maximum int, interval time.Duration, run func([]T)) *Batcher[T] {
	b := &Batcher[T]{
		run: run, maximum: maximum, interval: interval,
		waiting: make(chan *entry[T], maximum), closing: make(chan struct{}), done: make(chan struct{}),
	}
	go b.loop()
	return b
}

// Do adds an item and returns nil after its batch has run. After an error, the item does not run.
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
	return nil
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
		if len(items) == b.maximum {
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
	b.run(items)
	for _, e := range entries {
		close(e.done)
	}
	b.pause(b.interval - time.Since(started))
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
