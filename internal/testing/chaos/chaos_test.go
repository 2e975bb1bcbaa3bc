package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/store"
)

// TestChaosOnPostgreSQL breaks three nodes and their database.
func TestChaosOnPostgreSQL(t *testing.T) {
	t.Parallel()
	address := cluster.Fresh(t)
	dir := t.TempDir()
	h := &house{database: cluster}
	for _, name := range []string{"one", "two", "three"} {
		line := newLine(t, cluster.Socket())
		n := newNode(t, dir, name, through(t, address, line))
		n.line = line
		h.nodes = append(h.nodes, n)
	}
	chaos(t, h, address, 6)
}

// TestChaosOnSQLite breaks a node that is alone.
func TestChaosOnSQLite(t *testing.T) {
	t.Parallel()
	n := newNode(t, t.TempDir(), "only", "")
	if err := os.MkdirAll(n.settings.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	chaos(t, &house{nodes: []*node{n}}, filepath.Join(n.settings.DataDir, "standin.db"), 3)
}

// through is a database's address by way of a line.
func through(t *testing.T, address string, l *line) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(l.address())
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("host", host)
	query.Set("port", port)
	query.Set("sslmode", "disable")
	u.RawQuery = query.Encode()
	return u.String()
}

// number reads a number from the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// chaos loads the house while it is broken, a few times unless more is asked
// for, and checks what became of it. What
// is done when follows from STANDIN_TEST_SEED; how it falls in with the nodes'
// own work does not.
func chaos(t *testing.T, h *house, address string, few uint64) {
	t.Helper()
	count := int(number(t, "STANDIN_TEST_FAULTS", few))
	seed := number(t, "STANDIN_TEST_SEED", uint64(time.Now().UnixNano()))
	t.Logf("%d faults; to repeat them: STANDIN_TEST_FAULTS=%d STANDIN_TEST_SEED=%d", count, count, seed)
	for _, n := range h.nodes {
		if err := n.start(); err != nil {
			t.Fatal(err)
		}
		waking, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := n.awake(waking); err != nil {
			t.Fatal(err)
		}
	}
	s, err := store.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	keys := &account.Keys{Store: s, Now: time.Now}
	_, key, err := keys.Issue(t.Context(), "ada", "ada@example.com", job.Test)
	if err != nil {
		t.Fatal(err)
	}
	l := &load{nodes: h.nodes, key: key, receiver: newReceiver(t), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	defer l.client.CloseIdleConnections()

	loading, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { l.run(loading, seed) })
	defer running.Wait()
	defer stop()
	h.breakThings(t.Context(), t, count, rand.New(rand.NewPCG(seed, 1)))
	stop()
	running.Wait()

	c := &checker{store: s, receiver: l.receiver, promises: l.promises}
	settled := time.Now()
	if err := c.untilSettled(t.Context()); err != nil {
		t.Error(err)
	}
	t.Logf("%d jobs, settled %s after the last fault", len(l.promises), time.Since(settled).Round(time.Millisecond))
	if len(l.promises) == 0 {
		t.Fatal("no job was accepted")
	}
	violations := c.check(t.Context())
	for _, violation := range violations[:min(len(violations), 20)] {
		t.Error(violation)
	}
	t.Logf("%d violations; %d further attempts; %d webhooks", len(violations), c.retries, c.hooks)
	if err := errors.Join(violations...); err != nil {
		t.Errorf("to repeat these faults: STANDIN_TEST_FAULTS=%d STANDIN_TEST_SEED=%d", count, seed)
	}
}
