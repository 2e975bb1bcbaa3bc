package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"

	"standin/client"
	"standin/internal/account"
	"standin/internal/calendar/calendarapi"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/signin"
)

// Calendars connects and reads the calendars of consumers. It is implemented by
// calendarsync.Service. A calendar that does not exist or belongs to another consumer
// results in a *job.Error with NotFound.
type Calendars interface {
	Connect(ctx context.Context, caller account.Caller, request calendarsync.Connection) (calendarsync.Calendar, error)
	Calendar(ctx context.Context, caller account.Caller, id uuid.UUID) (calendarsync.Calendar, error)
	Calendars(ctx context.Context, caller account.Caller) ([]calendarsync.Calendar, error)
	Change(ctx context.Context, caller account.Caller, id uuid.UUID, patch calendarsync.Patch) (calendarsync.Calendar, error)
	Disconnect(ctx context.Context, caller account.Caller, id uuid.UUID) error
	SyncNow(ctx context.Context, caller account.Caller, id uuid.UUID) (calendarsync.Calendar, calendarsync.Changes, error)
	Events(ctx context.Context, caller account.Caller, id uuid.UUID, from, to time.Time) ([]calendarsync.Event, error)
	Override(ctx context.Context, caller account.Caller, calendar, event uuid.UUID, override *bool) (calendarsync.Event, error)
	IsNotifySecret(id uuid.UUID, secret string) bool
	Notify(ctx context.Context, id uuid.UUID, lapsed bool) error
}

// calendarRequest is the CalendarCreate schema of api/openapi.yaml.
type calendarRequest struct {
	Name   string `json:"name"`
	ICSURL string `json:"icsUrl"`
	calendarapi.Access
	Email       string             `json:"email"`
	Rules       calendarsync.Rules `json:"rules"`
	Job         calendarJob        `json:"job"`
	PollSeconds int                `json:"pollSeconds"`
}

// calendarPatch is the CalendarPatch schema of api/openapi.yaml. A nil field does not
// change. An empty email, null in JSON, removes it.
type calendarPatch struct {
	Name   *string `json:"name"`
	ICSURL *string `json:"icsUrl"`
	calendarsync.AccessPatch
	Email       nullableText    `json:"email"`
	Rules       json.RawMessage `json:"rules"`
	Job         *calendarJob    `json:"job"`
	PollSeconds *int            `json:"pollSeconds"`
}

// calendarJob is the CalendarJob schema of api/openapi.yaml.
type calendarJob struct {
	DisplayName string             `json:"displayName"`
	Webhooks    job.Webhooks       `json:"webhooks"`
	AutoLeave   *completeAutoLeave `json:"autoLeave"`
	job.Options
}

// completeAutoLeave has the defaults in place of missing fields.
type completeAutoLeave job.AutoLeave

// UnmarshalJSON implements json.Unmarshaler.
func (c *completeAutoLeave) UnmarshalJSON(encoded []byte) error {
	complete := job.DefaultAutoLeave()
	err := json.Unmarshal(encoded, &complete)
	*c = completeAutoLeave(complete)
	return err
}

// check checks what the schema cannot.
func (c calendarJob) check() error {
	if issues := checkOptions(c.Options, "job"); len(issues) > 0 {
		return invalid(issues)
	}
	return nil
}

func (c calendarJob) options() calendarsync.JobOptions {
	options := calendarsync.JobOptions{Webhooks: c.Webhooks, AutoLeave: (*job.AutoLeave)(c.AutoLeave), Options: c.Options}
	if c.DisplayName != "" {
		options.DisplayName = displayName(c.DisplayName)
	}
	return options
}

// calendarBody is the Calendar schema of api/openapi.yaml, with all rules and the settings of the jobs.
type calendarBody struct {
	client.Calendar
	Rules calendarsync.Rules      `json:"rules"`
	Job   calendarsync.JobOptions `json:"job"`
}

func newCalendarBody(c calendarsync.Calendar) calendarBody {
	c.Rules.Record = c.Rules.Conditions(c.Email)
	return calendarBody{client.Calendar{
		ID: c.ID.String(), Provider: string(c.Provider), Name: c.Name, Address: c.Address, Email: orNull(c.Email),
		PollSeconds: int(c.Poll / time.Second), State: string(c.State), Error: orNull(c.Error), SyncedAt: timeOrNull(c.SyncedAt),
		NextSyncAt: c.DueAt, CreatedAt: c.CreatedAt,
	}, c.Rules, c.Job}
}

// newCalendarEventBody returns an event with the account among accounts that is invited to it.
func newCalendarEventBody(e calendarsync.Event, accounts []signin.Account) client.CalendarEvent {
	body := client.CalendarEvent{
		ID: e.ID.String(), ICalUID: e.UID, OriginalStart: timeOrNull(e.Original), Title: e.Title, Organizer: orNull(e.Organizer),
		StartsAt: e.Start, EndsAt: e.End, TimeZone: orNull(e.Zone), MeetingURL: orNull(e.MeetingURL),
		Platform: orNull(string(e.Platform)), Participants: e.Attendees, Response: orNull(e.Response),
		Record: e.Record, Reason: e.Reason, Override: e.Override, JobID: idOrNull(e.JobID), JobStatus: orNull(string(e.Job)), Sources: e.Sources,
	}
	for _, account := range accounts {
		if account.IsInvited(e.Platform, e.Guests) {
			body.Account = &account.Label
		}
	}
	return body
}

func (a *API) createCalendar(r *apiRequest) error {
	request := calendarRequest{Rules: calendarsync.DefaultRules(), PollSeconds: int(calendarsync.DefaultPoll / time.Second)}
	if err := r.read(&request); err != nil {
		return err
	}
	if err := request.Job.check(); err != nil {
		return err
	}
	c, err := a.Calendars.Connect(r.Context(), r.caller, calendarsync.Connection{
		Name: title(request.Name), Address: request.ICSURL, Access: request.Access, Email: request.Email, Rules: request.Rules,
		Job:  request.Job.options(),
		Poll: time.Duration(request.PollSeconds) * time.Second,
	})
	return r.respondCreated("calendars", c.ID, newCalendarBody(c), err)
}

func (a *API) listCalendars(r *apiRequest, in pageQuery) error {
	found, err := a.Calendars.Calendars(r.Context(), r.caller)
	return respondPart(r, in, lifecycle.CalendarList, "calendars", found, func(c calendarsync.Calendar) (int64, uuid.UUID) {
		return c.CreatedAt.UnixMilli(), c.ID
	}, newCalendarBody, err)
}

func (a *API) getCalendar(r *apiRequest) error {
	c, err := a.Calendars.Calendar(r.Context(), r.caller, r.id)
	return r.respond(newCalendarBody(c), err)
}

func (a *API) patchCalendar(r *apiRequest, request calendarPatch) error {
	patch := calendarsync.Patch{
		Name: request.Name, Address: request.ICSURL, Email: request.Email.value, Access: request.AccessPatch, Rules: request.Rules,
	}
	if request.Name != nil {
		*patch.Name = title(*request.Name)
	}
	if request.Job != nil {
		if err := request.Job.check(); err != nil {
			return err
		}
		patch.Job = new(request.Job.options())
	}
	if request.PollSeconds != nil {
		patch.Poll = new(time.Duration(*request.PollSeconds) * time.Second)
	}
	c, err := a.Calendars.Change(r.Context(), r.caller, r.id, patch)
	return r.respond(newCalendarBody(c), err)
}

func (a *API) deleteCalendar(r *apiRequest) error {
	return r.noContent(a.Calendars.Disconnect(r.Context(), r.caller, r.id))
}

func (a *API) syncCalendar(r *apiRequest) error {
	c, changes, err := a.Calendars.SyncNow(r.Context(), r.caller, r.id)
	return r.respond(struct {
		calendarsync.Changes
		Calendar calendarBody `json:"calendar"`
	}{changes, newCalendarBody(c)}, err)
}

type calendarEventsQuery struct {
	pageQuery
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

func (a *API) listCalendarEvents(r *apiRequest, in calendarEventsQuery) error {
	if isUnset(in.From) {
		in.From = time.Now()
	}
	if isUnset(in.To) {
		in.To = time.Now().Add(2 * calendarsync.Window)
	}
	found, err := a.Calendars.Events(r.Context(), r.caller, r.id, in.From, in.To)
	accounts, accountsErr := a.Jobs.Accounts(r.Context(), accountTeam(r.caller))
	return respondPart(r, in.pageQuery, lifecycle.CalendarEventList, "events", found, func(e calendarsync.Event) (int64, uuid.UUID) {
		return e.Start.UnixMilli(), e.ID
	}, func(e calendarsync.Event) client.CalendarEvent { return newCalendarEventBody(e, accounts) }, cmp.Or(err, accountsErr))
}

type calendarEventPatch struct {
	Override *bool `json:"override"`
}

func (a *API) patchCalendarEvent(r *apiRequest, in calendarEventPatch) error {
	event, err := r.pathID("eventId", "event")
	if err != nil {
		return err
	}
	e, err := a.Calendars.Override(r.Context(), r.caller, r.id, event, in.Override)
	accounts, accountsErr := a.Jobs.Accounts(r.Context(), accountTeam(r.caller))
	return r.respond(newCalendarEventBody(e, accounts), cmp.Or(err, accountsErr))
}

// maxNotification bounds the notification of a provider in bytes.
const maxNotification = 64 << 10

// calendarNotification receives the notifications of providers about changed calendars
// (https://developers.google.com/workspace/calendar/api/guides/push,
// https://learn.microsoft.com/graph/change-notifications-delivery-webhooks).
func (a *API) calendarNotification(r *apiRequest) error {
	if !a.Calendars.IsNotifySecret(r.id, r.PathValue("secret")) {
		return job.NewError(job.NotFound, "no such calendar")
	}
	r.Caller = r.id.String()
	if token := r.URL.Query().Get("validationToken"); token != "" { // Microsoft tests the URL
		return r.respondContent("text/plain; charset=utf-8", []byte(token))
	}
	lapsed := false
	if r.Request.Header.Get("X-Goog-Channel-Id") == "" {
		// Microsoft says in the body whether the subscription has lapsed, or notifications were missed.
		body, done, err := r.readBody(maxNotification)
		if err != nil {
			return err
		}
		defer done()
		var notifications struct {
			Value []struct{ LifecycleEvent string }
		}
		if json.Unmarshal(body, &notifications) != nil || len(notifications.Value) == 0 {
			return job.NewError(job.InvalidInput, "the body is not a notification")
		}
		for _, n := range notifications.Value {
			lapsed = lapsed || n.LifecycleEvent != ""
		}
	}
	if err := a.Calendars.Notify(r.Context(), r.id, lapsed); err != nil {
		return err
	}
	r.WriteHeader(http.StatusAccepted)
	return nil
}
