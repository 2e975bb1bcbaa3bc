package dashboard

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/base/text"
	"standin/internal/calendar/calendarapi"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
)

// calendarsView is the data of the page that lists calendars.
type calendarsView struct {
	Calendars []calendarsync.Calendar
	Providers []calendarapi.Provider // at which users can give permission
	Form      calendarForm
	Problem   string
}

// calendarView is the data of the page of a calendar.
type calendarView struct {
	calendarsync.Calendar
	Events    []calendarsync.Event
	CanReopen bool // the user can give permission again
	Form      calendarForm
	Problem   string
}

// calendarForm is the form that connects or changes a calendar.
type calendarForm struct {
	Name            string   `json:"name"`
	Address         string   `json:"-"`     // of a feed
	Email           string   `json:"email"` // or several, with commas
	Record          []string `json:"record"`
	TitleMatches    string   `json:"titleMatches"`
	MinParticipants string   `json:"minParticipants"`
	OptOut          string   `json:"optOut"`
	Invite          string   `json:"invite"`
	TellOrganizer   string   `json:"tellOrganizer"`
}

// Chosen reports whether a choice of Records is set.
func (f calendarForm) Chosen(record string) bool { return slices.Contains(f.Record, record) }

// Records returns the choices of the form.
func (calendarForm) Records() [][2]string {
	return [][2]string{
		{"accepted", "I organize it or have accepted it"}, {"organized", "I organize it"}, {"public", "It is not private"},
		{"external", "Somebody of another organization takes part"}, {"internal", "Only my organization takes part"},
		{"none", "I switch it on"},
	}
}

func formOf(c calendarsync.Calendar) calendarForm {
	form := calendarForm{
		Name: c.Name, Email: strings.Join(append([]string{c.Email}, c.Rules.Aliases...), ","), TitleMatches: c.Rules.TitleMatches,
		MinParticipants: strconv.Itoa(c.Rules.MinParticipants), OptOut: c.Rules.OptOut,
		Invite: c.Rules.Invite, TellOrganizer: strconv.Itoa(c.Rules.TellOrganizer),
	}
	for _, condition := range c.Rules.Conditions(c.Email) {
		form.Record = append(form.Record, string(condition))
	}
	return form
}

func readCalendarForm(form url.Values) calendarForm {
	field := func(name string, longest int) string { return job.Clip(strings.TrimSpace(form.Get(name)), longest) }
	return calendarForm{
		Name: field("name", 200), Address: strings.TrimSpace(form.Get("address")), Email: field("email", 1000), Record: form["record"],
		TitleMatches: field("titleMatches", 200), MinParticipants: form.Get("minParticipants"), OptOut: field("optOut", 50),
		Invite: strings.ToLower(field("invite", 254)), TellOrganizer: form.Get("tellOrganizer"),
	}
}

// rules returns the rules and the owner's address of the form. The error says what is wrong.
func (f calendarForm) rules() (rules calendarsync.Rules, owner string, err error) {
	rules = calendarsync.Rules{
		TitleMatches: f.TitleMatches, OptOut: f.OptOut, Aliases: strings.Fields(strings.ReplaceAll(f.Email, ",", " ")), Invite: f.Invite,
	}
	wrong := slices.ContainsFunc(rules.Aliases, func(address string) bool { return !strings.Contains(address, "@") })
	if len(rules.Aliases) > 0 {
		owner, rules.Aliases = rules.Aliases[0], rules.Aliases[1:]
	}
	for _, choice := range f.Records() {
		if f.Chosen(choice[0]) {
			rules.Record = append(rules.Record, calendarsync.Condition(choice[0]))
		}
	}
	known := len(rules.Record) == len(f.Record)
	switch {
	case len(rules.Record) == 0:
		rules.Record = []calendarsync.Condition{calendarsync.RecordAll}
	case slices.Equal(rules.Record, calendarsync.Rules{}.Conditions("known")): // also if the owner is not
		rules.Record = nil
	}
	var countErr, beforeErr error
	rules.MinParticipants, countErr = strconv.Atoi("0" + strings.TrimSpace(f.MinParticipants))
	rules.TellOrganizer, beforeErr = strconv.Atoi("0" + strings.TrimSpace(f.TellOrganizer))
	var problem string
	switch {
	case !known:
		problem = "Choose which meetings are recorded."
	case f.Name == "":
		problem = "Enter a name."
	case wrong || f.Invite != "" && !strings.Contains(f.Invite, "@"):
		problem = "The email address is not valid."
	case beforeErr != nil || rules.TellOrganizer > 60:
		problem = "The organizer can be told up to 60 minutes before."
	case countErr != nil || rules.MinParticipants > 1000:
		problem = "The number of participants must be between 0 and 1000."
	default:
		return rules, owner, nil
	}
	return rules, owner, job.NewError(job.InvalidInput, problem)
}

func (d *Dashboard) calendarsPage(req *pageRequest) error {
	return d.showCalendars(req, http.StatusOK, calendarsView{Form: newCalendarForm(req.Session)})
}

func newCalendarForm(session account.Session) calendarForm {
	return formOf(calendarsync.Calendar{Email: session.User.Email, Rules: calendarsync.DefaultRules()})
}

func (d *Dashboard) showCalendars(req *pageRequest, status int, shown calendarsView) (err error) {
	shown.Providers = d.Calendars.Providers()
	if shown.Calendars, err = d.Calendars.Calendars(req.Context(), req.as(job.Live)); err != nil {
		return err
	}
	return req.showStatus(status, "calendars", "Calendars", shown)
}

// connectCalendar connects a calendar and reads it at once.
func (d *Dashboard) connectCalendar(req *pageRequest) error {
	form := readCalendarForm(req.PostForm)
	rules, owner, err := form.rules()
	var c calendarsync.Calendar
	if err == nil {
		c, err = d.Calendars.Connect(req.Context(), req.as(job.Live), calendarsync.Connection{
			Name: form.Name, Address: form.Address, Email: owner, Rules: rules, Poll: calendarsync.DefaultPoll,
		})
	}
	if _, problem, ok := req.correct(err); ok {
		return d.showCalendars(req, http.StatusBadRequest, calendarsView{Form: form, Problem: problem})
	}
	return d.readCalendar(req, req.as(job.Live), c.ID, err)
}

// readCalendar reads a calendar and redirects to its page, unless a change failed.
func (d *Dashboard) readCalendar(req *pageRequest, as account.Caller, id uuid.UUID, err error) error {
	if err == nil {
		_, _, err = d.Calendars.SyncNow(req.Context(), as, id)
	}
	return req.redirectAfter(err, "/calendars/"+id.String())
}

func (d *Dashboard) calendarPage(req *pageRequest, c calendarsync.Calendar, as account.Caller) error {
	return d.showCalendar(req, as, http.StatusOK, calendarView{Calendar: c, Form: formOf(c)})
}

func (d *Dashboard) showCalendar(req *pageRequest, as account.Caller, status int, shown calendarView) (err error) {
	now := d.Now()
	shown.CanReopen = slices.Contains(d.Calendars.Providers(), shown.Provider)
	if shown.Events, err = d.Calendars.Events(req.Context(), as, shown.ID, now, now.Add(2*calendarsync.Window)); err != nil {
		return err
	}
	return req.showStatus(status, "calendar", shown.Name, shown)
}

// namedCalendar returns the calendar in the path, and the caller to act as.
func (d *Dashboard) namedCalendar(req *pageRequest) (calendarsync.Calendar, account.Caller, error) {
	return named(req, notFound("There is no such calendar."), req.PathValue("id"), d.Calendars.Calendar, job.Live) // calendars send live bots
}

func (d *Dashboard) changeCalendar(req *pageRequest, c calendarsync.Calendar, as account.Caller) error {
	form := readCalendarForm(req.PostForm)
	rules, owner, err := form.rules()
	patch := calendarsync.Patch{Name: &form.Name, Email: &owner}
	if form.Address != "" {
		patch.Address = &form.Address
	}
	if err == nil {
		patch.Rules, err = json.Marshal(rules)
	}
	return d.patchCalendar(req, c, as, form, patch, err)
}

// patchCalendar changes a calendar and reads it, unless there is an error before.
func (d *Dashboard) patchCalendar(req *pageRequest, c calendarsync.Calendar, as account.Caller, form calendarForm,
	patch calendarsync.Patch, err error) error {
	if err == nil {
		_, err = d.Calendars.Change(req.Context(), as, c.ID, patch)
	}
	if _, problem, ok := req.correct(err); ok {
		return d.showCalendar(req, as, http.StatusBadRequest, calendarView{Calendar: c, Form: form, Problem: problem})
	}
	return d.readCalendar(req, as, c.ID, err)
}

// choicesView is the data of the page that lists the calendars of an account.
type choicesView struct {
	calendarsync.Calendar
	Choices []calendarapi.Listed
}

// choicesPage lists the calendars that the owner of one can choose instead.
func (d *Dashboard) choicesPage(req *pageRequest, c calendarsync.Calendar, as account.Caller) error {
	release, err := req.costlyRead(as.ConsumerID)
	if err != nil {
		return err
	}
	defer release()
	choices, err := d.Calendars.Choices(req.Context(), as, c.ID)
	if refused, ok := errors.AsType[*calendarapi.Error](err); ok {
		return d.showCalendar(req, as, http.StatusBadGateway, calendarView{Calendar: c, Form: formOf(c), Problem: text.Sentence(refused.Reason)})
	}
	return req.showAfter(err, "choices", "Choose a calendar", choicesView{c, choices})
}

// chooseCalendar reads another calendar of the same account.
func (d *Dashboard) chooseCalendar(req *pageRequest, c calendarsync.Calendar, as account.Caller) error {
	chosen := req.PostForm.Get("calendarId")
	return d.patchCalendar(req, c, as, formOf(c), calendarsync.Patch{Access: calendarsync.AccessPatch{CalendarID: &chosen}}, nil)
}

func (d *Dashboard) syncCalendar(req *pageRequest, c calendarsync.Calendar, as account.Caller) error {
	return d.readCalendar(req, as, c.ID, nil)
}

func (d *Dashboard) disconnectCalendar(req *pageRequest, c calendarsync.Calendar, as account.Caller) error {
	return req.redirectAfter(d.Calendars.Disconnect(req.Context(), as, c.ID), "/calendars?note=disconnected")
}

// switchMeeting switches a meeting on or off, or lets the rules decide.
func (d *Dashboard) switchMeeting(req *pageRequest, c calendarsync.Calendar, as account.Caller) error {
	event, err := uuid.Parse(req.PathValue("event"))
	if err != nil {
		return notFound("There is no such meeting.")
	}
	var override *bool
	if choice := req.PostForm.Get("override"); choice != "rules" {
		override = new(choice == "on")
	}
	_, err = d.Calendars.Override(req.Context(), as, c.ID, event, override)
	if job.ErrorIs(err, job.NotFound) {
		return notFound("There is no such meeting.")
	}
	return req.redirectAfter(err, "/calendars/"+c.ID.String())
}
