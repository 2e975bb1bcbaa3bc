package session

import (
	"context"
	"errors"
	"time"

	"standin/internal/bot/ingest"
)

// task is work that runs beside a session's loop.
type task struct {
	timeout       time.Duration
	command       *ingest.Command // the command that the task executes; may be nil
	uncancellable bool            // the task is awaited, never canceled

	// shouldRun is called when the task reaches the front of the queue; false
	// drops the task. It may be nil.
	shouldRun func() bool
	do        func(ctx context.Context) error
	// onDone receives the error of do. It may be nil.
	onDone func(ctx context.Context, err error) *exitResult
}

// taskQueue runs tasks one at a time, each on its own goroutine, so that the
// session's loop is never blocked. The loop calls all methods, and the queue
// calls shouldRun and onDone from it.
type taskQueue struct {
	settle  func(command ingest.Command, err error) // called once for each task with a command
	waiting []task
	current task
	cancel  context.CancelFunc
	done    chan error // result of the current task; nil if there is none
	closed  bool
}

// add appends a task.
func (q *taskQueue) add(ctx context.Context, t task) {
	if q.closed {
		return
	}
	q.waiting = append(q.waiting, t)
	q.startNext(ctx)
}

// logFailure returns an onDone that logs an error, unless the session has ended.
func logFailure(log func(message string, args ...any), message string, args ...any) func(context.Context, error) *exitResult {
	return func(ctx context.Context, err error) *exitResult {
		if err != nil && ctx.Err() == nil {
			log(message, append(args, "error", err)...)
		}
		return nil
	}
}

// idle reports whether the queue is empty.
func (q *taskQueue) idle() bool { return q.done == nil && len(q.waiting) == 0 }

// startNext starts the next task that should run, if none is running.
func (q *taskQueue) startNext(ctx context.Context) {
	for q.done == nil && len(q.waiting) > 0 {
		q.current, q.waiting = q.waiting[0], q.waiting[1:]
		if q.current.shouldRun != nil && !q.current.shouldRun() {
			q.settleCommand(q.current, nil)
			continue
		}
		taskCtx := ctx
		if q.current.uncancellable {
			taskCtx = context.WithoutCancel(ctx)
		}
		taskCtx, cancel := context.WithTimeout(taskCtx, q.current.timeout)
		do, done := q.current.do, make(chan error, 1)
		q.cancel, q.done = cancel, done
		go func() { done <- do(taskCtx) }()
	}
}

// finish handles the result of the current task and starts the next one.
func (q *taskQueue) finish(ctx context.Context, err error) *exitResult {
	q.cancel()
	q.done = nil
	q.settleCommand(q.current, err)
	if q.current.onDone != nil {
		if end := q.current.onDone(ctx, err); end != nil {
			return end
		}
	}
	if !q.closed {
		q.startNext(ctx)
	}
	return nil
}

// errNotStarted is the error of a command whose task was removed from the queue.
var errNotStarted = errors.New("the page was left before the command was executed")

// clear cancels the current task, waits for it, and removes the others.
func (q *taskQueue) clear(ctx context.Context) {
	waiting := q.waiting
	q.waiting = nil
	if q.done != nil {
		if !q.current.uncancellable {
			q.cancel()
		}
		q.closed = true
		_ = q.finish(ctx, <-q.done) // its result no longer counts
		q.closed = false
	}
	for _, t := range waiting {
		q.settleCommand(t, errNotStarted)
	}
}

// close clears the queue for good.
func (q *taskQueue) close(ctx context.Context) {
	q.clear(ctx)
	q.closed = true
}

func (q *taskQueue) settleCommand(t task, err error) {
	if t.command != nil {
		q.settle(*t.command, err)
	}
}
