package account

import (
	"testing"
	"time"
)

// TestKeyCache checks which callers read a key from the database.
func TestKeyCache(t *testing.T) {
	t.Parallel()
	read := time.Now()
	var c keyCache
	get := func(after time.Duration, want bool) {
		t.Helper()
		if key, ok := c.get("hash", read.Add(after)); ok != want || ok && key.Hash != "hash" {
			t.Errorf("after %s: %+v, %t", after, key, ok)
		}
	}
	get(0, false)
	c.put(Key{Hash: "hash"}, read)
	get(0, true)
	get(keyCacheTime/2-1, true)
	get(keyCacheTime/2, false) // this caller reads the key again
	get(keyCacheTime/2, true)
	get(keyCacheTime-1, true)
	get(keyCacheTime, false)
	get(keyCacheTime, false)
	get(-1, false)

	c.put(Key{Hash: "hash"}, read.Add(keyCacheTime/2))
	get(keyCacheTime, false) // this caller reads the key again
	get(keyCacheTime, true)
	get(keyCacheTime*3/2-1, true)
	get(keyCacheTime*3/2, false)
}
