package bot

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"standin/internal/ingest"
)

// TestLane carries errands out one after the other, and lets those fall whose
// time has passed.
func TestLane(t *testing.T) {
	t.Parallel()
	var l lane
	var course []string
	add := func(name string, due bool) {
		l.add(t.Context(), errand{
			name: name, patience: time.Minute,
			due: func() bool { course = append(course, "due "+name); return due },
			do:  func(context.Context) error { return errors.New(name) },
			then: func(_ context.Context, err error) (ending, bool) {
				course = append(course, err.Error())
				return ending{}, false
			},
		})
	}
	add("a", true)
	add("b", false)
	add("c", true)
	for !l.idle() {
		if _, over := l.finished(t.Context(), <-l.done); over {
			t.Fatal("an errand ended the visit")
		}
	}
	if want := []string{"due a", "a", "due b", "due c", "c"}; !slices.Equal(course, want) {
		t.Errorf("got %q, want %q", course, want)
	}
}

// TestLaneIsCleared: what runs is cut short and waited for, unless it must be
// whole; the orders that were not begun come back; nothing new is begun.
func TestLaneIsCleared(t *testing.T) {
	t.Parallel()
	for name, whole := range map[string]bool{"cut short": false, "waited for": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var l lane
				var outcome error
				order := ingest.Command{ID: "command-1"}
				began := time.Now()
				l.add(t.Context(), errand{
					patience: time.Minute, whole: whole,
					do: func(ctx context.Context) error {
						select {
						case <-ctx.Done():
							return ctx.Err()
						case <-time.After(30 * time.Second):
							return nil
						}
					},
					then: func(ctx context.Context, err error) (ending, bool) {
						outcome = err
						l.add(ctx, errand{patience: time.Minute, do: func(context.Context) error { t.Error("begun anew"); return nil }})
						return ending{}, false
					},
				})
				l.add(t.Context(), errand{patience: time.Minute, do: func(context.Context) error { t.Error("begun"); return nil }})
				l.add(t.Context(), errand{patience: time.Minute, command: &order, do: func(context.Context) error { t.Error("obeyed"); return nil }})
				orders := l.close(t.Context())
				if len(orders) != 1 || orders[0].ID != order.ID {
					t.Errorf("orders %+v came back", orders)
				}
				took := time.Since(began)
				if whole && (outcome != nil || took != 30*time.Second) || !whole && (!errors.Is(outcome, context.Canceled) || took != 0) {
					t.Errorf("after %s: %v", took, outcome)
				}
				if !l.idle() {
					t.Error("something is left to do")
				}
			})
		})
	}
}

// TestErrandTimesOut after its own patience.
func TestErrandTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l lane
		l.add(t.Context(), errand{patience: 3 * time.Second, do: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
		if err := <-l.done; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ends with %v", err)
		}
	})
}
