package account

import (
	"context"
	"sync"
	"time"

	"standin/internal/retry"
)

const (
	// keyCacheTime is how long a node uses a key without reading it again.
	keyCacheTime = 250 * time.Millisecond
	// maxCachedKeys bounds a cache.
	maxCachedKeys = 10_000
)

// WaitForCaches returns when no process uses a key any more that it read before
// the call. A revocation calls it after its commit, so that the key is refused
// on every node once the revocation has returned. Processes need not know of
// each other for that: it takes twice the time that keys stay in a cache.
func WaitForCaches(ctx context.Context) error { return retry.Sleep(ctx, 2*keyCacheTime) }

// keyCache holds valid keys by their hash. The zero keyCache is empty.
type keyCache struct {
	mu   sync.Mutex
	keys map[string]cachedKey
}

type cachedKey struct {
	Key
	readAt time.Time // before the read began
}

// usable reports whether the key may be used without reading it again. The
// monotonic clock shows that the process was stopped, and the wall clock that the
// machine was suspended.
func (c cachedKey) usable(now time.Time) bool {
	age, wallAge := now.Sub(c.readAt), now.Round(0).Sub(c.readAt.Round(0))
	return age < keyCacheTime && wallAge < keyCacheTime && wallAge >= 0
}

func (c *keyCache) get(hash string, now time.Time) (Key, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cached, ok := c.keys[hash]
	return cached.Key, ok && cached.usable(now)
}

// put adds a key whose read began at a time.
func (c *keyCache) put(key Key, readAt time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys == nil || len(c.keys) >= maxCachedKeys {
		c.keys = make(map[string]cachedKey)
	}
	c.keys[key.Hash] = cachedKey{key, readAt}
}

// touch sets the last use of a key, unless it is not in the cache.
func (c *keyCache) touch(hash string, usedAt time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cached, ok := c.keys[hash]; ok {
		cached.LastUsedAt = usedAt
		c.keys[hash] = cached
	}
}
