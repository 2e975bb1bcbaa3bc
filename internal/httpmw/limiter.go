package httpmw

import (
	"container/list"
	"crypto/sha256"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// DefaultMaxBuckets is the default of LimiterSettings.MaxBuckets.
const DefaultMaxBuckets = 65536

// maxKeyBytes is the length from which keys are hashed. Addresses and ids are
// shorter.
const maxKeyBytes = 64

// LimiterSettings configure a Limiter.
type LimiterSettings struct {
	Rate       Rate // limit per key
	MaxBuckets int  // DefaultMaxBuckets when 0
	Now        func() time.Time
}

// Limiter limits the rate of requests with a token bucket per key. Buckets are in
// memory, so each node of a service has its own limits. A nil Limiter allows
// everything. It is safe for concurrent use.
type Limiter struct {
	settings LimiterSettings

	mu      sync.Mutex
	buckets map[string]*list.Element // values are *bucket
	recent  *list.List               // the most recently used bucket first
}

// bucket is the state of a key.
type bucket struct {
	key    string
	tokens *rate.Limiter
	used   time.Time
}

// NewLimiter returns a Limiter, nil when the rate is off.
func NewLimiter(settings LimiterSettings) *Limiter {
	if settings.Rate.Off() {
		return nil
	}
	if settings.MaxBuckets == 0 {
		settings.MaxBuckets = DefaultMaxBuckets
	}
	return &Limiter{settings: settings, buckets: make(map[string]*list.Element), recent: list.New()}
}

// Allow takes a token from the bucket of a key. When the bucket is empty, it returns
// false and the time until the next token.
func (l *Limiter) Allow(key string) (ok bool, retryAfter time.Duration) {
	if l == nil {
		return true, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.settings.Now()
	tokens := l.bucketOf(hashLong(key), now)
	if tokens.AllowN(now, 1) {
		return true, 0
	}
	missing := 1 - tokens.TokensAt(now)
	return false, roundUp(time.Duration(missing * float64(l.settings.Rate.interval())))
}

// roundUp rounds a wait up to milliseconds.
func roundUp(wait time.Duration) time.Duration {
	return (wait + time.Millisecond - 1).Truncate(time.Millisecond)
}

// bucketOf returns the tokens of a key. It removes buckets that are full again,
// which equal new ones, and the least recently used bucket when there are too
// many. To reset its bucket that way, a caller needs as many other addresses as
// there are buckets.
func (l *Limiter) bucketOf(key string, now time.Time) *rate.Limiter {
	if element, ok := l.buckets[key]; ok {
		l.recent.MoveToFront(element)
		b := element.Value.(*bucket)
		b.used = now
		return b.tokens
	}
	l.removeFull(now)
	if l.recent.Len() >= l.settings.MaxBuckets {
		l.remove(l.recent.Back())
	}
	b := &bucket{key: key, tokens: rate.NewLimiter(rate.Every(l.settings.Rate.interval()), l.settings.Rate.Requests), used: now}
	l.buckets[key] = l.recent.PushFront(b)
	return b.tokens
}

// removeFull removes up to two buckets that are full again. Each call of bucketOf
// adds at most one, so the number of buckets shrinks.
func (l *Limiter) removeFull(now time.Time) {
	for range 2 {
		oldest := l.recent.Back()
		if oldest == nil || now.Sub(oldest.Value.(*bucket).used) < l.settings.Rate.Per {
			return
		}
		l.remove(oldest)
	}
}

func (l *Limiter) remove(element *list.Element) {
	l.recent.Remove(element)
	delete(l.buckets, element.Value.(*bucket).key)
}

// Len returns the number of buckets.
func (l *Limiter) Len() int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.recent.Len()
}

// hashLong replaces a long key by its hash.
func hashLong(key string) string {
	if len(key) <= maxKeyBytes {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return string(sum[:])
}

// RetryAfterSeconds returns a wait for the Retry-After header (RFC 9110, section
// 10.2.3): whole seconds, rounded up, at least one.
func RetryAfterSeconds(wait time.Duration) int {
	return max(1, int(math.Ceil(wait.Seconds())))
}
