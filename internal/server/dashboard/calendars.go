package dashboard

import (
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
	Name            string `json:"name"`
	Address         string `json:"-"` // of a feed
	Email           string `json:"email"`
	Record          string `json:"record"`
	TitleMatches    string `json:"titleMatches"`
	MinParticipants string `json:"minParticipants"`
	OptOut          string `json:"optOut"`
}

// Records returns the choices of the form.
func (calendarForm) Records() [][2]string {
	return [][2]string{
		{"all", "All meetings"}, {"external", "With somebody of another organization"}, {"internal", "Only with my organization"},
		{"organized", "That I organize"}, {"accepted", "That I organize or have accepted"}, {"none", "Only those that I switch on"},
	}
}

func formOf(c calendarsync.Calendar) calendarForm {
	return calendarForm{
		Name: c.Name, Email: c.Email, Record: string(c.Rules.Record), TitleMatches: c.Rules.TitleMatches,
		MinParticipants: strconv.Itoa(c.Rules.MinParticipants), OptOut: c.Rules.OptOut,
	}
}

func readCalendarForm(form url.Values) calendarForm {
	field := func(name string, longest int) string { return job.Clip(strings.TrimSpace(form.Get(name)), longest) }
	return calendarForm{
		Name: field("name", 200), Address: strings.TrimSpace(form.Get("address")), Email: field("email", 254), Record: form.Get("record"),
		TitleMatches: field("titleMatches", 200), MinParticipants: form.Get("minParticipants"), OptOut: field("optOut", 50),
	}
}

// rules returns the rules of the form, or a sentence that says what is wrong.
func (f calendarForm) rules() (calendarsync.Rules, string) {
	rules := calendarsync.Rules{Record: calendarsync.Record(f.Record), TitleMatches: f.TitleMatches, OptOut: f.OptOut}
	known := slices.ContainsFunc(f.Records(), func(choice [2]string) bool { return choice[0] == f.Record })
	n, err := strconv.Atoi("0" + strings.TrimSpace(f.MinParticipants))
	switch {
	case !known:
		return rules, "Choose which meetings are recorded."
	case f.Name == "":
		return rules, "Enter a name."
	case f.Email != "" && !strings.Contains(f.Email, "@"):
		return rules, "The email address is not valid."
	case err != nil || n > 1000:
		return rules, "The number of participants must be between 0 and 1000."
	}
	rules.MinParticipants = n
	return rules, ""
}

func (d *Dashboard) calendarsPage(req *pageRequest) error {
	return d.showCalendars(req, http.StatusOK, calendarsView{Form: newCalendarForm(req.Session)})
}

func newCalendarForm(session account.Session) calendarForm {
	rules := calendarsync.DefaultRules()
	return calendarForm{Email: session.User.Email, Record: string(rules.Record), MinParticipants: "0", OptOut: rules.OptOut}
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
	rules, problem := form.rules()
	var c calendarsync.Calendar
	if problem == "" {
		var err error
		c, err = d.Calendars.Connect(req.Context(), req.as(job.Live), calendarsync.Connection{
			Name: form.Name, Address: form.Address, Email: form.Email, Rules: rules, Poll: calendarsync.DefaultPoll,
		})
		if problem, err = calendarProblem(err); err != nil {
			return err
		}
	}
	if problem != "" {
		return d.showCalendars(req, http.StatusBadRequest, calendarsView{Form: form, Problem: problem})
	}
	return d.readCalendar(req, req.as(job.Live), c.ID)
}

// calendarProblem returns what a user can correct, as a sentence, or the error.
func calendarProblem(err error) (string, error) {
	refused, ok := errors.AsType[*job.Error](err)
	if !ok || refused.Code != job.InvalidInput && refused.Code != job.InvalidState {
		return "", err
	}
	return text.Sentence(refused.Message), nil
}

// readCalendar reads a calendar and redirects to its page.
func (d *Dashboard) readCalendar(req *pageRequest, as account.Caller, id uuid.UUID) error {
	if _, _, err := d.Calendars.SyncNow(req.Context(), as, id); err != nil {
		return err
	}
	return req.redirect("/calendars/" + id.String())
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
	rules, problem := form.rules()
	if problem == "" {
		patch := calendarsync.Patch{
			Name: &form.Name, Email: &form.Email, Record: &rules.Record, TitleMatches: &rules.TitleMatches, MinParticipants: &rules.MinParticipants,
			OptOut: &rules.OptOut,
		}
		if form.Address != "" {
			patch.Address = &form.Address
		}
		_, err := d.Calendars.Change(req.Context(), as, c.ID, patch)
		if problem, err = calendarProblem(err); err != nil {
			return err
		}
	}
	if problem != "" {
		return d.showCalendar(req, as, http.StatusBadRequest, calendarView{Calendar: c, Form: form, Problem: problem})
	}
	return d.readCalendar(req, as, c.ID)
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
	if err != nil {
		return err
	}
	return req.showStatus(http.StatusOK, "choices", "Choose a calendar", choicesView{c, choices})
}

// chooseCalendar reads another calendar of the same account.
func (d *Dashboard) chooseCalendar(req *pageRequest, c calendarsync.Calendar, as account.Caller) error {
	chosen := req.PostForm.Get("calendarId")
	_, err := d.Calendars.Change(req.Context(), as, c.ID, calendarsync.Patch{Access: calendarsync.AccessPatch{CalendarID: &chosen}})
	problem, err := calendarProblem(err)
	if err != nil {
		return err
	}
	if problem != "" {
		return d.showCalendar(req, as, http.StatusBadRequest, calendarView{Calendar: c, Form: formOf(c), Problem: problem})
	}
	return d.readCalendar(req, as, c.ID)
}

func (d *Dashboard) syncCalendar(req *pageRequest, c calendarsync.Calendar, as account.Caller) error {
	return d.readCalendar(req, as, c.ID)
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
		on := choice == "on"
		override = &on
	}
	_, err = d.Calendars.Override(req.Context(), as, c.ID, event, override)
	if job.ErrorIs(err, job.NotFound) {
		return notFound("There is no such meeting.")
	}
	return req.redirectAfter(err, "/calendars/"+c.ID.String())
}
