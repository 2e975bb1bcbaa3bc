package runner_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"standin/internal/jobs/runner"
)

// row is an item in a table, as databases have it.
type row struct {
	id, team string
	due      time.Time
	lease    int // of the claim that has it
	runs     int // of its work, at the moment
	done     int
	tries    []time.Time
}

// table is a database in memory, shared by nodes.
type table struct {
	mu     sync.Mutex
	rows   []*row
	claims int
	down   error
	failed []string // what must not have happened
}

type claimed struct {
	*row
	lease int
}

// node returns a runner on the table, with its own clock.
func (t *table) node(now func() time.Time, work func(ctx context.Context, r *row) error) *runner.Runner[claimed] {
	take := func(team string) (item claimed, ok bool) {
		for _, r := range t.rows {
			if r.done == 0 && !r.due.After(now()) && (team == "" || r.team == team) {
				t.claims++
				r.lease, r.due = t.claims, now().Add(time.Minute)
				return claimed{r, r.lease}, true
			}
		}
		return claimed{}, false
	}
	return &runner.Runner[claimed]{
		Name: "row", Slots: 4, Share: 2, Poll: 10 * time.Second, Lease: time.Minute, Limit: 30 * time.Minute,
		Now: now, Log: slog.New(slog.DiscardHandler), ID: func(c claimed) string { return c.id },
		Teams: func(context.Context) (teams []string, err error) {
			t.mu.Lock()
			defer t.mu.Unlock()
			for _, r := range t.rows {
				if r.done == 0 && !r.due.After(now()) && !slices.Contains(teams, r.team) {
					teams = append(teams, r.team)
				}
			}
			return teams, t.down
		},
		ClaimOf: func(_ context.Context, team string) (item claimed, ok bool, err error) {
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.down != nil {
				return claimed{}, false, t.down
			}
			item, ok = take(team)
			return item, ok, nil
		},
		Extend: func(_ context.Context, c claimed, until time.Time) error {
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.down != nil {
				return t.down
			}
			if c.row.lease != c.lease {
				return runner.ErrLost
			}
			c.due = until
			return nil
		},
		Run: func(ctx context.Context, c claimed, _ *runner.Lease) error {
			t.mu.Lock()
			c.tries = append(c.tries, time.Now())
			if c.runs++; c.runs > 1 {
				t.failed = append(t.failed, fmt.Sprintf("%s runs %d times at once", c.id, c.runs))
			}
			t.mu.Unlock()
			defer func() {
				t.mu.Lock()
				c.runs--
				t.mu.Unlock()
			}()
			if err := work(ctx, c.row); err != nil {
				return err
			}
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.down != nil {
				return t.down
			}
			if c.row.lease != c.lease {
				return runner.ErrLost
			}
			c.done++
			return nil
		},
	}
}

func (t *table) add(n int, team string) {
	for i := range n {
		t.rows = append(t.rows, &row{id: fmt.Sprint(team, i), team: team, due: time.Now()})
	}
}

// unfinished returns the rows that were not done exactly once.
func (t *table) unfinished() (ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.rows {
		if r.done != 1 {
			ids = append(ids, r.id)
		}
	}
	return append(ids, t.failed...)
}

// wait waits until d has passed or ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestFaults checks that two nodes finish all other items, each once, whatever happens to
// one of them, to the database, or to the clock of a node.
func TestFaults(t *testing.T) {
	t.Parallel()
	errPoison := errors.New("poison")
	for name, test := range map[string]struct {
		work  func(ctx context.Context, r *row) error // of the first item
		fault func(ctx context.Context, table *table, ahead *time.Duration)
		bad   bool // the first item is never done
		again bool // items are begun on another node while they run, and only one of them finishes
		nodes int  // 2 when 0
		tries [2]int
	}{
		"an error each time": {work: func(context.Context, *row) error { return errPoison }, bad: true, tries: [2]int{20, 45}},
		"a panic each time":  {work: func(context.Context, *row) error { panic("poison") }, bad: true, tries: [2]int{20, 45}},
		"an item that hangs": {
			work: func(ctx context.Context, _ *row) error { return wait(ctx, 1000*time.Hour) }, bad: true, tries: [2]int{15, 40},
		},
		"an error once": {
			work: func(_ context.Context, r *row) error {
				if len(r.tries) == 1 {
					return errPoison
				}
				return nil
			}, tries: [2]int{2, 2},
		},
		"a database that is away for a minute": {fault: func(ctx context.Context, table *table, _ *time.Duration) {
			for _, down := range []error{errors.New("connection refused"), nil} {
				table.mu.Lock()
				table.down = down
				table.mu.Unlock()
				_ = wait(ctx, time.Minute)
			}
		}, tries: [2]int{1, 3}},
		"the clock of a node an hour ahead, and back": {nodes: 1, fault: func(ctx context.Context, table *table, ahead *time.Duration) {
			for _, offset := range []time.Duration{time.Hour, 0} {
				table.mu.Lock()
				*ahead = offset
				table.mu.Unlock()
				_ = wait(ctx, 20*time.Second)
			}
		}, tries: [2]int{1, 3}},
		"one of two clocks an hour ahead": {again: true, fault: func(_ context.Context, table *table, ahead *time.Duration) {
			table.mu.Lock()
			defer table.mu.Unlock()
			*ahead = time.Hour
		}, tries: [2]int{1, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				table, ahead := new(table), new(time.Duration)
				table.add(20, "a")
				table.add(20, "b")
				work := func(ctx context.Context, r *row) error {
					if r == table.rows[0] && test.work != nil {
						return test.work(ctx, r)
					}
					return wait(ctx, 5*time.Second)
				}
				ctx, stop := context.WithCancel(t.Context())
				var nodes sync.WaitGroup
				for n := range cmp.Or(test.nodes, 2) {
					r := table.node(func() time.Time {
						if n == 0 {
							return time.Now().Add(*ahead)
						}
						return time.Now()
					}, work)
					nodes.Go(func() { r.Work(ctx) })
				}
				if test.fault != nil {
					test.fault(ctx, table, ahead)
				}
				_ = wait(ctx, 48*time.Hour)
				stop()
				nodes.Wait()
				want := []string(nil)
				if test.bad {
					want = []string{"a0"}
				}
				if test.again {
					table.failed = nil
				}
				if got := table.unfinished(); !slices.Equal(got, want) {
					t.Errorf("not done once: %v, want %v", got, want)
				}
				if n := len(table.rows[0].tries); n < test.tries[0] || n > test.tries[1] {
					t.Errorf("the first item was tried %d times in 48 hours, want %d to %d", n, test.tries[0], test.tries[1])
				}
			})
		})
	}
}

// TestTurns checks that the item of a team is run at once beside 40 slow ones of each of
// two others, of which each has at most its share of the slots.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := new(table)
		table.add(40, "slow")
		table.add(40, "slower")
		running, most := map[string]int{}, map[string]int{}
		r := table.node(time.Now, func(ctx context.Context, r *row) error {
			table.mu.Lock()
			running[r.team]++
			most[r.team] = max(most[r.team], running[r.team])
			table.mu.Unlock()
			defer func() {
				table.mu.Lock()
				running[r.team]--
				table.mu.Unlock()
			}()
			return wait(ctx, 20*time.Second)
		})
		ctx, stop := context.WithCancel(t.Context())
		var node sync.WaitGroup
		node.Go(func() { r.Work(ctx) })
		_ = wait(ctx, time.Minute)
		table.mu.Lock()
		table.add(1, "quick")
		added := time.Now()
		table.mu.Unlock()
		r.Wake()
		_ = wait(ctx, time.Hour)
		stop()
		node.Wait()
		if got := table.unfinished(); len(got) > 0 {
			t.Errorf("not done: %v", got)
		}
		last := table.rows[len(table.rows)-1]
		if late := last.tries[0].Sub(added); late > 20*time.Second {
			t.Errorf("the other team's item ran after %v, want at most the 20s of a slot that becomes free", late)
		}
		if most["slow"] > 2 || most["slower"] > 2 {
			t.Errorf("at once: %v, want at most 2 of each", most)
		}
	})
}

// TestLease checks that the work of an item ends before another node can have it, that
// a lease that was lost is noticed, and that a node that ends waits for its items.
func TestLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := new(table)
		table.add(1, "a")
		causes := make(chan error, 3)
		r := table.node(time.Now, func(ctx context.Context, _ *row) error {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return ctx.Err()
		})
		ctx, stop := context.WithCancel(t.Context())
		var node sync.WaitGroup
		node.Go(func() { r.Work(ctx) })
		_ = wait(ctx, 10*time.Minute) // it is extended
		if got := len(table.rows[0].tries); got != 1 {
			t.Fatalf("%d tries, want 1 that is still running", got)
		}
		table.mu.Lock()
		table.down = errors.New("connection refused")
		table.mu.Unlock()
		down := time.Now()
		if cause := <-causes; !errors.Is(cause, runner.ErrLost) || time.Since(down) > time.Minute*5/6 {
			t.Errorf("without a database the work ended after %v with %v; want less than the lease of 1m0s, and %v",
				time.Since(down), cause, runner.ErrLost)
		}
		table.mu.Lock()
		table.down = nil
		table.mu.Unlock()
		_ = wait(ctx, 2*time.Minute)
		table.mu.Lock()
		table.rows[0].lease++ // changed by somebody else
		table.mu.Unlock()
		if cause := <-causes; !errors.Is(cause, runner.ErrLost) {
			t.Errorf("after the loss of the lease the work ended with %v, want %v", cause, runner.ErrLost)
		}
		_ = wait(ctx, 2*time.Minute)
		stop()
		node.Wait()
		if cause := <-causes; !errors.Is(cause, context.Canceled) {
			t.Errorf("at the end of the node the work ended with %v, want %v", cause, context.Canceled)
		}
	})
}
