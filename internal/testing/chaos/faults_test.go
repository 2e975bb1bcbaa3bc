package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"standin/internal/testing/storetest"
)

// house is what is broken: the nodes, and their PostgreSQL unless they have
// none.
type house struct {
	nodes    []*node
	database *storetest.Cluster // nil on SQLite
}

// fault is a way to break things, and to mend them again.
type fault struct {
	name string
	do   func(ctx context.Context, h *house, n *node, random *rand.Rand) error
}

// faults are those that the house knows.
func (h *house) faults() []fault {
	all := []fault{
		{"killed", func(ctx context.Context, _ *house, n *node, random *rand.Rand) error {
			if err := n.end(syscall.SIGKILL); err != nil {
				return err
			}
			rest(ctx, time.Duration(random.Int64N(int64(lease))))
			return n.start()
		}},
		{"ended and started", func(_ context.Context, _ *house, n *node, _ *rand.Rand) error {
			if err := n.end(syscall.SIGTERM); err != nil {
				return err
			}
			return n.start()
		}},
		{"stopped past its lease", func(ctx context.Context, _ *house, n *node, random *rand.Rand) error {
			if err := n.signal(syscall.SIGSTOP); err != nil {
				return err
			}
			rest(ctx, lease+time.Duration(random.Int64N(int64(2*lease))))
			return n.signal(syscall.SIGCONT)
		}},
	}
	if h.database == nil {
		return all
	}
	return append(all,
		fault{"cut from the database", func(ctx context.Context, _ *house, n *node, random *rand.Rand) error {
			n.line.sever()
			rest(ctx, time.Duration(random.Int64N(int64(3*lease))))
			n.line.mend()
			return nil
		}},
		fault{"unheard by the database", func(ctx context.Context, _ *house, n *node, random *rand.Rand) error {
			n.line.hold()
			rest(ctx, lease+time.Duration(random.Int64N(int64(2*lease))))
			n.line.mend()
			return nil
		}},
		fault{"without PostgreSQL", func(ctx context.Context, h *house, _ *node, random *rand.Rand) error {
			if err := h.database.Crash(); err != nil {
				return err
			}
			rest(ctx, time.Duration(random.Int64N(int64(lease))))
			return h.database.Restart(ctx)
		}},
	)
}

// breakThings does so many faults, one after the other, and lets the house
// recover for a while between them. Its choices follow from the random source.
func (h *house) breakThings(ctx context.Context, t *testing.T, count int, random *rand.Rand) {
	t.Helper()
	faults := h.faults()
	for number := range count {
		f := faults[number%len(faults)]
		if number >= len(faults) {
			f = faults[random.IntN(len(faults))]
		}
		n := h.nodes[random.IntN(len(h.nodes))]
		t.Logf("%s fault %d of %d: %s %s", time.Now().UTC().Format("15:04:05.000"), number+1, count, n.settings.Name, f.name)
		if err := f.do(ctx, h, n, random); err != nil {
			t.Fatal(fmt.Errorf("%s %s: %w", n.settings.Name, f.name, err))
		}
		for _, n := range h.nodes {
			waking, cancel := context.WithTimeout(ctx, time.Minute)
			err := n.awake(waking)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
		}
		rest(ctx, time.Duration(random.Int64N(int64(time.Second))))
	}
}

// rest lets time pass, which is what these faults are made of.
func rest(ctx context.Context, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
