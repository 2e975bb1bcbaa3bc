package calendarsync_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar/calendarapi"
	"standin/internal/calendar/calendarsync"
	"standin/internal/testing/calendartest"
)

// onEachAPI runs a test with the double of each provider.
func onEachAPI(t *testing.T, test func(t *testing.T, h *harness, p calendarapi.Provider)) {
	t.Helper()
	for _, p := range []calendarapi.Provider{calendarapi.Google, calendarapi.Microsoft} {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			test(t, newSQLiteHarness(t), p)
		})
	}
}

// connectAPI connects the main calendar of the double.
func (h *harness) connectAPI(t *testing.T, p calendarapi.Provider, change func(*calendarsync.Connection)) uuid.UUID {
	t.Helper()
	return h.connect(t, "Ann", func(c *calendarsync.Connection) {
		c.Address, c.Email, c.Access = "", "", calendarapi.Access{Provider: p, RefreshToken: h.apis.RefreshToken()}
		if change != nil {
			change(c)
		}
	})
}

// at returns a time on a day of November 2026 in UTC.
func at(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC) }

const (
	meetLink  = "https://meet.google.com/abc-defg-hij"
	meetLink2 = "https://meet.google.com/xyz-uvwx-rst"
)

func planningEvent(change func(*calendartest.Event)) calendartest.Event {
	e := calendartest.Event{
		ID: "planning", Title: "Planning", Organizer: "bob@example.org", Start: at(27, 9), Conference: meetLink,
		Attendees: map[string]string{calendartest.Owner: "accepted", "bob@example.org": "accepted"},
	}
	if change != nil {
		change(&e)
	}
	return e
}

// TestAPI checks the jobs and the decisions after each change of a calendar, in pages of
// two events.
func TestAPI(t *testing.T) {
	t.Parallel()
	onEachAPI(t, func(t *testing.T, h *harness, p calendarapi.Provider) {
		series := func(n int, change func(*calendartest.Event)) calendartest.Event {
			e := calendartest.Event{
				ID: fmt.Sprintf("weekly_%d", n), UID: "weekly", Series: "weekly", Title: "Weekly", Location: meetLink2,
				Start: at(26, 14).AddDate(0, 0, 7*n), Original: at(26, 14).AddDate(0, 0, 7*n),
			}
			if change != nil {
				change(&e)
			}
			return e
		}
		h.apis.SetPageSize(2)
		h.apis.Set(calendartest.Main,
			planningEvent(nil), series(0, nil), series(1, nil), series(2, nil),
			calendartest.Event{ID: "day", Title: "All day", Start: at(27, 0), End: at(28, 0), AllDay: true, Conference: meetLink},
			calendartest.Event{ID: "lunch", Title: "Lunch", Start: at(27, 11), Location: "Canteen"},
			calendartest.Event{
				ID: "no", Title: "Declined", Start: at(27, 12), Conference: meetLink, Attendees: map[string]string{calendartest.Owner: "declined"},
			},
			calendartest.Event{ID: "private", Title: "Private", Start: at(27, 13), Conference: meetLink, Description: "please #NoBot"},
			calendartest.Event{ID: "over", Title: "Over", Start: at(25, 6), Conference: meetLink},
			calendartest.Event{ID: "far", Title: "Far", Start: at(27, 9).AddDate(0, 2, 0), Conference: meetLink},
		)
		id := h.connectAPI(t, p, nil)
		weekly := []string{"11-26 14:00 xyz-uvwx-rst Weekly", "12-03 14:00 xyz-uvwx-rst Weekly", "12-10 14:00 xyz-uvwx-rst Weekly"}
		check := func(what string, jobs ...string) {
			t.Helper()
			h.sync(t, id)
			slices.Sort(jobs)
			expect(t, what, h.scheduled(t), jobs)
			h.apis.Requests()
			if again := h.sync(t, id); again != (calendarsync.Changes{}) {
				t.Errorf("%s, read again: %+v", what, again)
			}
			if requests := h.apis.Requests(); len(requests) != 1 {
				t.Errorf("%s: an unchanged calendar is read with %q", what, requests)
			}
		}
		check("connected", append(slices.Clone(weekly), "11-27 09:00 abc-defg-hij Planning")...)
		expect(t, "decisions", h.decisions(t, id)[:6], []string{
			"11-26 14:00 Weekly recorded: the calendar records all meetings", map[calendarapi.Provider]string{
				calendarapi.Google:    "11-26 23:00 All day not recorded: it lasts all day",
				calendarapi.Microsoft: "11-27 00:00 All day not recorded: it lasts all day",
			}[p],
			"11-27 09:00 Planning recorded: the calendar records all meetings",
			"11-27 11:00 Lunch not recorded: it has no link to a meeting of a known platform", "11-27 12:00 Declined not recorded: you declined",
			"11-27 13:00 Private not recorded: it says #nobot",
		})
		for _, e := range h.events(t, id) {
			if e.Title == "Planning" && (e.Zone != "Europe/Berlin" || e.Attendees != 2 || e.Response != "accepted" ||
				e.Organizer != "bob@example.org") {
				t.Errorf("the event: %+v", e)
			}
		}
		if c, err := h.Calendar(t.Context(), h.caller, id); err != nil || c.Email != calendartest.Owner || c.Address != p.Title() ||
			strings.Contains(fmt.Sprintf("%+v", c), "refresh-") {
			t.Errorf("the calendar: %+v, %v", c, err)
		}

		h.apis.Set(calendartest.Main, planningEvent(func(e *calendartest.Event) { e.Start, e.Sequence, e.Conference = at(27, 15), 1, meetLink2 }))
		check("moved", append(slices.Clone(weekly), "11-27 15:00 xyz-uvwx-rst Planning")...)
		h.apis.Set(calendartest.Main, series(1, func(e *calendartest.Event) { e.Start = e.Start.Add(2 * time.Hour) }))
		check("an occurrence is moved", weekly[0], "12-03 16:00 xyz-uvwx-rst Weekly", weekly[2], "11-27 15:00 xyz-uvwx-rst Planning")
		h.apis.Delete(calendartest.Main, "weekly_1")
		check("the occurrence is deleted", weekly[0], weekly[2], "11-27 15:00 xyz-uvwx-rst Planning")
		h.apis.Set(calendartest.Main, planningEvent(func(e *calendartest.Event) { e.Start, e.Cancelled = at(27, 15), true }))
		check("cancelled", weekly[0], weekly[2])
		h.apis.Delete(calendartest.Main, "planning", "weekly_0", "weekly_2")
		check("all are deleted")
		h.apis.Set(calendartest.Main, planningEvent(nil))
		h.apis.Forget()
		check("the position is no longer known", "11-27 09:00 abc-defg-hij Planning")

		h.pass(33 * 24 * time.Hour)
		h.sync(t, id)
		if events := h.events(t, id); len(events) != 1 || events[0].Title != "Far" {
			t.Errorf("after a month: %+v", events)
		}
	})
}

// TestAPIRules checks that rules know the owner, and that another calendar of the owner
// can be chosen.
func TestAPIRules(t *testing.T) {
	t.Parallel()
	onEachAPI(t, func(t *testing.T, h *harness, p calendarapi.Provider) {
		h.apis.Set(calendartest.Main, planningEvent(nil))
		h.apis.Set("team", planningEvent(func(e *calendartest.Event) {
			e.ID, e.Title, e.Conference, e.Attendees = "retro", "Retro", meetLink2, map[string]string{calendartest.Owner: "needsAction"}
		}))
		rules := calendarsync.DefaultRules()
		main := h.connectAPI(t, p, func(c *calendarsync.Connection) { c.Rules = rules })
		team := h.connectAPI(t, p, func(c *calendarsync.Connection) {
			c.Rules, c.Email, c.Access.CalendarID = rules, calendartest.Owner, "team"
		})
		h.sync(t, main)
		h.sync(t, team)
		expect(t, "main", h.decisions(t, main), []string{"11-27 09:00 Planning recorded: you have accepted it"})
		expect(t, "team", h.decisions(t, team), []string{"11-27 09:00 Retro not recorded: you have not accepted it"})
		other := "nothing"
		if _, err := h.Change(t.Context(), h.caller, team, calendarsync.Patch{Access: calendarsync.AccessPatch{CalendarID: &other}}); err != nil {
			t.Fatal(err)
		}
		if c, _, err := h.SyncNow(t.Context(), h.caller, team); err != nil || c.State != calendarsync.Failing ||
			!strings.Contains(c.Error, "has no calendar with this ID") {
			t.Errorf("another calendar: %v, %s: %s", err, c.State, c.Error)
		}
	})
}

// TestAPIOwner checks the default rules: what the owner has declined, accepted or organizes
// counts at Google also under an alias, and the titles of private meetings are not read.
func TestAPIOwner(t *testing.T) {
	t.Parallel()
	const alias = "a.lovelace@example.org"
	onEachAPI(t, func(t *testing.T, h *harness, p calendarapi.Provider) {
		events := []calendartest.Event{
			{ID: "1", Title: "Declined", Attendees: map[string]string{alias: "declined"}},
			{ID: "2", Title: "Accepted", Attendees: map[string]string{alias: "accepted"}},
			{ID: "3", Title: "Organized", Organizer: alias},
			{ID: "4", Title: "Ignored", Attendees: map[string]string{alias: "needsAction"}},
			{ID: "5", Title: "Secret", Organizer: alias, Private: true},
		}
		want := []string{
			"11-27 01:00 Declined not recorded: you declined", "11-27 02:00 Accepted recorded: you have accepted it",
			"11-27 03:00 Organized recorded: you organize it", "11-27 04:00 Ignored not recorded: you have not accepted it",
			"11-27 05:00  not recorded: it is private",
		}
		for n := range events {
			events[n].Alias, events[n].Start, events[n].Conference = alias, at(27, n+1), meetLink
		}
		h.apis.Set(calendartest.Main, events...)
		id := h.connectAPI(t, p, func(c *calendarsync.Connection) {
			c.Rules = calendarsync.DefaultRules()
			if p == calendarapi.Microsoft { // which does not say who the owner is
				c.Rules.Aliases = []string{alias}
			}
		})
		h.sync(t, id)
		expect(t, "decisions", h.decisions(t, id), want)
	})
}

// TestUnreportedDeletion checks that a meeting whose deletion the delta of Microsoft Graph does
// not report loses its bot after a notification and before it starts.
func TestUnreportedDeletion(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(h *harness, id uuid.UUID) error{
		"notification": func(h *harness, id uuid.UUID) error {
			h.pass(20 * time.Second)
			return h.Notify(t.Context(), id, false)
		},
		"poll": func(h *harness, _ uuid.UUID) error {
			h.pass(2 * time.Hour)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newSQLiteHarness(t)
			h.apis.Set(calendartest.Main, planningEvent(func(e *calendartest.Event) { e.Start = at(26, 11) }),
				planningEvent(func(e *calendartest.Event) { e.ID, e.Start = "retro", at(26, 10) }))
			id := h.connectAPI(t, calendarapi.Microsoft, nil)
			h.sync(t, id)
			if again := h.sync(t, id); again != (calendarsync.Changes{}) {
				t.Errorf("read again: %+v", again)
			}
			h.apis.Vanish(calendartest.Main, "planning")
			if err := next(h, id); err != nil || !h.RunNext(t.Context()) {
				t.Fatalf("the calendar is not due: %v", err)
			}
			expect(t, "jobs", h.scheduled(t), []string{"11-26 10:00 abc-defg-hij Planning"})
		})
	}
}

// TestAPIFaults checks that jobs stay while a calendar cannot be read, that the calendar
// says why, and that it is read again after the pause that the provider asks for.
func TestAPIFaults(t *testing.T) {
	t.Parallel()
	onEachAPI(t, func(t *testing.T, h *harness, p calendarapi.Provider) {
		h.apis.Set(calendartest.Main, planningEvent(nil))
		id := h.connectAPI(t, p, nil)
		h.sync(t, id)
		for _, test := range []struct {
			status           int
			body, retryAfter string
			reason           string
			atLeast          time.Duration
		}{
			{http.StatusTooManyRequests, "{}", "1200", "accepts no more requests for a while", 20 * time.Minute},
			{http.StatusForbidden, `{"error":{"code":403,"errors":[{"domain":"usageLimits","reason":"userRateLimitExceeded"}]}}`, "", "accepts no more requests for a while", time.Minute},
			{http.StatusForbidden, limited("dailyLimitExceeded"), "", "accepts no more requests for a while", time.Minute},
			{http.StatusForbidden, limited("calendarUsageLimitsExceeded"), "", "accepts no more requests for a while", time.Minute},
			{http.StatusForbidden, limited("accessNotConfigured"), "", "its operator must enable it", time.Minute},
			{http.StatusForbidden, `{"error":{"code":"ErrorAccessDenied","message":"x"}}`, "", "does not permit to read this calendar", time.Minute},
			{http.StatusServiceUnavailable, "busy", "90000", "responded with 503", time.Hour},
			{http.StatusOK, "<html>", "", "a response that cannot be read", time.Minute},
			{http.StatusInternalServerError, strings.Repeat("x", 1<<20), "", "responded with 500", time.Minute},
		} {
			h.apis.Fail(1, test.status, test.body, test.retryAfter)
			c, _, err := h.SyncNow(t.Context(), h.caller, id)
			if err != nil || c.State != calendarsync.Failing || !strings.Contains(c.Error, test.reason) ||
				c.DueAt.Before(h.time().Add(test.atLeast)) {
				t.Errorf("%d: %v, the calendar is %s until %s: %s", test.status, err, c.State, c.DueAt, c.Error)
			}
			expect(t, "jobs", h.scheduled(t), []string{"11-27 09:00 abc-defg-hij Planning"})
		}
		h.apis.Set(calendartest.Main, planningEvent(func(e *calendartest.Event) { e.Start = at(27, 15) }))
		h.apis.ExpireAccess()
		h.sync(t, id)
		expect(t, "jobs", h.scheduled(t), []string{"11-27 15:00 abc-defg-hij Planning"})
	})
}

// TestAPIRevoked checks that a calendar whose owner has withdrawn the permission says so,
// is tried once a day, has no bots, and is read again with a new permission.
func TestAPIRevoked(t *testing.T) {
	t.Parallel()
	onEachAPI(t, func(t *testing.T, h *harness, p calendarapi.Provider) {
		h.apis.Set(calendartest.Main, planningEvent(func(e *calendartest.Event) { e.Start = at(30, 9) }))
		id := h.connectAPI(t, p, nil)
		h.sync(t, id)
		h.apis.Revoke()
		h.pass(calendarsync.MaxPoll)
		h.apis.Requests()
		reads := 0
		for range 2 * 24 * 6 {
			for h.RunNext(t.Context()) {
				reads++
			}
			h.pass(10 * time.Minute)
		}
		if reads != 2 || len(h.apis.Requests()) > 3 { // one more with the access token that was valid
			t.Errorf("a calendar that may not be read was read %d times in two days", reads)
		}
		c, err := h.Calendar(t.Context(), h.caller, id)
		if err != nil || c.State != calendarsync.Revoked || !strings.Contains(c.Error, "connect the calendar again") {
			t.Errorf("the calendar is %s: %s, %v", c.State, c.Error, err)
		}
		expect(t, "jobs without permission", h.scheduled(t), nil)
		expect(t, "decisions", h.decisions(t, id),
			[]string{"11-30 09:00 Planning not recorded: the owner has withdrawn the permission to read the calendar"})
		token := h.apis.RefreshToken()
		if _, err := h.Change(t.Context(), h.caller, id, calendarsync.Patch{Access: calendarsync.AccessPatch{RefreshToken: &token}}); err != nil {
			t.Fatal(err)
		}
		if !h.RunNext(t.Context()) {
			t.Error("the calendar is not due")
		}
		if c, err = h.Calendar(t.Context(), h.caller, id); err != nil || c.State != calendarsync.Active || c.Error != "" {
			t.Errorf("the calendar is %s: %s, %v", c.State, c.Error, err)
		}
		expect(t, "jobs with permission", h.scheduled(t), []string{"11-30 09:00 abc-defg-hij Planning"})
	})
}

// TestAPITokens checks that a replaced refresh token is stored, and that an access token
// is used until it expires.
func TestAPITokens(t *testing.T) {
	t.Parallel()
	onEachAPI(t, func(t *testing.T, h *harness, p calendarapi.Provider) {
		h.apis.Set(calendartest.Main, planningEvent(nil))
		h.apis.Rotate()
		id := h.connectAPI(t, p, nil)
		for range 3 {
			h.restart(t)
			h.sync(t, id)
			h.apis.ExpireAccess()
			h.sync(t, id)
			h.sync(t, id)
		}
		tokens := 0
		for _, request := range h.apis.Requests() {
			if strings.HasSuffix(request, "/token") {
				tokens++
			}
		}
		if tokens != 6 {
			t.Errorf("%d access tokens were requested", tokens)
		}
		for _, one := range []struct {
			change func(*calendarapi.Access)
			reason string
		}{
			{func(a *calendarapi.Access) { a.ClientID, a.ClientSecret = "another", "secret" }, "does not accept the OAuth client"},
			{func(a *calendarapi.Access) {
				a.ClientID, a.ClientSecret = calendartest.ClientID, calendartest.ClientSecret
			}, ""},
		} {
			id := h.connectAPI(t, p, func(c *calendarsync.Connection) { one.change(&c.Access) })
			if c, _, err := h.SyncNow(t.Context(), h.caller, id); err != nil || !strings.Contains(c.Error, one.reason) ||
				(one.reason == "") != (c.State == calendarsync.Active) {
				t.Errorf("%s: %v, %s: %s", one.reason, err, c.State, c.Error)
			}
		}
	})
}

// TestAPIWatch checks that providers tell about changes, that watches are renewed and
// ended, and that nobody else can make a calendar due.
func TestAPIWatch(t *testing.T) {
	t.Parallel()
	onEachAPI(t, func(t *testing.T, h *harness, p calendarapi.Provider) {
		h.apis.Set(calendartest.Main, planningEvent(nil))
		id := h.connectAPI(t, p, nil)
		h.sync(t, id)
		watches := h.apis.Watches()
		var secret string
		for _, address := range watches { // the only one
			secret, _ = strings.CutPrefix(address, "https://standin.test/webhooks/calendars/"+id.String()+"/")
		}
		if len(watches) != 1 || !h.IsNotifySecret(id, secret) || h.IsNotifySecret(id, "guessed") || h.IsNotifySecret(uuid.New(), secret) {
			t.Fatalf("watches %+v", watches)
		}
		h.apis.Set(calendartest.Main, planningEvent(func(e *calendartest.Event) { e.Start = at(27, 15) }))
		h.pass(20 * time.Second)
		if err := h.Notify(t.Context(), id, false); err != nil || !h.RunNext(t.Context()) || h.RunNext(t.Context()) {
			t.Errorf("a notification: %v", err)
		}
		expect(t, "jobs", h.scheduled(t), []string{"11-27 15:00 abc-defg-hij Planning"})

		h.pass(20 * time.Second)
		h.apis.Requests()
		if err := h.Notify(t.Context(), id, true); err != nil || !h.RunNext(t.Context()) {
			t.Errorf("a lapsed watch: %v", err)
		}
		renewed := slices.ContainsFunc(h.apis.Requests(), func(r string) bool {
			return strings.HasPrefix(r, "PATCH ") || strings.HasSuffix(r, "/watch")
		})
		if !renewed || len(h.apis.Watches()) != 1 {
			t.Errorf("the watch was not renewed: %+v", h.apis.Watches())
		}
		if err := h.Disconnect(t.Context(), h.caller, id); err != nil {
			t.Fatal(err)
		}
		for h.RunNext(t.Context()) {
		}
		if left := h.apis.Watches(); len(left) != 0 {
			t.Errorf("watches after the calendar was disconnected: %+v", left)
		}
	})
}

// TestLastMoment checks that a calendar is read shortly before a meeting, also if it is
// not due, so that a move at the last moment is followed.
func TestLastMoment(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	h.set("/ann.ics", planning+"DTSTART:20261126T080700Z|DURATION:PT1H|"+meet)
	id := h.connect(t, "/ann.ics", func(c *calendarsync.Connection) { c.Poll = calendarsync.MaxPoll })
	h.sync(t, id)
	h.pass(6 * time.Minute)
	if h.RunNext(t.Context()) {
		t.Error("the calendar is read a minute before the meeting")
	}
	h.set("/ann.ics", planning+"SEQUENCE:1|DTSTART:20261126T090000Z|DURATION:PT1H|"+meet)
	h.pass(30 * time.Second)
	if !h.RunNext(t.Context()) || h.RunNext(t.Context()) {
		t.Error("the calendar is not read once shortly before the meeting")
	}
	expect(t, "jobs", h.scheduled(t), []string{"11-26 09:00 abc-defg-hij Planning"})
}

// limited is Google's error with a reason.
func limited(reason string) string {
	return `{"error":{"code":403,"errors":[{"domain":"usageLimits","reason":"` + reason + `"}]}}`
}

// TestInvite checks that an account is added once to the meetings that get a bot and that the owner organizes, that the other
// guests stay, that a person can remove it, and that a missing permission is told while the calendar is still read.
func TestInvite(t *testing.T) {
	t.Parallel()
	const bot = "recorder@example.test"
	onEachAPI(t, func(t *testing.T, h *harness, p calendarapi.Provider) {
		own := func(e *calendartest.Event) { e.Organizer = calendartest.Owner }
		h.apis.Set(calendartest.Main,
			planningEvent(own), planningEvent(func(e *calendartest.Event) { e.ID, e.UID = "other", "other" }),
			planningEvent(func(e *calendartest.Event) { own(e); e.ID, e.UID, e.Conference = "lunch", "lunch", "" }),
			planningEvent(func(e *calendartest.Event) { own(e); e.ID, e.UID, e.Start = "far", "far", at(30, 9) }),
		)
		guests := []string{calendartest.Owner, "bob@example.org"}
		id := h.connectAPI(t, p, func(c *calendarsync.Connection) { c.Rules.Invite = bot })
		h.sync(t, id)
		h.sync(t, id)
		for _, event := range []string{"other", "lunch", "far"} {
			expect(t, "guests of "+event, h.apis.Guests(event), guests)
		}
		invited := append(slices.Clone(guests), bot)
		expect(t, "guests", h.apis.Guests("planning"), invited)
		h.sync(t, id)
		expect(t, "guests after another sync", h.apis.Guests("planning"), invited)
		h.apis.Set(calendartest.Main, planningEvent(own))
		h.sync(t, id)
		expect(t, "guests after a person has removed the account", h.apis.Guests("planning"), guests)

		h.apis.Set(calendartest.Main, planningEvent(func(e *calendartest.Event) { own(e); e.ID, e.UID, e.Start = "next", "next", at(27, 15) }))
		h.apis.FailPatch()
		h.sync(t, id)
		c, err := h.Calendar(t.Context(), h.caller, id)
		if err != nil || c.State != calendarsync.Active || !strings.HasPrefix(c.Error, "The account "+bot+" cannot be added to meetings: ") {
			t.Errorf("without permission the calendar is %s: %q, %v", c.State, c.Error, err)
		}
		if jobs := h.scheduled(t); !slices.ContainsFunc(jobs, func(job string) bool { return strings.HasPrefix(job, "11-27 15:00") }) {
			t.Errorf("without permission to add guests, the jobs are %q", jobs)
		}
	})
}
