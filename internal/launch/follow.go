package launch

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// How long to wait before an engine that is away is looked for again.
const (
	firstPause = 250 * time.Millisecond
	maxPause   = 10 * time.Second
)

// Following is how an engine is followed.
type Following struct {
	Engine string // for the log, as in "the Docker engine"
	Now    func() time.Time
	Log    *slog.Logger
	// Follow takes in what there is, and then what happens, until that breaks
	// off. Without an error it is to be asked anew at once.
	Follow func(ctx context.Context) error
}

// Watch follows the engine until ctx ends. While it cannot, bots are unknown.
func (w *Tracker) Watch(ctx context.Context, f Following) {
	pause := firstPause
	for ctx.Err() == nil {
		began := f.Now()
		err := f.Follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			continue
		}
		if f.Now().Sub(began) > maxPause {
			pause = firstPause // it was there for a while
		}
		w.Disconnected(fmt.Sprintf("what became of it cannot be seen since %s: %s", f.Now().UTC().Format(time.RFC3339), Shorten(err.Error())))
		f.Log.Warn(f.Engine+" cannot be watched; it is tried again", "in", pause, "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, maxPause)
	}
}
