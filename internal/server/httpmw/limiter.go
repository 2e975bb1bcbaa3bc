package httpmw

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate is a number of requests per time. A bucket has that many tokens and fills
// evenly, so after a pause all of them may be used at once. The zero Rate allows
// everything.
type Rate struct {
	Requests int
	Per      time.Duration
}

// Bounds of a configured rate.
const (
	maxRequests = 1_000_000
	maxPer      = 24 * time.Hour
)

// Off reports whether the rate allows everything.
func (r Rate) Off() bool { return r.Requests == 0 }

// interval returns the time between two tokens.
func (r Rate) interval() time.Duration { return r.Per / time.Duration(r.Requests) }

// String returns the rate in the form of UnmarshalText: 600/1m0s or off.
func (r Rate) String() string {
	if r.Off() {
		return "off"
	}
	return strconv.Itoa(r.Requests) + "/" + r.Per.String()
}

// UnmarshalText parses a number of requests (1 to 1000000), a slash and a duration
// (1s to 24h), for example 600/1m. An empty text and off allow everything.
func (r *Rate) UnmarshalText(text []byte) error {
	if len(text) == 0 || string(text) == "off" {
		*r = Rate{}
		return nil
	}
	requests, per, _ := strings.Cut(string(text), "/")
	n, err := strconv.Atoi(requests)
	if err != nil || n < 1 || n > maxRequests {
		return fmt.Errorf("a rate must be off, or 1 to %d requests per time, for example 600/1m; got %q", maxRequests, text)
	}
	d, err := time.ParseDuration(per)
	if err != nil || d < time.Second || d > maxPer {
		return fmt.Errorf("the time of a rate must be from 1s to 24h, for example 600/1m; got %q", text)
	}
	*r = Rate{Requests: n, Per: d}
	return nil
}

// maxKeyBytes is the length from which keys are hashed. Addresses and ids are
// shorter.
const maxKeyBytes = 64

// LimiterSettings configure a Limiter.
type LimiterSettings struct {
	Rate       Rate // limit per key
	MaxBuckets int  // 65,536 when 0
	Now        func() time.Time
}

// Limiter limits the rate of requests with a token bucket per key. Buckets are in
// memory, so each node of a service has its own limits. A nil Limiter allows
// everything. It is safe for concurrent use.
type Limiter struct {
	settings LimiterSettings

	mu             sync.Mutex
	recent, former map[string]*rate.Limiter // used since a time, and those that were used only before it
	since          time.Time
}

// NewLimiter returns a Limiter, nil when the rate is off.
func NewLimiter(settings LimiterSettings) *Limiter {
	if settings.Rate.Off() {
		return nil
	}
	settings.MaxBuckets = cmp.Or(settings.MaxBuckets, 65_536)
	return &Limiter{settings: settings, recent: make(map[string]*rate.Limiter)}
}

// Allow takes a token from the bucket of a key. When the bucket is empty, it returns a
// *LimitedError with the time until the next token.
func (l *Limiter) Allow(key string) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.settings.Now()
	if len(key) > maxKeyBytes {
		sum := sha256.Sum256([]byte(key))
		key = string(sum[:])
	}
	// Buckets that were not used for once or twice the time of the rate are forgotten: they are full again, and equal new
	// ones. When there are too many, those that were not used recently are forgotten. To reset its bucket that way, a caller
	// needs half as many other addresses as there are buckets.
	if now.Sub(l.since) >= l.settings.Rate.Per || len(l.recent) >= l.settings.MaxBuckets/2 {
		l.recent, l.former, l.since = make(map[string]*rate.Limiter), l.recent, now
	}
	tokens := cmp.Or(l.recent[key], l.former[key])
	if tokens == nil {
		tokens = rate.NewLimiter(rate.Every(l.settings.Rate.interval()), l.settings.Rate.Requests)
	}
	l.recent[key] = tokens
	delete(l.former, key)
	if tokens.AllowN(now, 1) {
		return nil
	}
	missing := 1 - tokens.TokensAt(now)
	wait := time.Duration(missing * float64(l.settings.Rate.interval()))
	return &LimitedError{(wait + time.Millisecond - 1).Truncate(time.Millisecond)}
}

// RetryAfterSeconds returns a wait for the Retry-After header (RFC 9110, section
// 10.2.3): whole seconds, rounded up, at least one.
func RetryAfterSeconds(wait time.Duration) int {
	return max(1, int(math.Ceil(wait.Seconds())))
}
