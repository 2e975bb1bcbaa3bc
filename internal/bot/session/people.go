package session

import (
	"context"
	"time"

	"standin/internal/bot/meeting"
)

const (
	// peopleDelay is the time from admission until the list of people is read.
	peopleDelay = 2 * time.Second
	// minPeoplePause is the shortest time between two readings.
	minPeoplePause = 15 * time.Second
	// peopleInterval is the time after which a list is read again, because people rename
	// themselves. It is shorter than the time for which an adapter remembers the list.
	peopleInterval = 2 * time.Minute
)

// peopleReader reads the list of people of a page now and then: people without a tile
// are named only there. Meetings in which everybody has a tile are left alone.
type peopleReader struct {
	since   time.Time // the meeting was first shown
	reading bool
	readAt  time.Time // time of the last reading
	others  int       // number of others after it
	counted bool      // others is known

	failures int // in a row
	retryAt  time.Time
}

// read reads the list of people if it is time.
func (r *peopleReader) read(ctx context.Context, page *meetingPage, now time.Time) {
	seen := page.last.seen
	if seen.Screen != meeting.InMeeting || page.tab == nil {
		return
	}
	if r.since.IsZero() {
		r.since = now
	}
	if r.reading || now.Before(r.retryAt) || !r.due(seen, now) {
		return
	}
	r.reading = true
	page.pageQueue.add(ctx, task{
		timeout: page.timeouts.Command,
		do:      func(ctx context.Context) error { return page.adapter.ReadPeople(ctx, page.tab) },
		onDone: func(ctx context.Context, err error) *exitResult {
			r.reading = false
			if err == nil {
				r.failures, r.readAt, r.counted = 0, time.Now(), false
				return nil
			}
			r.failures++
			r.retryAt = time.Now().Add(min(peopleDelay<<min(r.failures, 10), peopleInterval))
			if ctx.Err() == nil {
				page.log.Debug("participant list not available", "error", err)
			}
			return nil
		},
	})
}

// due reports whether somebody may be in the meeting whom no tile names.
func (r *peopleReader) due(seen meeting.Observation, now time.Time) bool {
	named := 0
	for _, one := range seen.Participants {
		if one.Name != "" {
			named++
		}
	}
	since := now.Sub(r.readAt)
	switch missing := seen.Others > named || !seen.Counted && seen.Others > 0; {
	case r.readAt.IsZero():
		return missing && now.Sub(r.since) >= peopleDelay
	case since < minPeoplePause:
		if !r.counted {
			r.others, r.counted = seen.Others, true // as it is with what was read
		}
		return false
	}
	return seen.Others != r.others || since >= peopleInterval
}
