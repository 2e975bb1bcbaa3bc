// Package runner runs work when it is due: it claims items, runs each on its own, keeps
// their leases, and tries again what fails.
//
//   - An item that fails, panics or hangs costs no other item anything. It is tried again
//     after a pause that grows with each failure.
//   - A claim that fails, because the database does not answer, pauses the loop. Nothing
//     ends it but its context.
//   - Teams take turns, and no team has more than its share of the slots.
//   - An item runs on one node: its context ends before its lease does. If the clock of the
//     node jumps ahead, so that its own leases seem to have ended, it waits for its own run.
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"standin/internal/base/retry"
)

const (
	// slotWait is how long a claim waits for half of the slots to become free, so that
	// many items are claimed together.
	slotWait = 100 * time.Millisecond
	// minClaimPause and maxClaimPause bound the pause after a claim that failed, or that
	// found the due items taken.
	minClaimPause, maxClaimPause = 20 * time.Millisecond, 2 * time.Second
	// The defaults of MinPause and MaxPause.
	minPause, maxPause = 30 * time.Second, time.Hour
	// parkAfter is the number of failures in a row after which an item is parked: it is
	// tried once in parkTime.
	parkAfter, parkTime = 20, 24 * time.Hour
	// maxFailing is how many failing items are remembered.
	maxFailing = 10_000
)

// ErrLost is the error of an item whose lease was lost: another node has it, or it was
// changed or deleted.
var ErrLost = errors.New("the lease was lost")

// errLimit is why the context of an item ends that runs longer than Limit.
var errLimit = errors.New("it takes longer than it may")

// Batch is the result of a claim.
type Batch[T any] struct {
	Items []T
	More  bool // more items are due
}

// Runner runs the due items of one kind. Set its fields before Run.
type Runner[T any] struct {
	Name  string        // of an item, in logs
	Slots int           // items that run at the same time
	Poll  time.Duration // the longest time between two claims: another node's items announce themselves to that node only
	Gap   time.Duration // the shortest time between two claims
	Lease time.Duration // of a claimed item; the runner extends it while the item runs. Without leases 0.
	Limit time.Duration // the longest that an item may run; no limit when 0

	// MinPause is the pause after the first failure of an item, half a minute when 0; it is
	// doubled each time, up to MaxPause. When that is 0, it is an hour, and an item that fails
	// 20 times in a row is parked: it is tried once a day.
	MinPause, MaxPause time.Duration

	// Claim leases up to n items that are due, the longest due first. Instead of it, Teams
	// returns whose items are due, and ClaimOf leases one of a team; ok is false if there
	// is none. A team has at most Share items at a time.
	Claim   func(ctx context.Context, n int) (Batch[T], error)
	Teams   func(ctx context.Context) ([]string, error)
	ClaimOf func(ctx context.Context, team string) (item T, ok bool, err error)
	Share   int

	// Next returns when the next item is due; ok is false if none is known. It may be nil.
	Next func(ctx context.Context) (at time.Time, ok bool, err error)
	// Extend sets the end of an item's lease, or returns ErrLost. Without leases, it is called
	// only for an item that failed, with the time at which it is due again, and may be nil.
	Extend func(ctx context.Context, item T, until time.Time) error
	// Run does the work of an item. Its context ends when the lease is lost. After an error,
	// except ErrLost, the item is due again after a pause.
	Run func(ctx context.Context, item T, lease *Lease) error
	// ID names an item in logs.
	ID func(item T) string

	Now func() time.Time
	Log *slog.Logger

	once    sync.Once
	wake    retry.Signal
	freed   retry.Signal // a slot is free
	used    atomic.Int64 // slots
	running sync.WaitGroup

	mu      sync.Mutex
	active  map[string]chan struct{} // closed when the last claim of the ID has ended
	failing map[string]int           // failures in a row, by ID
	teams   map[string]turn
	turns   int // that were taken
}

// turn is what a team has had.
type turn struct{ last, running int }

func (r *Runner[T]) init() {
	r.once.Do(func() {
		r.wake, r.freed = retry.NewSignal(), retry.NewSignal()
		r.active, r.failing, r.teams = make(map[string]chan struct{}), make(map[string]int), make(map[string]turn)
	})
}

// Wake reports that an item may be due. It does not block.
func (r *Runner[T]) Wake() {
	r.init()
	r.wake.Send()
}

// Work runs due items until ctx ends, and waits for those that run.
func (r *Runner[T]) Work(ctx context.Context) {
	r.init()
	defer r.running.Wait()
	failures := retry.Backoff{Min: minClaimPause, Max: maxClaimPause}
	taken := failures
	for ctx.Err() == nil {
		started := time.Now()
		found, claimed, err := Batch[T]{More: true}, 0, error(nil)
		if free := r.Slots - int(r.used.Load()); free > 0 {
			found, claimed, err = r.claim(ctx, free, started)
		}
		if err != nil {
			if ctx.Err() == nil {
				pause := failures.Next()
				r.Log.Error("cannot find due work", "kind", r.Name, "error", err, "retry_in", pause)
				_ = retry.Sleep(ctx, pause) // no wake-up shortens it; the loop checks ctx
			}
			continue
		}
		failures.Reset()
		switch {
		case found.More && claimed == 0 && r.used.Load() < int64(r.Slots):
			r.wake.Wait(ctx, taken.Next())
		case found.More:
			taken.Reset()
			r.awaitSlots(ctx)
		default:
			taken.Reset()
			pause := r.Poll
			if r.Next != nil {
				if next, ok, err := r.Next(ctx); err == nil && ok {
					pause = min(pause, next.Sub(r.Now()))
				}
			}
			r.wake.Wait(ctx, pause)
		}
		_ = retry.Sleep(ctx, time.Until(started.Add(r.Gap)))
	}
}

// RunNext claims one item and runs it. It reports false if none is due.
func (r *Runner[T]) RunNext(ctx context.Context) bool {
	r.init()
	_, claimed, err := r.claim(ctx, 1, time.Now())
	if err != nil && ctx.Err() == nil {
		r.Log.Error("cannot find due work", "kind", r.Name, "error", err)
	}
	r.running.Wait()
	return claimed > 0
}

// claim claims up to n items, and starts them.
func (r *Runner[T]) claim(ctx context.Context, n int, now time.Time) (found Batch[T], claimed int, err error) {
	claiming, cancel := ctx, context.CancelFunc(func() {})
	if r.Lease > 0 {
		claiming, cancel = context.WithTimeout(ctx, r.Lease/2)
	}
	defer cancel()
	team := ""
	err = Safely(func() (err error) {
		if r.ClaimOf == nil {
			found, err = r.Claim(claiming, n)
		} else {
			found, team, err = r.claimInTurn(claiming)
		}
		return err
	})
	if err != nil {
		return found, 0, err
	}
	for _, item := range found.Items {
		r.start(ctx, item, team, now)
	}
	return found, len(found.Items), nil
}

// claimInTurn claims an item of the team that has the fewest items running, and of these
// of the one whose last turn is the longest ago.
func (r *Runner[T]) claimInTurn(ctx context.Context) (found Batch[T], team string, err error) {
	due, err := r.Teams(ctx)
	if err != nil || len(due) == 0 {
		return found, "", err
	}
	found.More = true
	next := turn{running: max(1, r.Share)}
	r.mu.Lock()
	for _, name := range due {
		if t := r.teams[name]; t.running < next.running || t.running == next.running && team != "" && t.last < next.last {
			team, next = name, t
		}
	}
	r.mu.Unlock()
	if team == "" {
		return found, "", nil // each has its share
	}
	item, ok, err := r.ClaimOf(ctx, team)
	if ok && err == nil {
		found.Items = []T{item}
	}
	return found, team, err
}

// start runs an item in a slot, once an earlier claim of it has ended. Its lease is extended while it runs, and it is
// postponed if it fails.
func (r *Runner[T]) start(ctx context.Context, item T, team string, claimedAt time.Time) {
	id := r.ID(item)
	ended := make(chan struct{})
	r.mu.Lock()
	before := r.active[id]
	r.active[id] = ended
	if team != "" {
		if len(r.teams) >= maxFailing {
			maps.DeleteFunc(r.teams, func(_ string, t turn) bool { return t.running == 0 })
		}
		r.turns++
		r.teams[team] = turn{last: r.turns, running: r.teams[team].running + 1}
	}
	r.mu.Unlock()
	r.used.Add(1)
	lease := &Lease{length: r.Lease, free: sync.OnceFunc(func() {
		r.used.Add(-1)
		r.freed.Send()
	})}
	lease.renewedAt.Store(&claimedAt)
	r.running.Go(func() {
		defer lease.FreeSlot()
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			close(ended)
			if r.active[id] == ended {
				delete(r.active, id)
			}
			if team != "" {
				r.teams[team] = turn{last: r.teams[team].last, running: r.teams[team].running - 1}
				r.wake.Send()
			}
		}()
		if before != nil {
			<-before
		}
		working, cancel := context.WithCancelCause(ctx)
		if r.Limit > 0 {
			limit := time.AfterFunc(r.Limit, func() { cancel(errLimit) })
			defer limit.Stop()
		}
		var extending sync.WaitGroup
		if r.Lease > 0 {
			extending.Go(func() { r.keep(working, item, lease, cancel) })
		}
		err := Safely(func() error { return r.Run(working, item, lease) })
		lost := errors.Is(err, ErrLost) || errors.Is(context.Cause(working), ErrLost)
		cancel(nil)
		extending.Wait()
		switch {
		case err == nil:
			r.mu.Lock()
			delete(r.failing, id)
			r.mu.Unlock()
		case lost:
			r.Log.Info("work stopped: its lease was lost", "kind", r.Name, "id", id, "error", err)
		case ctx.Err() == nil:
			r.postpone(ctx, item, err)
		}
	})
}

// Safely calls fn, and returns a panic as an error.
func Safely(fn func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	return fn()
}

// keep extends the lease of an item until ctx ends. It cancels the work when the lease is
// lost, or could not be extended in time: before another node can claim the item.
func (r *Runner[T]) keep(ctx context.Context, item T, lease *Lease, cancel context.CancelCauseFunc) {
	for retry.Sleep(ctx, r.Lease/6) == nil {
		started := time.Now()
		extending, done := context.WithTimeout(ctx, r.Lease/6)
		err := r.Extend(extending, item, r.Now().Add(r.Lease))
		done()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			lease.renewedAt.Store(&started)
		case errors.Is(err, ErrLost) || !lease.Valid():
			r.Log.Warn("lease lost", "kind", r.Name, "id", r.ID(item), "error", err)
			cancel(ErrLost)
			return
		default:
			r.Log.Error("cannot extend a lease", "kind", r.Name, "id", r.ID(item), "error", err)
		}
	}
}

// postpone makes an item that failed due after a pause.
func (r *Runner[T]) postpone(ctx context.Context, item T, failure error) {
	id := r.ID(item)
	r.mu.Lock()
	if len(r.failing) >= maxFailing {
		clear(r.failing)
	}
	backoff := retry.Backoff{Min: cmp.Or(r.MinPause, minPause), Max: cmp.Or(r.MaxPause, maxPause), Failures: r.failing[id]}
	pause := backoff.Next()
	r.failing[id] = backoff.Failures
	r.mu.Unlock()
	message := "work failed; retrying"
	if backoff.Failures >= parkAfter && r.MaxPause == 0 {
		message, pause = "work fails each time; parked", parkTime
	}
	r.Log.Error(message, "kind", r.Name, "id", id, "failures", backoff.Failures, "retry_in", pause, "error", failure)
	if r.Extend == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.Lease/2, minPause))
	defer cancel()
	if err := r.Extend(ctx, item, r.Now().Add(pause)); err != nil && !errors.Is(err, ErrLost) { // lost: somebody has changed it
		r.Log.Error("cannot postpone work; repeating it when its lease ends", "kind", r.Name, "id", id, "error", err)
	}
}

// awaitSlots waits until half of the slots are free, and after slotWait until one is.
func (r *Runner[T]) awaitSlots(ctx context.Context) {
	for end := time.Now().Add(slotWait); ctx.Err() == nil && r.used.Load() > int64(r.Slots)/2; {
		if left := time.Until(end); left > 0 {
			r.freed.Wait(ctx, left)
		} else if r.used.Load() < int64(r.Slots) {
			return
		} else {
			r.freed.Wait(ctx, r.Poll)
		}
	}
}

// Lease is the right of a node to work on an item, and its slot.
type Lease struct {
	length    time.Duration
	renewedAt atomic.Pointer[time.Time]
	free      func()
}

// FreeSlot lets another item run beside this one, which waits for something else from now
// on. It may be called more than once.
func (l *Lease) FreeSlot() { l.free() }

// Valid reports whether no other node can have the item, by this node's own clocks: for two
// thirds of the lease since its last renewal was started. Whoever takes the item over waits
// for all of it, so between the two nobody works on it. The monotonic clock shows that the
// process was stopped, and the wall clock that the machine was suspended.
func (l *Lease) Valid() bool {
	now, renewed, limit := time.Now(), l.renewedAt.Load(), l.length*2/3
	return renewed != nil && now.Sub(*renewed) < limit && now.Round(0).Sub(renewed.Round(0)) < limit
}
