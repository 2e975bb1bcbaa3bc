package live

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/retry"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
)

const (
	// pollInterval is how often the database is read for changes of other nodes.
	pollInterval = time.Second
	// pageSize is how many entries and texts are read at a time.
	pageSize = 100
	// maxRecent is how many events a feed shares with its listeners. Listeners
	// that are further behind read the database.
	maxRecent = 256
)

// Source reads the database. It is implemented by store.Store.
type Source interface {
	Job(ctx context.Context, id uuid.UUID) (job.Record, error)
	ListTimeline(ctx context.Context, jobID, after uuid.UUID, limit int) (entries []job.TimelineEntry, more bool, err error)
	TextsAfter(ctx context.Context, jobID uuid.UUID, sequence int64, limit int) (texts []job.MeetingText, more bool, err error)
}

// Hub has a feed for each job that somebody listens to. The database is read once
// for all listeners of a job.
type Hub struct {
	source  Source
	log     *slog.Logger
	opened  chan *Feed    // feeds that Run has to start
	stopped chan struct{} // closed when Run has returned

	mu    sync.Mutex
	feeds map[uuid.UUID]*Feed
}

// NewHub returns a Hub. Its feeds need Run.
func NewHub(source Source, log *slog.Logger) *Hub {
	return &Hub{source: source, log: log, opened: make(chan *Feed), stopped: make(chan struct{}), feeds: make(map[uuid.UUID]*Feed)}
}

// Run keeps the feeds up to date until ctx is cancelled. Call it once.
func (h *Hub) Run(ctx context.Context) {
	var feeds sync.WaitGroup
	defer close(h.stopped)
	defer feeds.Wait()
	for {
		select {
		case f := <-h.opened:
			feeds.Go(func() { f.run(ctx) })
		case <-ctx.Done():
			return
		}
	}
}

// Wake reports that a job has changed.
func (h *Hub) Wake(id uuid.UUID) {
	h.mu.Lock()
	f := h.feeds[id]
	h.mu.Unlock()
	if f != nil {
		f.wake.Send()
	}
}

// Join adds a listener to the feed of a job. The listener must call leave. Join
// waits for Run to start. After Run has returned, feeds do not change.
func (h *Hub) Join(id uuid.UUID) (f *Feed, leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f = h.feeds[id]
	if f == nil {
		f = &Feed{id: id, source: h.source, log: h.log, wake: retry.NewSignal(), changed: make(chan struct{}), left: make(chan struct{})}
		h.feeds[id] = f
		select {
		case h.opened <- f:
		case <-h.stopped:
		}
	}
	f.listeners++
	return f, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if f.listeners--; f.listeners == 0 {
			delete(h.feeds, id)
			close(f.left)
		}
	}
}

// Feed has the recent events of a job.
type Feed struct {
	id        uuid.UUID
	source    Source
	log       *slog.Logger
	listeners int // protected by Hub.mu
	wake      retry.Signal
	left      chan struct{} // closed when the last listener has left

	mu      sync.Mutex
	recent  []Event // its elements do not change
	status  Status
	changed chan struct{} // closed at the next change
}

// Status is the state of a feed beside its events.
type Status struct {
	Ready        bool       // the feed has read the database
	Tail         Cursor     // position after the last event
	Participants string     // JSON of Participants; empty when unknown
	Speaking     string     // JSON of Speaking; empty when unknown
	End          string     // JSON of End, once the job has ended
	Gone         bool       // the job was erased
	Job          job.Status // of the job; the one before a permission request that is open
}

// Status returns the state of the feed, and a channel that is closed at its next
// change.
func (f *Feed) Status() (Status, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status, f.changed
}

// After returns events after a position, oldest first, and the position after
// them. There are none if the position is the tail. It reads the database only
// when the position is not that of a recent event.
func (f *Feed) After(ctx context.Context, at Cursor) ([]Event, Cursor, error) {
	f.mu.Lock()
	tail, recent := f.status.Tail, f.recent
	f.mu.Unlock()
	if at == tail {
		return nil, at, nil
	}
	if i := slices.IndexFunc(recent, func(e Event) bool { return e.Cursor == at }); i >= 0 {
		return slices.Clone(recent[i+1:]), tail, nil
	}
	events, next, _, err := f.read(ctx, at)
	return events, next, err
}

// read reads a page of events from the database in the order of their times, and
// reports whether there are more.
func (f *Feed) read(ctx context.Context, at Cursor) (events []Event, next Cursor, more bool, err error) {
	entries, moreEntries, err := f.source.ListTimeline(ctx, f.id, at.Entry, pageSize)
	if err != nil {
		return nil, at, false, err
	}
	texts, moreTexts, err := f.source.TextsAfter(ctx, f.id, at.Text, pageSize)
	if err != nil {
		return nil, at, false, err
	}
	next = at
	for len(entries) > 0 || len(texts) > 0 {
		if len(entries) == 0 && moreEntries || len(texts) == 0 && moreTexts {
			return events, next, true, nil // the next page may have an earlier one
		}
		if len(texts) == 0 || len(entries) > 0 && precedes(entries[0], texts[0]) {
			next.Entry = entries[0].ID
			events = append(events, entryEvent(entries[0], next))
			entries = entries[1:]
		} else {
			next.Text = texts[0].Sequence
			events = append(events, textEvent(texts[0], next))
			texts = texts[1:]
		}
	}
	return events, next, moreEntries || moreTexts, nil
}

// precedes reports whether a timeline entry comes before a text. Both have the time of
// the bot's clock. The end of the job comes after all texts.
func precedes(e job.TimelineEntry, t job.MeetingText) bool {
	ended := e.Applied && e.From != e.To && e.To.Terminal()
	return !ended && !e.EmittedAt.After(t.StartedAt)
}

// run follows the job until the last listener leaves or ctx is cancelled.
func (f *Feed) run(ctx context.Context) {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		if err := f.refresh(ctx); err != nil && ctx.Err() == nil {
			f.log.Error("cannot follow a job", "job", f.id, "error", err)
		}
		select {
		case <-f.wake:
		case <-poll.C:
		case <-f.left:
			return
		case <-ctx.Done():
			return
		}
	}
}

// refresh reads what is new.
func (f *Feed) refresh(ctx context.Context) error {
	// The job is read first, so that a job that has ended has no further events.
	r, err := f.source.Job(ctx, f.id)
	if job.ErrorIs(err, job.NotFound) {
		f.update(nil, Status{Ready: true, Gone: true})
		return nil
	}
	if err != nil {
		return err
	}
	f.mu.Lock()
	status := f.status
	f.mu.Unlock()
	status.Participants, status.Speaking = present(r)
	if status.Job = r.Status; r.Status == job.PermissionRequested {
		status.Job = r.PreviousStatus
	}
	for more := true; more; {
		var events []Event
		if events, status.Tail, more, err = f.read(ctx, status.Tail); err != nil {
			return err
		}
		if status.Ready = !more; status.Ready && r.Status.Terminal() {
			status.End = string(encode(End{"end", r.Status}))
		}
		f.update(events, status)
	}
	return nil
}

// update adds events and wakes the listeners if anything has changed.
func (f *Feed) update(events []Event, status Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(events) == 0 && status == f.status {
		return
	}
	f.recent = append(f.recent, events...)
	if extra := len(f.recent) - maxRecent; extra > 0 {
		f.recent = slices.Clone(f.recent[extra:])
	}
	f.status = status
	close(f.changed)
	f.changed = make(chan struct{})
}

// present returns who is in the meeting and who speaks, as JSON; empty when nobody
// knows.
func present(r job.Record) (participants, speaking string) {
	var stats ingest.Stats
	if len(r.Stats) == 0 || json.Unmarshal(r.Stats, &stats) != nil || stats.Roster == nil {
		return "", ""
	}
	people := Participants{Type: "participants", Participants: []ingest.LiveParticipant{}}
	speak := Speaking{Type: "speaking", ParticipantIDs: []string{}}
	for _, p := range stats.Roster.Participants {
		if p.Speaking {
			speak.ParticipantIDs = append(speak.ParticipantIDs, p.ID)
		}
		p.Speaking = false
		people.Participants = append(people.Participants, p)
	}
	return string(encode(people)), string(encode(speak))
}
