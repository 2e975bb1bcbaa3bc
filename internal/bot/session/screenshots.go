package session

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"standin/internal/bot/ingest"
)

const (
	// screenshotInterval is the time between two pictures of a page that is watched.
	screenshotInterval = 3 * time.Second
	screenshotTimeout  = 5 * time.Second
)

// screenshots sends pictures of the page while somebody watches the job. It has a queue of its
// own, because the page's is busy while the bot joins.
type screenshots struct {
	log   *slog.Logger
	page  *meetingPage
	send  func(ctx context.Context, image []byte) error
	queue taskQueue

	takenAt time.Time
}

// take takes and sends a picture if it is time.
func (s *screenshots) take(ctx context.Context, now time.Time) {
	if s.page.tab == nil || !s.queue.idle() || now.Sub(s.takenAt) < screenshotInterval {
		return
	}
	s.takenAt = now
	s.queue.add(ctx, task{
		timeout: screenshotTimeout,
		do: func(ctx context.Context) error {
			for _, quality := range []int{60, 30, 15, 5} { // as good as the service accepts
				picture, err := s.page.tab.Picture(ctx, quality)
				if err != nil {
					return err
				}
				if len(picture) <= ingest.MaxScreenshot {
					return s.send(ctx, picture)
				}
			}
			return errors.New("the picture of the page is too large")
		},
		onDone: logFailure(s.log.Debug, "cannot send a picture of the page"),
	})
}
