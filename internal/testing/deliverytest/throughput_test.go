package deliverytest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"standin/internal/testing/storetest"
	"standin/internal/webhook"
)

// BenchmarkDelivery measures how many deliveries per second reach their
// receivers and are recorded durably (synchronous=FULL,
// synchronous_commit=on), and their CPU time, with the receivers and the
// database on the same machine. If a tenth of the receivers hang, only
// deliveries to the others count.
func BenchmarkDelivery(b *testing.B) {
	databases := []struct {
		name    string
		address func(b *testing.B) string
	}{
		{"SQLite", func(b *testing.B) string { return sqliteAddress(b) }},
		{"PostgreSQL", durablePostgres(b)},
	}
	for _, database := range databases {
		for _, urls := range []int{1, 100, 10_000} {
			for _, hanging := range []bool{false, true} {
				if hanging && urls == 1 {
					continue
				}
				name := fmt.Sprintf("%s/urls=%d/hanging=%v", database.name, urls, hanging)
				b.Run(name, func(b *testing.B) { measure(b, database.address(b), urls, hanging) })
			}
		}
	}
}

// durablePostgres returns a function that creates databases on a cluster that
// syncs to disk. The first call starts the cluster.
func durablePostgres(b *testing.B) func(b *testing.B) string {
	var cluster *storetest.Cluster
	b.Cleanup(func() {
		if cluster != nil {
			_ = cluster.Stop()
		}
	})
	return func(b *testing.B) string {
		var err error
		if cluster == nil {
			if cluster, err = storetest.Start(context.Background(), "fsync=on", "synchronous_commit=on"); err != nil {
				b.Skip(err)
			}
		}
		address, err := cluster.NewDatabase(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		return address
	}
}

// measure delivers b.N events.
func measure(b *testing.B, address string, urls int, hanging bool) {
	s := openStore(b, address)
	consumer := newConsumer(b, s)
	receiverPool := newReceiverPool(b, min(urls, 100), hanging)
	addresses := make([]string, urls)
	for i := range addresses {
		addresses[i] = receiverPool.url(i)
	}
	count := b.N
	if hanging {
		count += (b.N + 8) / 9 // those of the receivers that hang
	}
	fill(b, s, consumer.ID, addresses, count)
	wanted := int64(b.N)
	if hanging {
		wanted = receiverPool.answering(count)
	}

	ctx, cancel := context.WithCancel(context.Background())
	sender := webhook.NewSender(s, webhook.Settings{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Grace: time.Millisecond,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	ended := make(chan struct{})
	before := processorTime(b)
	b.ResetTimer()
	go func() {
		defer close(ended)
		sender.Run(ctx)
	}()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for left := wanted; left > 0; {
		<-ticker.C
		if receiverPool.received.Load() < wanted {
			continue
		}
		waiting, _, err := s.Backlog(ctx)
		if err != nil {
			b.Fatal(err)
		}
		left = waiting - (int64(count) - wanted)
	}
	b.StopTimer()
	cost := processorTime(b) - before
	cancel()
	<-ended
	b.ReportMetric(float64(wanted)/b.Elapsed().Seconds(), "deliveries/s")
	b.ReportMetric(cost.Seconds()*1000/float64(wanted), "CPU-s/1000")
}

// receiverPool is a number of receivers on this machine, each with its own
// host. Every tenth one hangs, if configured.
type receiverPool struct {
	hosts    []string
	hanging  bool
	received atomic.Int64
}

func newReceiverPool(b *testing.B, hosts int, hanging bool) *receiverPool {
	s := &receiverPool{hanging: hanging}
	closing := make(chan struct{})
	b.Cleanup(func() { close(closing) })
	for n := range hosts {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		hangs := s.hangs(n)
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if hangs {
				select {
				case <-r.Context().Done():
				case <-closing:
				}
				return
			}
			s.received.Add(1)
		})}
		go func() { _ = server.Serve(listener) }()
		b.Cleanup(func() { _ = server.Close() })
		s.hosts = append(s.hosts, listener.Addr().String())
	}
	return s
}

func (s *receiverPool) hangs(host int) bool { return s.hanging && host%10 == 9 }

func (s *receiverPool) url(n int) string {
	return fmt.Sprintf("http://%s/hooks/%d", s.hosts[n%len(s.hosts)], n)
}

// answering returns how many of count deliveries, as inserted by fill, are for
// receivers that respond.
func (s *receiverPool) answering(count int) (answered int64) {
	for n := range count {
		if !s.hangs(n / 2 % len(s.hosts)) {
			answered++
		}
	}
	return answered
}

// processorTime returns the CPU time of this process and its PostgreSQL so
// far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	total := time.Duration(used.Utime.Nano() + used.Stime.Nano())
	parents := map[string]bool{strconv.Itoa(os.Getpid()): true}
	for range 2 { // the server, and those that it starts
		stats, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, path := range stats {
			content, err := os.ReadFile(path)
			if err != nil {
				continue // it has ended
			}
			end := strings.LastIndexByte(string(content), ')')
			fields := strings.Fields(string(content[end+1:])) // from field 3 on
			pid := filepath.Base(filepath.Dir(path))
			if !parents[fields[1]] || parents[pid] {
				continue
			}
			parents[pid] = true
			for _, ticks := range fields[11:15] { // utime, stime, and those of ended children
				n, _ := strconv.ParseInt(ticks, 10, 64)
				total += time.Duration(n) * 10 * time.Millisecond
			}
		}
	}
	return total
}
