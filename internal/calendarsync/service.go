package calendarsync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/calendarapi"
	"standin/internal/job"
	"standin/internal/retry"
)

const (
	workers      = 4
	pollInterval = 10 * time.Second
	lease        = 5 * time.Minute
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
	Calendar(ctx context.Context, consumer, id uuid.UUID) (Calendar, error)
	Calendars(ctx context.Context, consumer uuid.UUID) ([]Calendar, error)
	ChangeCalendar(ctx context.Context, consumer, id uuid.UUID, now time.Time, change func(*Calendar) error) (Calendar, error)
	DeleteCalendar(ctx context.Context, consumer, id uuid.UUID, now time.Time) error
	RemoveCalendar(ctx context.Context, c Calendar) error

	ClaimDueCalendar(ctx context.Context, now, until time.Time) (Calendar, bool, error)
	ClaimCalendar(ctx context.Context, consumer, id uuid.UUID, until time.Time) (Calendar, bool, error)
	EndSync(ctx context.Context, c Calendar, now time.Time) error
	ReplaceSealed(ctx context.Context, c Calendar, sealed string) error
	ChangeSync(ctx context.Context, id uuid.UUID, change func(*Sync)) (found bool, err error)

	CalendarEvents(ctx context.Context, calendar uuid.UUID) ([]Event, error)
	UpcomingEvents(ctx context.Context, calendar uuid.UUID, from, to time.Time, limit int) ([]Event, error)
	CalendarEvent(ctx context.Context, calendar, event uuid.UUID) (Event, error)
	SaveCalendarEvents(ctx context.Context, c Calendar, events []Event) (valid bool, err error)
	DirtyMeetings(ctx context.Context, c Calendar, limit int) ([]Meeting, error)
	JobSources(ctx context.Context, calendar uuid.UUID) (map[uuid.UUID][]string, error)
}

// Jobs changes the jobs of meetings. It is implemented by lifecycle.InviteScheduler.
type Jobs interface {
	SyncMeeting(ctx context.Context, m Meeting) error
	OverrideEvent(ctx context.Context, caller account.Caller, calendar, event uuid.UUID, override *bool) error
}

// Settings configure a Service.
type Settings struct {
	Store        Store
	Jobs         Jobs
	Key          Key
	Network      Network
	APIs         calendarapi.Settings
	BaseURL      string   // of the service
	MeetingHosts []string // hosts of meetings beside those of the platforms
	Now          func() time.Time
	Log          *slog.Logger
}

// Service connects and reads calendars. Its methods may be called from any goroutine.
type Service struct {
	Settings
	feeds   *feeds
	apis    *calendarapi.API
	wake    chan struct{}
	reading sync.Mutex // one file at a time, which bounds the memory
}

// New returns a Service. It reads nothing before Run.
func New(settings Settings) *Service {
	feeds := newFeeds(settings.Network)
	return &Service{Settings: settings, feeds: feeds, apis: calendarapi.New(settings.APIs, feeds.client, settings.MeetingHosts), wake: make(chan struct{}, 1)}
}

// Wake reports that a calendar may be due. It does not block.
func (w *Service) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run reads the calendars that are due until ctx ends.
func (w *Service) Run(ctx context.Context) {
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			poll := time.NewTicker(pollInterval)
			defer poll.Stop()
			for ctx.Err() == nil {
				if w.RunNext(ctx) {
					w.Wake() // another goroutine may take the next one
					continue
				}
				select {
				case <-w.wake:
				case <-poll.C:
				case <-ctx.Done():
				}
			}
		})
	}
	running.Wait()
	w.feeds.client.CloseIdleConnections()
}

// RunNext reads the calendar that has been due for the longest time. It reports false
// when none is due.
func (w *Service) RunNext(ctx context.Context) bool {
	c, ok, err := w.Store.ClaimDueCalendar(ctx, w.Now(), w.Now().Add(lease))
	if err == nil && ok {
		_, _, err = w.sync(ctx, c)
	}
	if err != nil && ctx.Err() == nil {
		w.Log.Error("a calendar is not synced; it is tried again when its lease ends", "calendar", c.ID, "error", err)
		return false
	}
	return ok
}

// sync reads a leased calendar and has the jobs of its meetings changed. A calendar that
// cannot be read keeps its jobs, and its Error says why. Other errors are those of the
// database.
func (w *Service) sync(ctx context.Context, c Calendar) (Calendar, Changes, error) {
	var changes Changes
	if !c.Deleted {
		var err error
		if changes, err = w.read(ctx, &c); err != nil {
			return c, changes, err
		}
	}
	if err := w.settle(ctx, c); err != nil {
		return c, changes, err
	}
	if c.Deleted {
		w.unwatch(ctx, &c)
		return c, changes, w.Store.RemoveCalendar(ctx, c)
	}
	return c, changes, w.Store.EndSync(ctx, c, w.Now())
}

// read reads a leased calendar, saves its events, and sets when it is read next.
func (w *Service) read(ctx context.Context, c *Calendar) (changes Changes, err error) {
	now := w.Now()
	known := c.Validators
	if now.Sub(c.ReadAt) > fullInterval { // the window moves also if the feed does not change
		known = Validators{}
	}
	fetch := w.fetchAPI
	if c.Provider == Feed {
		fetch = w.fetchFeed
	}
	meetings, changed, err := fetch(ctx, c, known, now)
	if unreadable, ok := errors.AsType[*feedError](err); ok {
		w.failed(c, unreadable, now)
		return Changes{}, nil
	}
	if err != nil {
		return Changes{}, err
	}
	c.State, c.Error, c.Failures, c.SyncedAt = Active, "", 0, exact(now)
	c.DueAt = now.Add(c.Poll - rand.N(c.Poll/10))
	events, err := w.Store.CalendarEvents(ctx, c.ID)
	if err != nil {
		return Changes{}, err
	}
	if !changed {
		meetings = unchanged(events)
	}
	save, changes := compare(events, meetings, exact(now))
	c.DueAt = beforeNext(*c, events, meetings, now)
	for len(save) > 0 {
		n := min(len(save), batch)
		valid, err := w.Store.SaveCalendarEvents(ctx, *c, save[:n])
		if err != nil {
			return changes, err
		}
		if !valid {
			return changes, errLeaseLost
		}
		save = save[n:]
	}
	return changes, nil
}

// errLeaseLost is the error of a sync whose calendar was changed, deleted, or claimed
// again since.
var errLeaseLost = errors.New("the lease of the calendar is lost")

// unchanged returns events as if they had been read again.
func unchanged(events []Event) []Event {
	var found []Event
	for _, e := range events {
		if !e.Removed {
			found = append(found, e)
		}
	}
	return found
}

// beforeNext returns when a calendar is read next: when it is due, or shortly before its
// next meeting that may get a bot, so that a change at the last moment is followed.
func beforeNext(c Calendar, known, read []Event, now time.Time) time.Time {
	override := make(map[string]*bool)
	for _, e := range known {
		override[identity(e)] = e.Override
	}
	before := lead + leadSpread*time.Duration(c.ID[len(c.ID)-1])/256 // not all calendars at once
	for _, e := range read {                                         // by their start
		at, wanted := e.Start.Add(-before), e.ByRules.Record
		if person := override[identity(e)]; person != nil {
			wanted = *person
		}
		if wanted && e.Problem == "" && at.After(now) {
			return earlier(at, c.DueAt)
		}
	}
	return c.DueAt
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// fetchFeed reads the feed of a calendar. It reports false if nothing has changed.
func (w *Service) fetchFeed(ctx context.Context, c *Calendar, known Validators, now time.Time) (meetings []Event, changed bool, err error) {
	address, err := w.Key.Open(c.ID.String(), c.Sealed)
	if err != nil {
		return nil, false, &feedError{reason: "the address cannot be decrypted: " + err.Error()}
	}
	body, validators, changed, err := w.feeds.read(ctx, address, known)
	if err != nil || !changed {
		return nil, false, err
	}
	w.reading.Lock()
	defer w.reading.Unlock()
	if meetings, err = w.meetingsOf(*c, body, now); err != nil {
		return nil, false, err
	}
	c.Validators, c.ReadAt = validators, exact(now)
	return meetings, true, nil
}

// failed notes why a calendar cannot be read, and sets when it is tried again.
func (w *Service) failed(c *Calendar, err *feedError, now time.Time) {
	backoff := retry.Backoff{Min: c.Poll, Max: maxPause, Failures: c.Failures}
	pause := max(backoff.Next(), MinPoll, err.retryAfter)
	if c.Failures == 0 {
		w.Log.Warn("a calendar cannot be read", "calendar", c.ID, "reason", err.reason, "retry_in", pause)
	}
	c.State, c.Error, c.Failures, c.DueAt, c.Validators = Failing, err.reason, backoff.Failures, now.Add(pause), Validators{Position: c.Validators.Position}
	if err.revoked {
		c.State, c.DueAt = Revoked, now.Add(revokedPause)
	}
}

// settle has the jobs of changed meetings changed.
func (w *Service) settle(ctx context.Context, c Calendar) error {
	meetings, err := w.Store.DirtyMeetings(ctx, c, maxDirty)
	if err != nil {
		return err
	}
	var errs []error // of one meeting must not stop the others
	for _, m := range meetings {
		if err := w.Jobs.SyncMeeting(ctx, m); err != nil {
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// Connection is a request to connect a calendar.
type Connection struct {
	Name    string
	Address string             // of a feed
	Access  calendarapi.Access // to an API; without a provider for a feed
	Email   string             // of the owner; may be empty
	Rules   Rules
	Job     JobOptions
	Poll    time.Duration
}

// Connect connects a calendar, which is read soon. An unusable request is a *job.Error
// with InvalidInput.
func (w *Service) Connect(ctx context.Context, caller account.Caller, request Connection) (Calendar, error) {
	now := exact(w.Now())
	c := Calendar{
		ID: uuid.Must(uuid.NewV7()), ConsumerID: caller.ConsumerID, Provider: Feed, Name: request.Name, Email: strings.ToLower(request.Email),
		Rules: request.Rules, Job: request.Job, Poll: request.Poll, CreatedAt: now, Sync: Sync{State: Waiting, DueAt: now},
	}
	set := func() error { return w.setAddress(&c, request.Address) }
	if request.Access.Provider != "" && request.Access.Provider != Feed {
		c.Provider = request.Access.Provider
		set = func() error { return w.setAccess(&c, request.Access) }
	}
	if err := set(); err != nil {
		return Calendar{}, err
	}
	if err := c.check(caller); err != nil {
		return Calendar{}, err
	}
	if err := w.Store.InsertCalendar(ctx, c); err != nil {
		return Calendar{}, err
	}
	w.Wake()
	return c, nil
}

func (w *Service) setAddress(c *Calendar, text string) error {
	address, masked, err := ParseAddress(text)
	if err != nil {
		return invalid(err.Error(), "icsUrl")
	}
	c.Sealed, c.Address = w.Key.Seal(c.ID.String(), address), masked
	return nil
}

// check checks what schemas cannot.
func (c Calendar) check(caller account.Caller) error {
	if _, err := c.Rules.CompileTitle(); err != nil {
		return invalid("the pattern for titles is not a regular expression", "rules", "titleMatches")
	}
	switch {
	case c.Rules.NeedsEmail() && c.Email == "" && c.Provider == Feed: // others are asked for it
		return invalid(fmt.Sprintf("the rule “%s” needs the email address of the calendar's owner", c.Rules.Record), "email")
	case caller.Mode == job.Test:
		return &job.Error{Code: job.InvalidState, Message: "calendars send live bots: connect them with a live key"}
	}
	return nil
}

func invalid(message string, path ...any) error {
	return &job.Error{Code: job.InvalidInput, Message: message, Path: path}
}

// Calendar returns a calendar of the caller.
func (w *Service) Calendar(ctx context.Context, caller account.Caller, id uuid.UUID) (Calendar, error) {
	return w.Store.Calendar(ctx, caller.ConsumerID, id)
}

// Calendars returns the calendars of the caller, oldest first.
func (w *Service) Calendars(ctx context.Context, caller account.Caller) ([]Calendar, error) {
	return w.Store.Calendars(ctx, caller.ConsumerID)
}

// Patch changes a calendar. Fields that are nil do not change.
type Patch struct {
	Name, Address, Email *string
	Access               AccessPatch
	Record               *Record
	TitleMatches         *string
	MinParticipants      *int
	OptOut               *string
	Job                  *JobOptions
	Poll                 *time.Duration
}

// Change changes a calendar of the caller, which is read again soon. Other settings of
// jobs apply to those that are created later.
func (w *Service) Change(ctx context.Context, caller account.Caller, id uuid.UUID, patch Patch) (Calendar, error) {
	c, err := w.Store.ChangeCalendar(ctx, caller.ConsumerID, id, w.Now(), func(c *Calendar) error {
		if patch.Address != nil {
			if c.Provider != Feed {
				return invalid("a calendar of "+c.Provider.Title()+" has no address", "icsUrl")
			}
			if err := w.setAddress(c, *patch.Address); err != nil {
				return err
			}
		}
		if err := w.changeAccess(c, patch.Access); err != nil {
			return err
		}
		if patch.Email != nil {
			c.Email = strings.ToLower(*patch.Email)
		}
		set(&c.Name, patch.Name)
		set(&c.Rules.Record, patch.Record)
		set(&c.Rules.TitleMatches, patch.TitleMatches)
		set(&c.Rules.MinParticipants, patch.MinParticipants)
		set(&c.Rules.OptOut, patch.OptOut)
		set(&c.Job, patch.Job)
		set(&c.Poll, patch.Poll)
		return c.check(caller)
	})
	if err == nil {
		w.Wake()
	}
	return c, err
}

func set[T any](value, with *T) {
	if with != nil {
		*value = *with
	}
}

// Disconnect deletes a calendar of the caller. The jobs that it has created and whose
// meetings are not in another calendar are cancelled soon.
func (w *Service) Disconnect(ctx context.Context, caller account.Caller, id uuid.UUID) error {
	if err := w.Store.DeleteCalendar(ctx, caller.ConsumerID, id, w.Now()); err != nil {
		return err
	}
	w.Wake()
	return nil
}

// SyncNow reads a calendar of the caller now.
func (w *Service) SyncNow(ctx context.Context, caller account.Caller, id uuid.UUID) (Calendar, Changes, error) {
	c, ok, err := w.Store.ClaimCalendar(ctx, caller.ConsumerID, id, w.Now().Add(lease))
	if err != nil {
		return Calendar{}, Changes{}, err
	}
	if !ok {
		return Calendar{}, Changes{}, &job.Error{Code: job.NotFound, Message: "no such calendar"}
	}
	c, changes, err := w.sync(ctx, c)
	if errors.Is(err, errLeaseLost) { // it was changed, and is read again
		c, err = w.Store.Calendar(ctx, caller.ConsumerID, id)
	}
	return c, changes, err
}

// Events returns the meetings of a calendar of the caller that end after from and start
// before to, by their start: 500 at most.
func (w *Service) Events(ctx context.Context, caller account.Caller, id uuid.UUID, from, to time.Time) ([]Event, error) {
	c, err := w.Store.Calendar(ctx, caller.ConsumerID, id)
	if err != nil {
		return nil, err
	}
	found, err := w.Store.UpcomingEvents(ctx, id, from, to, MaxListed)
	if err != nil {
		return nil, err
	}
	return found, w.complete(ctx, c, found)
}

// complete adds what has become of the jobs of events since they were decided, and where
// they are known from.
func (w *Service) complete(ctx context.Context, c Calendar, events []Event) error {
	sources, err := w.Store.JobSources(ctx, c.ID)
	if err != nil {
		return err
	}
	for i, e := range events {
		if e = e.current(); e.JobID != uuid.Nil {
			e.Sources = sources[e.JobID]
		}
		if len(e.Sources) == 0 {
			e.Sources = []string{string(c.Provider)}
		}
		events[i] = e
	}
	return nil
}

// MaxListed limits the events of Events.
const MaxListed = 500

// Override saves whether a person wants a bot for an event; nil if the rules decide. It
// returns the event with the new decision.
func (w *Service) Override(ctx context.Context, caller account.Caller, calendar, event uuid.UUID, override *bool) (Event, error) {
	c, err := w.Store.Calendar(ctx, caller.ConsumerID, calendar)
	if err != nil {
		return Event{}, err
	}
	if err := w.Jobs.OverrideEvent(ctx, caller, calendar, event, override); err != nil {
		return Event{}, err
	}
	e, err := w.Store.CalendarEvent(ctx, calendar, event)
	if err != nil {
		return Event{}, err
	}
	found := []Event{e}
	err = w.complete(ctx, c, found)
	return found[0], err
}

// current returns the event with what has become of its job since it was decided.
func (e Event) current() Event {
	switch {
	case e.Reason == "":
		e.Reason = "not decided yet"
	case e.Record && e.Job == job.Cancelled:
		e.Record, e.Reason = false, "not recorded: its bot was cancelled"
	}
	return e
}
