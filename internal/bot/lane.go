package bot

import (
	"context"
	"time"

	"standin/internal/ingest"
)

// errand is something to be done that may take its time.
type errand struct {
	name     string
	patience time.Duration
	command  *ingest.Command // which ordered it, if one did
	whole    bool            // it is waited for, never cut short
	// due is asked when the errand's turn has come; false lets it fall. It may
	// be nil.
	due func() bool
	do  func(ctx context.Context) error
	// then is told how it went. It may be nil.
	then func(ctx context.Context, err error) (ending, bool)
}

// lane carries out errands one after the other, each on a goroutine of its own,
// so that the loop of a visit stays free to hear an order to leave. Its methods
// are called from that loop alone, and so are due and then.
type lane struct {
	waiting []errand
	current errand
	cancel  context.CancelFunc
	done    chan error // of the current errand; nil when there is none
	closed  bool
}

// add puts an errand at the end of the lane.
func (l *lane) add(ctx context.Context, e errand) {
	if l.closed {
		return
	}
	l.waiting = append(l.waiting, e)
	l.next(ctx)
}

// idle reports whether there is nothing to do.
func (l *lane) idle() bool { return l.done == nil && len(l.waiting) == 0 }

// next begins the next errand that is due.
func (l *lane) next(ctx context.Context) {
	for l.done == nil && len(l.waiting) > 0 {
		l.current, l.waiting = l.waiting[0], l.waiting[1:]
		if l.current.due != nil && !l.current.due() {
			continue
		}
		working := ctx
		if l.current.whole {
			working = context.WithoutCancel(ctx)
		}
		working, cancel := context.WithTimeout(working, l.current.patience)
		l.cancel, l.done = cancel, make(chan error, 1)
		go func(do func(context.Context) error, done chan<- error) { done <- do(working) }(l.current.do, l.done)
	}
}

// finished takes in how the current errand went and begins the next one.
func (l *lane) finished(ctx context.Context, err error) (ending, bool) {
	l.cancel()
	l.done = nil
	if l.current.then != nil {
		if end, over := l.current.then(ctx, err); over {
			return end, true
		}
	}
	if !l.closed {
		l.next(ctx)
	}
	return ending{}, false
}

// clear cuts the current errand short, waits for it, and returns the orders
// among those that were not begun.
func (l *lane) clear(ctx context.Context) []ingest.Command {
	var orders []ingest.Command
	for _, e := range l.waiting {
		if e.command != nil {
			orders = append(orders, *e.command)
		}
	}
	l.waiting = nil
	if l.done != nil {
		if !l.current.whole {
			l.cancel()
		}
		l.closed = true
		_, _ = l.finished(ctx, <-l.done) // whatever it brings, it was cut short
		l.closed = false
	}
	return orders
}

// close is clear for the last time.
func (l *lane) close(ctx context.Context) []ingest.Command {
	orders := l.clear(ctx)
	l.closed = true
	return orders
}
