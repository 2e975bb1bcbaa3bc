package calendarsync

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/base/budget"
	"standin/internal/base/dialguard"
	"standin/internal/base/retry"
	"standin/internal/calendar/calendarapi"
	"standin/internal/jobs/job"
	"standin/internal/jobs/runner"
	"standin/internal/jobs/webhook"
)

const (
	workers      = 4
	pollInterval = 3 * time.Second
	lease        = time.Minute
	maxSync      = 10 * time.Minute
	maxPause     = time.Hour // between attempts to read a calendar
	fullInterval = 6 * time.Hour
	batch        = 100  // events in one transaction
	maxDirty     = 5000 // meetings of a calendar whose jobs are to be checked

	revokedPause = 24 * time.Hour   // between attempts to read a calendar that its owner has to permit again
	lead         = 30 * time.Second // before a meeting, its calendar is read again
	leadSpread   = 30 * time.Second
)

// Store stores calendars. It is implemented by store.Store. A calendar or event that does
// not exist or belongs to another consumer results in a *job.Error with NotFound.
type Store interface {
	InsertCalendar(ctx context.Context, c Calendar) error
	Calendar(ctx context.Context, caller account.Caller, id uuid.UUID) (Calendar, error)
	Calendars(ctx context.Context, caller account.Caller) ([]Calendar, error)
	ChangeCalendar(ctx context.Context, caller account.Caller, id uuid.UUID, now time.Time, change func(*Calendar) error) (Calendar, error)
	DeleteCalendar(ctx context.Context, caller account.Caller, id uuid.UUID, now time.Time) error
	RemoveCalendar(ctx context.Context, c Calendar) error

	DueCalendars(ctx context.Context, now time.Time) (teams []string, err error)
	ClaimDueCalendar(ctx context.Context, team string, now, until time.Time) (Calendar, bool, error)
	ExtendSync(ctx context.Context, c Calendar, until time.Time) (held bool, err error)
	ClaimCalendar(ctx context.Context, caller account.Caller, id uuid.UUID, until time.Time) (Calendar, bool, error)
	// WriteSync runs fn in a transaction, which it may call more than once.
	WriteSync(ctx context.Context, fn func(context.Context, SyncTx) error) error
	ReplaceSealed(ctx context.Context, c Calendar, sealed string) error
	ChangeSync(ctx context.Context, id uuid.UUID, change func(*Sync)) (found bool, err error)

	CalendarEvents(ctx context.Context, calendar uuid.UUID) ([]Event, error)
	CancelledEvents(ctx context.Context, calendar uuid.UUID, now time.Time) ([]Event, error)
	NextStart(ctx context.Context, calendar uuid.UUID, after time.Time) (time.Time, error)
	UpcomingEvents(ctx context.Context, calendar uuid.UUID, from, to time.Time, limit int) ([]Event, error)
	CalendarEvent(ctx context.Context, calendar, event uuid.UUID) (Event, error)
	SaveCalendarEvents(ctx context.Context, c Calendar, events []Event) (valid bool, err error)
	DirtyMeetings(ctx context.Context, c Calendar, limit int) ([]Meeting, error)
	WithdrawEvents(ctx context.Context, c Calendar, now time.Time) error
	JobSources(ctx context.Context, jobs []uuid.UUID) (map[uuid.UUID][]string, error)
}

// SyncTx is a transaction that ends a sync.
type SyncTx interface {
	webhook.ConsumerTx
	// LockSync returns a calendar as it is stored, and locks it; false if its lease is not
	// that of c.
	LockSync(ctx context.Context, c Calendar) (stored Calendar, held bool, err error)
	// SaveSync saves the progress of a calendar, and its owner's mail address unless that is
	// known.
	SaveSync(ctx context.Context, c Calendar) error
}

// Jobs changes the jobs of meetings. It is implemented by lifecycle.EventScheduler.
type Jobs interface {
	SyncMeetings(ctx context.Context, meetings []Meeting) error
	OverrideEvent(ctx context.Context, caller account.Caller, calendar, event uuid.UUID, override *bool) error
}

// Settings configure a Service.
type Settings struct {
	Store        Store
	Jobs         Jobs
	Key          Key
	Network      dialguard.Network
	APIs         calendarapi.Settings
	BaseURL      string   // of the service
	SendsMail    bool     // whether the service can tell organizers
	MeetingHosts []string // hosts of meetings beside those of the platforms
	Now          func() time.Time
	Log          *slog.Logger
}

// Service connects and reads calendars. Its methods may be called from any goroutine.
type Service struct {
	Settings
	feeds  *feeds
	apis   *calendarapi.API
	runner *runner.Runner[Calendar]

	requested *budget.Budget // syncs that people asked for, by team
	reading   *budget.Budget // one file at a time, which bounds the memory; by team, in turn
}

// New returns a Service. It reads nothing before Run.
func New(settings Settings) *Service {
	feeds := newFeeds(settings.Network)
	w := &Service{
		Settings: settings, feeds: feeds, apis: calendarapi.New(settings.APIs, feeds.client, settings.MeetingHosts),
		requested: budget.New(16, 1, 4), reading: budget.New(1, 1, 0),
	}
	w.runner = &runner.Runner[Calendar]{
		Name: "calendar", Slots: workers, Share: workers / 2, Poll: pollInterval, Lease: lease, Limit: maxSync,
		Teams: func(ctx context.Context) ([]string, error) { return w.Store.DueCalendars(ctx, w.Now()) },
		ClaimOf: func(ctx context.Context, team string) (Calendar, bool, error) {
			return w.Store.ClaimDueCalendar(ctx, team, w.Now(), w.Now().Add(lease))
		},
		Extend: func(ctx context.Context, c Calendar, until time.Time) error {
			held, err := w.Store.ExtendSync(ctx, c, until)
			if err == nil && !held {
				err = runner.ErrLost
			}
			return err
		},
		Run: func(ctx context.Context, c Calendar, _ *runner.Lease) error {
			_, _, err := w.sync(ctx, c)
			return err
		},
		ID:  func(c Calendar) string { return c.ID.String() },
		Now: w.Now, Log: w.Log,
	}
	return w
}

// Wake reports that a calendar may be due. It does not block.
func (w *Service) Wake() { w.runner.Wake() }

// Run reads the calendars that are due until ctx ends.
func (w *Service) Run(ctx context.Context) {
	w.runner.Work(ctx)
	w.feeds.client.CloseIdleConnections()
}

// sync reads a leased calendar and has the jobs of its meetings changed. A calendar that
// cannot be read keeps its jobs, and its Error says why. At the end, sync saves the progress,
// reports a new state and ends the lease, unless that was lost. Other errors are those of the
// database.
func (w *Service) sync(ctx context.Context, c Calendar) (Calendar, Changes, error) {
	var changes Changes
	if !c.Deleted {
		var err error
		if changes, err = w.read(ctx, &c); err != nil {
			return c, changes, err
		}
	}
	meetings, err := w.Store.DirtyMeetings(ctx, c, maxDirty)
	if err == nil {
		err = w.Jobs.SyncMeetings(ctx, meetings)
	}
	if err != nil {
		return c, changes, err
	}
	if c.Deleted {
		if c.Watch.ID != "" { // of an API; a watch that cannot be ended expires
			ending, cancel := context.WithTimeout(ctx, feedTime)
			defer cancel()
			opened, err := w.open(ending, &c)
			if err == nil {
				err = opened.Unwatch(ending, c.Watch)
			}
			if err != nil {
				w.Log.Debug("cannot end the subscription to a calendar; it will expire", "calendar", c.ID, "error", err)
			}
		}
		return c, changes, w.Store.RemoveCalendar(ctx, c)
	}
	return c, changes, w.Store.WriteSync(ctx, func(ctx context.Context, tx SyncTx) error {
		before, held, err := tx.LockSync(ctx, c)
		if !held || err != nil {
			return err
		}
		ended := c
		ended.Lease = ""
		if err := tx.SaveSync(ctx, ended); err != nil || before.State == c.State {
			return err
		}
		state := webhook.CalendarState{CalendarID: c.ID, Name: c.Name, State: string(c.State), Previous: string(before.State)}
		if c.Error != "" {
			state.Error = &c.Error
		}
		return webhook.InsertForConsumer(ctx, tx, c.ConsumerID, webhook.CalendarStateOf(state), w.Now())
	})
}

// read reads a leased calendar, saves its events, and sets when it is read next.
func (w *Service) read(ctx context.Context, c *Calendar) (changes Changes, err error) {
	now := w.Now()
	known := c.Validators
	if now.Sub(c.ReadAt) > fullInterval { // the window moves also if the feed does not change
		known = Validators{}
	}
	if c.State != Active {
		c.Error = ""
	}
	fetch := w.fetchAPI
	if c.Provider == Feed {
		fetch = w.fetchFeed
	}
	meetings, changed, err := fetch(ctx, c, known, now)
	if refused, ok := errors.AsType[*calendarapi.Error](err); ok {
		backoff := retry.Backoff{Min: c.Poll, Max: maxPause, Failures: c.Failures}
		pause := max(backoff.Next(), MinPoll, refused.RetryAfter)
		if c.Failures == 0 {
			w.Log.Warn("cannot read calendar", "calendar", c.ID, "reason", refused.Reason, "retry_in", pause)
		}
		c.State, c.Error, c.Failures, c.DueAt = Failing, refused.Reason, backoff.Failures, now.Add(pause)
		c.Validators = Validators{Position: c.Validators.Position}
		if !refused.Revoked {
			return changes, nil
		}
		c.State, c.DueAt = Revoked, now.Add(revokedPause)
		return changes, w.Store.WithdrawEvents(ctx, *c, now)
	}
	if err != nil {
		return changes, err
	}
	c.State, c.Failures, c.SyncedAt = Active, 0, job.AsStored(now)
	c.DueAt = now.Add(c.Poll - rand.N(c.Poll/10))
	var save []Event
	if changed {
		var events []Event
		if events, err = w.Store.CalendarEvents(ctx, c.ID); err == nil {
			var unsure bool
			if save, changes, unsure = compare(events, meetings, job.AsStored(now)); unsure {
				c.DueAt, c.Validators = now.Add(confirmTime), Validators{}
			}
		}
	} else {
		save, err = w.Store.CancelledEvents(ctx, c.ID, now)
	}
	if err != nil {
		return changes, err
	}
	for len(save) > 0 {
		n := min(len(save), batch)
		valid, err := w.Store.SaveCalendarEvents(ctx, *c, save[:n])
		if err != nil {
			return changes, err
		}
		if !valid {
			return changes, runner.ErrLost
		}
		save = save[n:]
	}
	before := lead + leadSpread*time.Duration(c.ID[len(c.ID)-1])/256 // not all calendars at once
	next, err := w.Store.NextStart(ctx, c.ID, now.Add(before))
	if at := next.Add(-before); err == nil && !next.IsZero() && at.Before(c.DueAt) { // a change at the last moment is followed
		c.DueAt = at
	}
	return changes, err
}

// fetchFeed reads the feed of a calendar. It reports false if nothing has changed.
func (w *Service) fetchFeed(ctx context.Context, c *Calendar, known Validators, now time.Time) (meetings []Event, changed bool, err error) {
	address, err := w.Key.Open(c.ID.String(), c.Sealed)
	if err != nil {
		return nil, false, unreadable("the address cannot be decrypted: " + err.Error())
	}
	body, validators, changed, err := w.feeds.read(ctx, address, known)
	if err != nil || !changed {
		return nil, false, err
	}
	release, err := w.reading.Acquire(ctx, c.ConsumerID.String(), 1)
	if err != nil {
		return nil, false, err
	}
	defer release()
	if meetings, err = w.meetingsOf(*c, body, now); err != nil {
		return nil, false, err
	}
	c.Validators, c.ReadAt = validators, job.AsStored(now)
	return meetings, true, nil
}
