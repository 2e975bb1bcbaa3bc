package load

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Waiting sends requests on one connection for each entry of next, one after the
// other, as clients do that the server makes wait. The connections are opened
// within ramp. Then Waiting calls measure with a context that ends after period,
// waits for it, and closes the connections.
func Waiting(ctx context.Context, address string, ramp, period time.Duration, next []func(n int) []byte,
	measure func(context.Context)) error {
	ctx, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	var failed error
	fail := sync.OnceFunc(stop)
	defer all.Wait()
	defer fail()
	var mu sync.Mutex
	for i, request := range next {
		if i > 0 {
			time.Sleep(ramp / time.Duration(len(next)))
		}
		c, err := dial(ctx, address)
		if err != nil {
			return err
		}
		closing := context.AfterFunc(ctx, func() { _ = c.Close() })
		all.Go(func() {
			defer closing()
			if err := c.repeat(ctx, request); err != nil {
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
				fail()
			}
		})
	}
	measuring, done := context.WithTimeout(ctx, period)
	defer done()
	measure(measuring)
	fail()
	all.Wait()
	return failed
}

// repeat sends requests until ctx ends.
func (c *conn) repeat(ctx context.Context, request func(n int) []byte) error {
	for n := 0; ctx.Err() == nil; n++ {
		if err := c.do(request(n)); err != nil && ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
	}
	return nil
}
