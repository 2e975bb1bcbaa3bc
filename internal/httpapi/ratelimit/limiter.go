// Package ratelimit keeps one caller from taking what all share: a bucket of
// tokens for each client address, or for each key, and the client's address
// itself, which may stand behind proxies (contract, Errors and limits: 429).
//
// It decides who may go on and when, and must not know what is asked for or
// how a refusal is answered. Buckets are kept in memory: each node of a
// service counts for itself.
package ratelimit

import (
	"container/list"
	"crypto/sha256"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// DefaultMaxBuckets is how many buckets a Limiter keeps unless set otherwise.
const DefaultMaxBuckets = 65536

// maxKeyBytes is the longest key kept as it is: far longer than an address or
// an identifier.
const maxKeyBytes = 64

// Settings are what a Limiter is made of.
type Settings struct {
	Rate       Rate // of each key by itself
	MaxBuckets int  // DefaultMaxBuckets when 0
	Now        func() time.Time
}

// Limiter gives each key a bucket of tokens. A nil Limiter allows everything.
// Its methods may be called from any goroutine.
type Limiter struct {
	rate       Rate
	maxBuckets int
	now        func() time.Time

	mu      sync.Mutex
	buckets map[string]*list.Element // of *bucket
	recent  *list.List               // the most recently used bucket first
}

// bucket is what is known of a key.
type bucket struct {
	key    string
	tokens *rate.Limiter
	used   time.Time
}

// New returns a Limiter, or nil when the rate is off.
func New(settings Settings) *Limiter {
	if settings.Rate.Off() {
		return nil
	}
	if settings.MaxBuckets == 0 {
		settings.MaxBuckets = DefaultMaxBuckets
	}
	return &Limiter{
		rate:       settings.Rate,
		maxBuckets: settings.MaxBuckets,
		now:        settings.Now,
		buckets:    make(map[string]*list.Element),
		recent:     list.New(),
	}
}

// Allow takes a token from the key's bucket. When there is none it takes
// nothing and tells how long it is until there is one.
func (l *Limiter) Allow(key string) (ok bool, retryAfter time.Duration) {
	if l == nil {
		return true, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	tokens := l.use(bounded(key), now)
	if tokens.AllowN(now, 1) {
		return true, 0
	}
	missing := 1 - tokens.TokensAt(now)
	return false, roundUp(time.Duration(missing * float64(l.rate.interval())))
}

// roundUp gives a wait in whole milliseconds that is never too short.
func roundUp(wait time.Duration) time.Duration {
	return (wait + time.Millisecond - 1).Truncate(time.Millisecond)
}

// use returns the key's tokens and notes the use. It forgets buckets to make
// room: those that are full again, which nobody can tell from new ones, and
// beyond the limit the one least recently used. To be forgotten while it is
// refused, a caller needs as many other addresses as there are buckets, each
// of which has tokens of its own anyway.
func (l *Limiter) use(key string, now time.Time) *rate.Limiter {
	if element, ok := l.buckets[key]; ok {
		l.recent.MoveToFront(element)
		b := element.Value.(*bucket)
		b.used = now
		return b.tokens
	}
	l.forgetFull(now)
	if l.recent.Len() >= l.maxBuckets {
		l.forget(l.recent.Back())
	}
	b := &bucket{key: key, tokens: rate.NewLimiter(rate.Every(l.rate.interval()), l.rate.Requests), used: now}
	l.buckets[key] = l.recent.PushFront(b)
	return b.tokens
}

// forgetFull forgets up to two buckets that have had the time to fill: one
// more than is added, so that memory is given back at the pace of new keys.
func (l *Limiter) forgetFull(now time.Time) {
	for range 2 {
		oldest := l.recent.Back()
		if oldest == nil || now.Sub(oldest.Value.(*bucket).used) < l.rate.Per {
			return
		}
		l.forget(oldest)
	}
}

func (l *Limiter) forget(element *list.Element) {
	l.recent.Remove(element)
	delete(l.buckets, element.Value.(*bucket).key)
}

// Len is how many buckets are kept.
func (l *Limiter) Len() int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.recent.Len()
}

// bounded makes a key that is too long to keep a short one.
func bounded(key string) string {
	if len(key) <= maxKeyBytes {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return string(sum[:])
}

// RetryAfterSeconds is a wait as the Retry-After header tells it (RFC 9110, section
// 10.2.3): whole seconds, rounded up, at least one.
func RetryAfterSeconds(wait time.Duration) int {
	return max(1, int(math.Ceil(wait.Seconds())))
}
