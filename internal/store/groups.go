package store

import (
	"context"
	"errors"
	"sync"
)

// maxGroup is the maximum number of writes that share a commit. A durable commit
// waits for the disk; a group waits only once.
const maxGroup = 256

// errClosed is the error of a write on a closed store.
var errClosed = errors.New("the database is closed")

// groups passes writes to goroutines that commit them in groups.
type groups[T any] struct {
	prepare func() // may be nil
	waiting chan *grouped[T]
	closing chan struct{} // closed when no further write is accepted
	done    chan struct{} // closed when the goroutines have ended
	once    sync.Once
}

// grouped is a write in a group.
type grouped[T any] struct {
	write T
	err   error
	done  chan struct{}
}

// newGroups starts goroutines that call commit with groups of waiting writes.
// commit sets the error of each write. prepare, which may be nil, is called before
// more writes join the first one of a group.
func newGroups[T any](goroutines int, prepare func(), commit func([]*grouped[T])) *groups[T] {
	g := &groups[T]{prepare: prepare, waiting: make(chan *grouped[T], maxGroup), closing: make(chan struct{}), done: make(chan struct{})}
	var running sync.WaitGroup
	for range goroutines {
		running.Go(func() { g.run(commit) })
	}
	go func() {
		running.Wait()
		close(g.done)
	}()
	return g
}

// commit returns when the group of the write was committed or failed. Once its
// group has started it runs to its end even when ctx is cancelled, because
// interrupting a statement would roll back the whole group.
func (g *groups[T]) commit(ctx context.Context, write T) error {
	w := &grouped[T]{write: write, done: make(chan struct{})}
	select {
	case g.waiting <- w:
	case <-g.closing:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-w.done:
		return w.err
	case <-g.done: // closed meanwhile: w may have run or not
		select {
		case <-w.done:
			return w.err
		default:
			return errClosed
		}
	}
}

// close commits the waiting writes and ends the goroutines.
func (g *groups[T]) close() {
	g.once.Do(func() { close(g.closing) })
	<-g.done
}

// run commits waiting writes until the groups are closed.
func (g *groups[T]) run(commit func([]*grouped[T])) {
	for {
		select {
		case first := <-g.waiting:
			g.commitGroup(first, commit)
		case <-g.closing:
			for {
				select {
				case first := <-g.waiting:
					g.commitGroup(first, commit)
				default:
					return
				}
			}
		}
	}
}

// commitGroup commits a group of first and the writes that are already waiting.
func (g *groups[T]) commitGroup(first *grouped[T], commit func([]*grouped[T])) {
	group := g.gather(first)
	commit(group)
	for _, w := range group {
		close(w.done)
	}
}

// gather returns first and the writes that are already waiting.
func (g *groups[T]) gather(first *grouped[T]) []*grouped[T] {
	if g.prepare != nil {
		g.prepare()
	}
	group := []*grouped[T]{first}
	for len(group) < maxGroup {
		select {
		case w := <-g.waiting:
			group = append(group, w)
		default:
			return group
		}
	}
	return group
}
