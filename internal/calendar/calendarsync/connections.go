package calendarsync

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/calendar/calendarapi"
	"standin/internal/jobs/job"
	"standin/internal/jobs/runner"
)

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
	now := job.AsStored(w.Now())
	c := Calendar{
		ID: job.NewID(), ConsumerID: caller.ConsumerID, Provider: Feed, Name: request.Name, Email: strings.ToLower(request.Email),
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
	if err := w.check(c, caller); err != nil {
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
func (w *Service) check(c Calendar, caller account.Caller) error {
	if _, err := c.Rules.compileTitle(); err != nil {
		return invalid("the pattern for titles is not a regular expression", "rules", "titleMatches")
	}
	switch {
	case c.Rules.TellOrganizer > 0 && !w.SendsMail:
		return invalid("this service sends no mail: its operator must set STANDIN_MAIL_REPLY_URL", "rules", "tellOrganizer")
	case c.Rules.Invite != "" && c.Provider == Feed:
		return invalid("an account can be added to meetings only through the API of Google or Microsoft", "rules", "invite")
	case c.Rules.needsEmail() != "" && c.Email == "" && c.Provider == Feed: // others are asked for it
		return invalid(fmt.Sprintf("the rule “%s” needs the email address of the calendar's owner", c.Rules.needsEmail()), "email")
	case caller.Mode == job.Test:
		return job.NewInvalidState("calendars send live bots: connect them with a live key")
	}
	return nil
}

func invalid(message string, path ...any) error {
	return job.NewInvalidInput(message, path...)
}

// Calendar returns a calendar of the caller.
func (w *Service) Calendar(ctx context.Context, caller account.Caller, id uuid.UUID) (Calendar, error) {
	return w.Store.Calendar(ctx, caller, id)
}

// Calendars returns the calendars of the caller, oldest first.
func (w *Service) Calendars(ctx context.Context, caller account.Caller) ([]Calendar, error) {
	return w.Store.Calendars(ctx, caller)
}

// Patch changes a calendar. Fields that are nil do not change.
type Patch struct {
	Name, Address, Email *string
	Access               AccessPatch
	Rules                json.RawMessage // with those of Rules that change
	Job                  *JobOptions
	Poll                 *time.Duration
}

// Change changes a calendar of the caller, which is read again soon. Other settings of
// jobs apply to those that are created later.
func (w *Service) Change(ctx context.Context, caller account.Caller, id uuid.UUID, patch Patch) (Calendar, error) {
	c, err := w.Store.ChangeCalendar(ctx, caller, id, w.Now(), func(c *Calendar) error {
		if patch.Address != nil {
			if c.Provider != Feed {
				return invalid("a calendar of "+c.Provider.Title()+" has no address", "icsUrl")
			}
			if err := w.setAddress(c, *patch.Address); err != nil {
				return err
			}
		}
		if patch.Access != (AccessPatch{}) {
			if c.Provider == Feed {
				return invalid("a calendar that is read at an address has no refresh token", "refreshToken")
			}
			access, err := w.access(*c)
			if err != nil && patch.Access.RefreshToken == nil { // else it is given anew
				return invalid("the access cannot be decrypted: "+err.Error(), "refreshToken")
			}
			set(&access.RefreshToken, patch.Access.RefreshToken)
			set(&access.ClientID, patch.Access.ClientID)
			set(&access.ClientSecret, patch.Access.ClientSecret)
			set(&access.Tenant, patch.Access.Tenant)
			set(&access.CalendarID, patch.Access.CalendarID)
			if err := w.setAccess(c, access); err != nil {
				return err
			}
		}
		if patch.Email != nil {
			c.Email = strings.ToLower(*patch.Email)
		}
		set(&c.Name, patch.Name)
		if patch.Rules != nil {
			if err := json.Unmarshal(patch.Rules, &c.Rules); err != nil {
				return fmt.Errorf("change the rules of a calendar: %w", err)
			}
		}
		set(&c.Job, patch.Job)
		set(&c.Poll, patch.Poll)
		return w.check(*c, caller)
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
	if err := w.Store.DeleteCalendar(ctx, caller, id, w.Now()); err != nil {
		return err
	}
	w.Wake()
	return nil
}

// SyncNow reads a calendar of the caller now. Further calls of a team wait, and a few at most:
// then the error is budget.ErrFull.
func (w *Service) SyncNow(ctx context.Context, caller account.Caller, id uuid.UUID) (c Calendar, changes Changes, err error) {
	release, err := w.requested.Acquire(ctx, caller.ConsumerID.String(), 1)
	if err != nil {
		return c, changes, err
	}
	defer release()
	c, ok, err := w.Store.ClaimCalendar(ctx, caller, id, w.Now().Add(maxSync))
	if err != nil {
		return c, changes, err
	}
	if !ok {
		return c, changes, job.NewError(job.NotFound, "no such calendar")
	}
	c, changes, err = w.sync(ctx, c)
	if errors.Is(err, runner.ErrLost) { // it was changed, and is read again
		c, err = w.Store.Calendar(ctx, caller, id)
	}
	return c, changes, err
}

// Events returns the meetings of a calendar of the caller that end after from and start
// before to, by their start.
func (w *Service) Events(ctx context.Context, caller account.Caller, id uuid.UUID, from, to time.Time) ([]Event, error) {
	c, err := w.Store.Calendar(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	found, err := w.Store.UpcomingEvents(ctx, id, from, to, maxListed)
	if err != nil {
		return nil, err
	}
	return found, w.complete(ctx, c, found)
}

// complete adds what has become of the jobs of events since they were decided, and where
// they are known from.
func (w *Service) complete(ctx context.Context, c Calendar, events []Event) error {
	var jobs []uuid.UUID
	for _, e := range events {
		if e.JobID != uuid.Nil {
			jobs = append(jobs, e.JobID)
		}
	}
	sources, err := w.Store.JobSources(ctx, jobs)
	if err != nil {
		return err
	}
	for i, e := range events {
		switch {
		case e.Record && e.Job == job.Cancelled:
			e.Record, e.Reason = false, "not recorded: its bot was cancelled"
		case e.Record && e.Job == job.Failed:
			e.Record, e.Reason = false, "not recorded: its bot has failed"
		}
		if e.JobID != uuid.Nil {
			e.Sources = sources[e.JobID]
		}
		if len(e.Sources) == 0 {
			e.Sources = []string{string(c.Provider)}
		}
		events[i] = e
	}
	return nil
}

// maxListed is the number of events that a calendar can have.
const maxListed = maxEvents + 1

// Override saves whether a person wants a bot for an event; nil if the rules decide. It
// returns the event with the new decision.
func (w *Service) Override(ctx context.Context, caller account.Caller, calendar, event uuid.UUID, override *bool) (Event, error) {
	c, err := w.Store.Calendar(ctx, caller, calendar)
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
