package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"standin/internal/jobs/webhook"
	"standin/internal/testing/storetest"
)

// harness holds the nodes, their storage, disk and database server, and the receiver of
// their webhooks.
type harness struct {
	nodes       []*node
	receiver    *receiver
	storage     recordingStorage
	disk        disk
	diskMounted bool
	database    *storetest.Cluster // nil on SQLite
}

// fault disturbs a node and restores it.
type fault struct {
	name string
	do   func(ctx context.Context, h *harness, n *node, random *rand.Rand) error
}

// faults returns the faults that apply to the harness.
func (h *harness) faults() []fault {
	all := []fault{
		{"killed", func(ctx context.Context, _ *harness, n *node, random *rand.Rand) error {
			if err := n.end(syscall.SIGKILL); err != nil {
				return err
			}
			pause(ctx, time.Duration(random.Int64N(int64(lease))))
			return n.start()
		}},
		{"restarted", func(_ context.Context, _ *harness, n *node, _ *rand.Rand) error {
			if err := n.end(syscall.SIGTERM); err != nil {
				return err
			}
			return n.start()
		}},
		{"stopped past its lease", func(ctx context.Context, _ *harness, n *node, random *rand.Rand) error {
			if err := n.signal(syscall.SIGSTOP); err != nil {
				return err
			}
			pause(ctx, lease+time.Duration(random.Int64N(int64(2*lease))))
			return n.signal(syscall.SIGCONT)
		}},
		{"with its bots stopped, as by a drain", func(_ context.Context, _ *harness, n *node, _ *rand.Rand) error {
			return n.signalBots(syscall.SIGTERM)
		}},
		{"with its bots killed, as by a lack of memory", func(_ context.Context, _ *harness, n *node, _ *rand.Rand) error {
			return n.signalBots(syscall.SIGKILL)
		}},
		{"without storage", func(ctx context.Context, h *harness, _ *node, random *rand.Rand) error {
			if err := h.storage.take(); err != nil {
				return err
			}
			pause(ctx, time.Duration(random.Int64N(int64(2*lease))))
			return h.storage.restore()
		}},
		{"with receivers that hang", func(ctx context.Context, h *harness, _ *node, random *rand.Rand) error {
			resume := h.receiver.hang()
			pause(ctx, time.Duration(random.Int64N(int64(2*lease))))
			resume()
			// The tries that failed are repeated before the next fault: a second failure
			// would delay their webhooks for longer than settleTime.
			pause(ctx, webhook.DefaultSchedule()[0]+lease)
			return nil
		}},
	}
	if h.diskMounted {
		all = append(all, fault{"with a full disk", func(ctx context.Context, h *harness, _ *node, random *rand.Rand) error {
			if err := h.disk.fill(); err != nil {
				return err
			}
			pause(ctx, lease+time.Duration(random.Int64N(int64(2*lease))))
			return h.disk.free()
		}})
	}
	if lying, ok := h.storage.(bucket); ok {
		all = append(all, fault{"with storage that loses what it acknowledges", func(ctx context.Context, _ *harness, _ *node,
			random *rand.Rand) error {
			lying.lie()
			pause(ctx, lease+time.Duration(random.Int64N(int64(2*lease))))
			return lying.restore()
		}})
	}
	if h.database == nil {
		return all
	}
	return append(all,
		fault{"disconnected from the database", func(ctx context.Context, _ *harness, n *node, random *rand.Rand) error {
			n.proxy.disconnect()
			pause(ctx, time.Duration(random.Int64N(int64(3*lease))))
			n.proxy.restore()
			return nil
		}},
		fault{"connected to the database without data transfer", func(ctx context.Context, _ *harness, n *node, random *rand.Rand) error {
			n.proxy.block()
			pause(ctx, lease+time.Duration(random.Int64N(int64(2*lease))))
			n.proxy.restore()
			return nil
		}},
		fault{"without PostgreSQL", func(ctx context.Context, h *harness, _ *node, random *rand.Rand) error {
			if err := h.database.Crash(); err != nil {
				return err
			}
			pause(ctx, time.Duration(random.Int64N(int64(lease))))
			return h.database.Restart(ctx)
		}},
	)
}

// injectFaults injects faults one at a time, with a short recovery between them.
func (h *harness) injectFaults(ctx context.Context, t *testing.T, count int, random *rand.Rand) {
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
			starting, cancel := context.WithTimeout(ctx, 3*time.Minute)
			err := n.awaitHealthy(starting)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
		}
		pause(ctx, time.Duration(random.Int64N(int64(time.Second))))
	}
}

// pause waits, which is part of a fault.
func pause(ctx context.Context, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
