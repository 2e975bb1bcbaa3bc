package chaos

import (
	"context"
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
	"standin/internal/jobs/job"
	"standin/internal/recording/storage"
	"standin/internal/recording/storage/s3"
	"standin/internal/store"
)

// TestChaosOnPostgreSQL injects faults into three nodes and their database.
func TestChaosOnPostgreSQL(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	address := cluster.Fresh(t)
	h := &harness{database: cluster, storage: newBucket(t)}
	h.disk, h.diskMounted = newDisk(t)
	for _, name := range []string{"one", "two", "three"} {
		proxy := newDBProxy(t, cluster.Socket())
		n := newNode(t, h.disk.folder, name, through(t, address, proxy), h.storage)
		n.proxy = proxy
		h.nodes = append(h.nodes, n)
	}
	chaos(t, h, address, 12)
}

// TestChaosOnSQLite injects faults into a single node, with its database, recordings
// and bots on one disk.
func TestChaosOnSQLite(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	h := new(harness)
	h.disk, h.diskMounted = newDisk(t)
	h.storage = folder(filepath.Join(h.disk.folder, "recordings"))
	n := newNode(t, h.disk.folder, "only", "", h.storage)
	if err := os.MkdirAll(n.settings.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	h.nodes = []*node{n}
	chaos(t, h, filepath.Join(n.settings.DataDir, "standin.db"), 8)
}

// through returns the address of a database behind a proxy.
func through(t *testing.T, address string, l *dbProxy) string {
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

// envUint returns the integer value of an environment variable.
func envUint(t *testing.T, name string, defaultValue uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return defaultValue
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// chaos creates load while it injects faults, and checks the history afterwards.
// STANDIN_TEST_FAULTS overrides the number of faults. STANDIN_TEST_SEED repeats the
// random choices, but not their timing relative to the nodes' work.
func chaos(t *testing.T, h *harness, address string, defaultFaults uint64) {
	t.Helper()
	count := int(envUint(t, "STANDIN_TEST_FAULTS", defaultFaults))
	seed := envUint(t, "STANDIN_TEST_SEED", uint64(time.Now().UnixNano()))
	t.Logf("%d faults; repeat with STANDIN_TEST_FAULTS=%d STANDIN_TEST_SEED=%d", count, count, seed)
	s, l := h.start(t, address)
	loading, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { l.run(loading, seed) })
	defer running.Wait()
	defer stop()
	h.injectFaults(t.Context(), t, count, rand.New(rand.NewPCG(seed, 1)))
	stop()
	running.Wait()
	h.check(t, s, l)
}

// start starts the nodes, and returns their database and the load for them.
func (h *harness) start(t *testing.T, address string) (*store.Store, *load) {
	t.Helper()
	for _, n := range h.nodes {
		if err := n.start(); err != nil {
			t.Fatal(err)
		}
		starting, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		if err := n.awaitHealthy(starting); err != nil {
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
	issued := map[job.Mode]string{}
	for _, mode := range []job.Mode{job.Test, job.Live} {
		if _, issued[mode], err = keys.Issue(t.Context(), "ada", "ada@example.com", mode); err != nil {
			t.Fatal(err)
		}
	}
	h.receiver = newReceiver(t)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	t.Cleanup(client.CloseIdleConnections)
	return s, &load{nodes: h.nodes, keys: issued, receiver: h.receiver, client: client}
}

// check waits until all jobs have ended, and compares their history with what was acknowledged.
func (h *harness) check(t *testing.T, s *store.Store, l *load) {
	t.Helper()
	recordings, err := storage.Open(t.Context(), h.storage.address(), s3.Open)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = recordings.Close() })
	c := &checker{store: s, recordings: recordings, receiver: l.receiver, promises: l.promises}
	settled := time.Now()
	if err := c.awaitSettled(t.Context()); err != nil {
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
	t.Logf("%d violations; %d additional attempts; %d webhooks; %d live jobs, %d of them with prelaunched bots that were stopped",
		len(violations), c.retries, c.hooks, c.live, c.stopped)
	if lying, ok := h.storage.(bucket); ok {
		t.Logf("the storage lost %d objects that it had acknowledged", lying.lost.Load())
	}
}
