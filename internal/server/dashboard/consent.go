package dashboard

import (
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"golang.org/x/oauth2"

	"standin/internal/base/text"
	"standin/internal/calendar/calendarapi"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
)

const (
	consentCookie   = "standin_calendar"
	consentLifetime = 30 * time.Minute // of a visit at the provider
	maxConsent      = 3500             // bytes of the cookie
)

// consentState is stored in a cookie while a user gives permission at a provider to read
// a calendar. The callback must match it.
type consentState struct {
	State    string               `json:"state"`    // prevents forged callbacks
	Verifier string               `json:"verifier"` // prevents stolen codes (RFC 7636)
	Provider calendarapi.Provider `json:"provider"`
	Calendar string               `json:"calendar"` // to connect again; empty for a new one
	Form     calendarForm         `json:"form"`     // of a new one
}

// consentView is the data of the page that leads to the provider.
type consentView struct{ Title, URL string }

// askConsent leads to the page of a provider on which the user permits to read a
// calendar. It does not redirect: policy keeps forms on this site, also by redirects.
func (d *Dashboard) askConsent(req *pageRequest) error {
	form := req.PostForm
	state := consentState{
		State: rand.Text(), Verifier: oauth2.GenerateVerifier(), Provider: calendarapi.Provider(form.Get("provider")),
		Calendar: form.Get("calendar"),
	}
	if !slices.Contains(d.Calendars.Providers(), state.Provider) {
		return notFound("Calendars of this provider cannot be connected here.")
	}
	if state.Calendar == "" {
		state.Form = readCalendarForm(form)
		state.Form.Email = "" // the provider knows it
		_, _, err := state.Form.rules()
		if _, problem, ok := req.correct(err); ok {
			return d.showCalendars(req, http.StatusBadRequest, calendarsView{Form: state.Form, Problem: problem})
		}
	}
	value := d.sealState(consentCookie, req.Hash, state)
	if len(value) > maxConsent {
		return d.showCalendars(req, http.StatusBadRequest, calendarsView{
			Form: state.Form, Problem: "Shorten the name or the pattern for titles.",
		})
	}
	req.setCookie(consentCookie, value, consentLifetime)
	address := d.Calendars.ConsentURL(state.Provider, state.State, state.Verifier, state.Form.Invite != "")
	req.Header().Set("Refresh", "0; url="+address)
	return req.show("consent", "Connect a calendar", consentView{state.Provider.Title(), address})
}

// finishConsent connects the calendar for which a user has given permission.
func (d *Dashboard) finishConsent(req *pageRequest) error {
	var state consentState
	if !req.takeState(consentCookie, req.Hash, &state, &state.State) {
		return &pageError{http.StatusBadRequest, "This connection was not started in this browser, or it expired. Connect the calendar again."}
	}
	code := req.URL.Query().Get("code")
	if code == "" {
		return d.refuseConsent(req, state, state.Provider.Title()+" gave no permission, so the calendar is not connected.")
	}
	refreshToken, err := d.Calendars.Exchange(req.Context(), state.Provider, code, state.Verifier)
	if refused, ok := errors.AsType[*calendarapi.Error](err); ok {
		return d.refuseConsent(req, state, refused.Reason)
	}
	if err != nil {
		return err
	}
	calendars, as, none := d.Calendars, req.as(job.Live), ""
	var c calendarsync.Calendar
	if state.Calendar == "" {
		var rules calendarsync.Rules
		if rules, _, err = state.Form.rules(); err == nil {
			c, err = calendars.Connect(req.Context(), as, calendarsync.Connection{
				Name: state.Form.Name, Email: state.Form.Email, Rules: rules, Poll: calendarsync.DefaultPoll,
				Access: calendarapi.Access{Provider: state.Provider, RefreshToken: refreshToken},
			})
		}
	} else {
		id, parseErr := uuid.Parse(state.Calendar)
		if parseErr != nil {
			return notFound("There is no such calendar.")
		}
		c, err = calendars.Change(req.Context(), as, id, calendarsync.Patch{Access: calendarsync.AccessPatch{
			RefreshToken: &refreshToken, ClientID: &none, ClientSecret: &none, Tenant: &none, // of the service's own client
		}})
	}
	if _, problem, ok := req.correct(err); ok {
		return d.refuseConsent(req, state, problem)
	}
	return d.readCalendar(req, as, c.ID, err)
}

// refuseConsent shows why a calendar is not connected.
func (d *Dashboard) refuseConsent(req *pageRequest, state consentState, problem string) error {
	form := newCalendarForm(req.Session)
	if state.Calendar == "" {
		state.Form.Email = form.Email
		form = state.Form
	}
	return d.showCalendars(req, http.StatusBadRequest, calendarsView{Form: form, Problem: text.Sentence(problem)})
}
