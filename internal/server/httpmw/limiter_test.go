package httpmw_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"standin/internal/server/httpmw"
)

// clock is a clock that tests advance.
type clock struct{ ms atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.ms.Store(1_790_000_000_000)
	return c
}

func (c *clock) now() time.Time          { return time.UnixMilli(c.ms.Load()) }
func (c *clock) advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

func TestAllow(t *testing.T) {
	t.Parallel()
	clock := newClock()
	limiter := httpmw.NewLimiter(httpmw.LimiterSettings{Rate: httpmw.Rate{Requests: 3, Per: 30 * time.Second}, Now: clock.now})
	steps := []struct {
		after      time.Duration
		ok         bool
		retryAfter time.Duration
	}{
		{0, true, 0},
		{0, true, 0},
		{0, true, 0},
		{0, false, 10 * time.Second},
		{0, false, 10 * time.Second}, // a refused request takes no token
		{4 * time.Second, false, 6 * time.Second},
		{6*time.Second - time.Millisecond, false, time.Millisecond},
		{time.Millisecond, true, 0},
		{0, false, 10 * time.Second},
		{time.Hour, true, 0}, // a bucket never has more than 3 tokens
		{0, true, 0},
		{0, true, 0},
		{0, false, 10 * time.Second},
	}
	for i, step := range steps {
		clock.advance(step.after)
		if ok, retryAfter := allow(limiter, "192.0.2.1"); ok != step.ok || retryAfter != step.retryAfter {
			t.Fatalf("step %d: got %v, %v; want %v, %v", i, ok, retryAfter, step.ok, step.retryAfter)
		}
	}
	if ok, _ := allow(limiter, "192.0.2.2"); !ok {
		t.Error("another address was refused")
	}
}

// TestRetryAfterIsExact checks that a request is allowed after the returned wait,
// and refused 2 ms earlier.
func TestRetryAfterIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		clock := newClock()
		rate := httpmw.Rate{
			Requests: rapid.IntRange(1, 50).Draw(t, "requests"),
			Per:      time.Duration(rapid.IntRange(1000, 3_600_000).Draw(t, "per ms")) * time.Millisecond,
		}
		limiter := httpmw.NewLimiter(httpmw.LimiterSettings{Rate: rate, Now: clock.now})
		for range rapid.IntRange(1, 80).Draw(t, "calls") {
			clock.advance(time.Duration(rapid.IntRange(0, 3000).Draw(t, "pause ms")) * time.Millisecond)
			ok, wait := allow(limiter, "a")
			if ok {
				continue
			}
			if wait <= 0 || wait > rate.Per/time.Duration(rate.Requests)+time.Millisecond {
				t.Fatalf("the wait for a token of %v is %v", rate, wait)
			}
			if early := wait - 2*time.Millisecond; early > 0 {
				clock.advance(early)
				if ok, _ := allow(limiter, "a"); ok {
					t.Fatalf("allowed %v before the end of the wait of %v", wait-early, wait)
				}
				wait -= early
			}
			clock.advance(wait)
			if ok, more := allow(limiter, "a"); !ok {
				t.Fatalf("refused after the wait, for another %v", more)
			}
		}
	})
}

// allow takes a token. It returns the wait if there is none.
func allow(limiter *httpmw.Limiter, key string) (ok bool, wait time.Duration) {
	if limited, is := errors.AsType[*httpmw.LimitedError](limiter.Allow(key)); is {
		return false, limited.Wait
	}
	return true, 0
}

func TestNilLimiterAllowsEverything(t *testing.T) {
	t.Parallel()
	limiter := httpmw.NewLimiter(httpmw.LimiterSettings{Now: time.Now})
	if limiter != nil {
		t.Fatal("New returned a limiter for a rate that is off")
	}
	for range 1000 {
		if ok, wait := allow(limiter, "a"); !ok || wait != 0 {
			t.Fatalf("refused: %v, %v", ok, wait)
		}
	}
}

// TestConcurrentAllow checks that concurrent requests do not exceed the rate.
func TestConcurrentAllow(t *testing.T) {
	t.Parallel()
	clock := newClock()
	limiter := httpmw.NewLimiter(httpmw.LimiterSettings{
		Rate: httpmw.Rate{Requests: 50, Per: time.Minute}, MaxBuckets: 8, Now: clock.now,
	})
	var allowed [4]atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 400 {
				if ok, _ := allow(limiter, fmt.Sprint("key-", i%4)); ok {
					allowed[i%4].Add(1)
				}
			}
		})
	}
	group.Wait()
	for i := range allowed {
		if got := allowed[i].Load(); got != 50 {
			t.Errorf("key-%d was allowed %d requests, want 50", i, got)
		}
	}
}

// TestMemoryIsBounded measures the heap, so it does not run in parallel.
func TestMemoryIsBounded(t *testing.T) {
	const most, bytesEach = 1000, 1 << 10
	clock := newClock()
	before := heap()
	limiter := httpmw.NewLimiter(httpmw.LimiterSettings{
		Rate: httpmw.Rate{Requests: 1, Per: time.Minute}, MaxBuckets: most, Now: clock.now,
	})
	for i := range 4 * most {
		_ = limiter.Allow(strings.Repeat("long ", 2000) + fmt.Sprint(i)) // a long key
	}
	if got := limiter.Len(); got != most {
		t.Errorf("got %d buckets, want %d", got, most)
	}
	grown := heap() - before
	t.Logf("%d bytes per bucket", grown/most)
	if grown > most*bytesEach {
		t.Errorf("%d buckets use %d bytes, want at most %d each", most, grown, bytesEach)
	}
	runtime.KeepAlive(limiter)
}

// heap returns the size of the live heap.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestLeastRecentlyUsedIsRemoved checks that too many keys remove the least recently
// used bucket, but not a bucket in use.
func TestLeastRecentlyUsedIsRemoved(t *testing.T) {
	t.Parallel()
	clock := newClock()
	limiter := httpmw.NewLimiter(httpmw.LimiterSettings{
		Rate: httpmw.Rate{Requests: 1, Per: time.Hour}, MaxBuckets: 10, Now: clock.now,
	})
	_ = limiter.Allow("flooding")
	for i := range 100 {
		_ = limiter.Allow(fmt.Sprint(i))
		if ok, _ := allow(limiter, "flooding"); ok {
			t.Fatalf("the bucket in use was removed after %d other keys", i+1)
		}
	}
	if ok, _ := allow(limiter, "0"); !ok {
		t.Error("the least recently used bucket was not removed")
	}
}

// TestFullBucketsAreRemoved checks that buckets are removed when they are full again.
func TestFullBucketsAreRemoved(t *testing.T) {
	t.Parallel()
	clock := newClock()
	limiter := httpmw.NewLimiter(httpmw.LimiterSettings{Rate: httpmw.Rate{Requests: 5, Per: time.Minute}, Now: clock.now})
	for i := range 100 {
		_ = limiter.Allow(fmt.Sprint("flood-", i))
	}
	clock.advance(59 * time.Second)
	_ = limiter.Allow("too early")
	if got := limiter.Len(); got != 101 {
		t.Errorf("got %d buckets before any is full again, want 101", got)
	}
	clock.advance(time.Second)
	for i := range 100 {
		_ = limiter.Allow(fmt.Sprint("later-", i))
	}
	clock.advance(time.Minute)
	limiter.Allow("last")
	if got := limiter.Len(); got != 101 {
		t.Errorf("got %d buckets, want the 101 that are not full", got)
	}
}

func TestRetryAfterSeconds(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]int{
		0: 1, time.Millisecond: 1, time.Second: 1, 1001 * time.Millisecond: 2, time.Minute: 60,
	} {
		if got := httpmw.RetryAfterSeconds(wait); got != want {
			t.Errorf("%v: got %d, want %d", wait, got, want)
		}
	}
}

func TestRateText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]httpmw.Rate{
		"": {}, "off": {}, "1/1s": {Requests: 1, Per: time.Second}, "600/1m": {Requests: 600, Per: time.Minute},
		"1000000/24h": {Requests: 1_000_000, Per: 24 * time.Hour},
	} {
		var got, again httpmw.Rate
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", text, got, err, want)
		}
		if err := again.UnmarshalText([]byte(got.String())); err != nil || again != want {
			t.Errorf("%q: formatted as %q and parsed again: got %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"600", "/1m", "0/1m", "-1/1m", "1/0s", "1/999ms", "1/25h", "1000001/1m", "a/1m", "1/m", "1/1m/1", "on"} {
		got := httpmw.Rate{Requests: 7, Per: time.Hour}
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}
