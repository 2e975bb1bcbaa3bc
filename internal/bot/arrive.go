package bot

import (
	"context"
	"time"

	"standin/internal/job"
)

// readyData is what a bot tells when it joins, beside that.
type readyData struct {
	ReadyMS int64 `json:"readyMs"` // from its start until it could have joined
}

// arrive waits, with everything ready, for the time to join, and tells that the
// bot is there. A bot may be launched early, so that it is on time; how long
// it took to be ready is told, so that the service knows how early.
func (b *bot) arrive(ctx context.Context) error {
	var data any
	if !b.told[job.BotJoined] {
		data = readyData{ReadyMS: time.Since(b.clock.start).Milliseconds()}
	}
	if early := time.Until(b.JoinAt); early > 0 {
		b.Log.Info("ready before its time", "early", early.Round(time.Millisecond))
		waited := time.NewTimer(early)
		defer waited.Stop()
		select {
		case <-waited.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return b.tell(job.BotJoined, data)
}
