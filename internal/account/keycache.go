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
	readAt  time.Time // before the read began
	reading bool      // a caller of get reads the key again
}

// usable reports whether the key may be used without reading it again. The
// monotonic clock shows that the process was stopped, and the wall clock that the
// machine was suspended.
func (c cachedKey) usable(now time.Time) bool {
	age, wallAge := now.Sub(c.readAt), now.Round(0).Sub(c.readAt.Round(0))
	return age < keyCacheTime && wallAge < keyCacheTime && wallAge >= 0
}

// get returns a key and whether it may be used. It returns false once in the second
// half of keyCacheTime, so that one caller reads the key again before all have to.
func (c *keyCache) get(hash string, now time.Time) (Key, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cached, ok := c.keys[hash]
	if !ok || !cached.usable(now) {
		return Key{}, false
	}
	if !cached.reading && now.Sub(cached.readAt) >= keyCacheTime/2 {
		cached.reading = true
		c.keys[hash] = cached
		return Key{}, false
	}
	return cached.Key, true
}

// put adds a key whose read began at a time.
func (c *keyCache) put(key Key, readAt time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys == nil || len(c.keys) >= maxCachedKeys {
		c.keys = make(map[string]cachedKey)
	}
	c.keys[key.Hash] = cachedKey{Key: key, readAt: readAt}
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
