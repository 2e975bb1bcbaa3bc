package live

import (
	"context"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/retry"
	"standin/internal/jobs/job"
)

// followRetry is the pause after the database could not be read.
const followRetry = time.Second

// Follow calls begun once, and handle with the events of a job that happen from then on, and with
// who is in the meeting and who speaks, then and whenever that changes. It returns when the job has
// ended, with the error of handle, or with that of ctx.
func (h *Hub) Follow(ctx context.Context, id uuid.UUID, begun func(), handle func(Event) error) error {
	feed, leave := h.Join(id)
	defer leave()
	f := follower{feed: feed, begun: begun, handle: handle}
	for {
		status, changed := feed.Status()
		if status.Ready {
			if err := f.advance(ctx, status); err != nil {
				return err
			}
			if status.End != "" || status.Gone {
				return nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// FollowStatus calls handle with the status of a job, now and whenever it changes, until ctx
// ends. The status of a job that was asked for permission is the one before.
func (h *Hub) FollowStatus(ctx context.Context, id uuid.UUID, handle func(job.Status)) {
	feed, leave := h.Join(id)
	defer leave()
	var last job.Status
	for {
		status, changed := feed.Status()
		if status.Job != last {
			last = status.Job
			handle(last)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// follower is a listener of Follow.
type follower struct {
	feed   *Feed
	begun  func() // nil once called
	handle func(Event) error

	at                     Cursor
	participants, speaking string // as handled
}

// advance handles everything up to a status of the feed.
func (f *follower) advance(ctx context.Context, status Status) error {
	if f.begun != nil {
		f.at = status.Tail
		f.begun()
		f.begun = nil
	}
	for f.at != status.Tail {
		events, next, err := f.feed.After(ctx, f.at)
		if err != nil {
			if err := retry.Sleep(ctx, followRetry); err != nil {
				return err
			}
			continue
		}
		if next == f.at {
			next = status.Tail // what was there is deleted
		}
		f.at = next
		for _, event := range events {
			if event.Name == "" {
				continue
			}
			if err := f.handle(event); err != nil {
				return err
			}
		}
		status, _ = f.feed.Status()
	}
	if status.Participants != "" && status.Participants != f.participants {
		f.participants = status.Participants
		if err := f.handle(Event{Name: "participants", Data: []byte(status.Participants)}); err != nil {
			return err
		}
	}
	if status.Speaking != "" && status.Speaking != f.speaking {
		f.speaking = status.Speaking
		return f.handle(Event{Name: "speaking", Data: []byte(status.Speaking)})
	}
	return nil
}
