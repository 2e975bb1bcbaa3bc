package httpmw_test

import (
	"context"
	"testing"
	"testing/synctest"

	"standin/internal/httpmw"
)

// TestBodies lets one client hold many bodies. Its next body waits, also until the
// caller gives up, while bodies of other clients and small ones are served.
func TestBodies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bodies := httpmw.NewBodies()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		const large, small = 1 << 20, 1000
		held := 0
		releases := make(chan func(), 100)
		for range cap(releases) {
			go func() {
				if release, err := bodies.Read(ctx, "flooder", large); err == nil {
					held++
					releases <- release
				}
			}()
			synctest.Wait()
		}
		if held == 0 || held > 10 {
			t.Fatalf("one client holds %d bodies of 1 MiB", held)
		}
		for _, other := range []struct {
			client string
			size   int64
		}{{"other", large}, {"flooder", small}, {"other", small}} {
			release, err := bodies.Read(ctx, other.client, other.size)
			if err != nil {
				t.Fatalf("%s with %d bytes: %v", other.client, other.size, err)
			}
			release()
		}
		before := held
		(<-releases)()
		synctest.Wait()
		if held != before+1 {
			t.Errorf("after one body was released, %d waiting bodies were admitted", held-before)
		}
		cancel()
		synctest.Wait()
		for len(releases) > 0 {
			(<-releases)()
		}
		if release, err := bodies.Decode(t.Context(), "flooder", 64<<20); err != nil { // more than the whole share
			t.Errorf("decode: %v", err)
		} else {
			release()
		}
	})
}
