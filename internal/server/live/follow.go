package live

import (
	"context"
	"iter"
	"slices"
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
	listener, started := Listener{Feed: feed}, false
reading:
	for {
		status, changed := feed.Status()
		if status.Ready {
			if !started {
				listener.At, started = status.Tail, true
				begun()
			}
			for events, err := range listener.Unread(ctx, &status) {
				if err != nil {
					if err := retry.Sleep(ctx, followRetry); err != nil {
						return err
					}
					continue reading
				}
				for _, event := range events {
					if err := handle(event); err != nil {
						return err
					}
				}
			}
			for _, event := range listener.Presence(status) {
				if err := handle(event); err != nil {
					return err
				}
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

// Listener reads what happens in a job from its feed.
type Listener struct {
	Feed *Feed
	At   Cursor // after what was read

	participants, speaking string // as read
}

// Unread returns the events up to a status of the feed that were not read, a few at a time, and updates the status to that
// after them. After an error, they can be read again.
func (l *Listener) Unread(ctx context.Context, status *Status) iter.Seq2[[]Event, error] {
	return func(yield func([]Event, error) bool) {
		for l.At != status.Tail {
			events, next, err := l.Feed.After(ctx, l.At)
			if err != nil {
				yield(nil, err)
				return
			}
			if next == l.At {
				next = status.Tail // what was there is deleted, or a client sent an ID that no event has
			}
			l.At = next
			events = slices.DeleteFunc(events, func(e Event) bool { return e.Name == "" })
			if len(events) > 0 && !yield(events, nil) {
				return
			}
			*status, _ = l.Feed.Status()
		}
	}
}

// Presence returns who is in the meeting and who speaks, if that was not read.
func (l *Listener) Presence(status Status) (events []Event) {
	if status.Participants != "" && status.Participants != l.participants {
		l.participants = status.Participants
		events = append(events, Event{Name: "participants", Data: []byte(status.Participants)})
	}
	if status.Speaking != "" && status.Speaking != l.speaking {
		l.speaking = status.Speaking
		events = append(events, Event{Name: "speaking", Data: []byte(status.Speaking)})
	}
	return events
}
