package dashboard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestCalendars checks that a user connects a calendar, sees why a bot comes or not, and
// switches it; that errors say what to do; and that others see nothing of it.
func TestCalendars(t *testing.T) {
	t.Parallel()
	feed := calendarFeed(t)
	h := newHarness(t)
	h.ada()
	h.otherUser()
	ada, bob := h.signedIn("ada@example.test"), h.signedIn("bob@example.test")
	form := func(more ...string) url.Values {
		values := url.Values{
			"name": {"Ada"}, "address": {feed + "/secret.ics"}, "email": {"ada@example.test"}, "record": {"external"}, "minParticipants": {"0"},
			"optOut": {"#nobot"},
		}
		for i := 0; i < len(more); i += 2 {
			values.Set(more[i], more[i+1])
		}
		return values
	}
	for problem, values := range map[string]url.Values{
		"Enter a name.": form("name", " "), "The address must be an https, http or webcal URL with a host.": form("address", "calendar"),
		"The rule “external” needs the email address of the calendar": form("email",
			""), "The email address is not valid.": form("email", "ada@example.test, bob"),
		"The pattern for titles is not a regular expression.": form("titleMatches", "("),
		"The number of participants must be between":          form("minParticipants", "1001"), "Choose which meetings are recorded.": form("record",
			"some"),
	} {
		ada.submit("/calendars", "/calendars", values).want(t, problem, http.StatusBadRequest, problem)
	}
	got := ada.submit("/calendars", "/calendars", form())
	page := got.header.Get("Location")
	if got.status != http.StatusSeeOther || !strings.HasPrefix(page, "/calendars/") {
		t.Fatalf("connect: %d %s", got.status, got.body)
	}
	body := ada.get(page).body
	for _, want := range []string{
		"Review &lt;script&gt;alert(1)", "recorded: somebody of another organization takes part",
		"not recorded: it has no link to a meeting of a known platform", `<span class="badge good">active</span>`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q: %s", want, body)
		}
	}
	if strings.Contains(body, "secret.ics") || strings.Contains(body, "<script>alert") {
		t.Errorf("the page shows the secret, or a script: %s", body)
	}
	event := regexp.MustCompile(page + `/events/[0-9a-f-]{36}`).FindString(body)
	for _, one := range [][2]string{
		{"off", "not recorded: it was switched off"}, {"on", "recorded: it was switched on"},
		{"rules", "recorded: somebody of another organization takes part"},
	} {
		ada.submit(page, event, url.Values{"override": {one[0]}})
		if body := ada.get(page).body; !strings.Contains(body, one[1]) {
			t.Errorf("switched %s: %s", one[0], body)
		}
	}
	jobPage := regexp.MustCompile(`/jobs/[0-9a-f-]{36}`).FindString(ada.get(page).body)
	ada.get(jobPage).want(t, "the page of the job does not say who asked for it", http.StatusOK, "<dt>Asked for by</dt><dd>iCal address</dd>")
	ada.submit(page, page, form("record", "organized", "address", feed+"/gone.ics")).want(t, "change", http.StatusSeeOther)
	ada.get(page).want(t, "a calendar that cannot be read", http.StatusOK, "There is no calendar at this address (404)",
		`<span class="badge bad">failing</span>`)
	both := form("email", "bob@example.com, bob@example.org")
	both["record"] = []string{"accepted", "external"}
	ada.submit(page, page, both)
	ada.get(page).want(t, "other rules", http.StatusOK, "not recorded: nobody of another organization takes part",
		`value="external" checked`, `value="bob@example.com,bob@example.org"`)
	ada.submit(page, page, url.Values{"name": {"Ada"}, "record": {"accepted", "public"}})
	ada.get(page).want(t, "the default without an address", http.StatusOK, "because the email address of its owner is unknown")
	ada.submit(page, page, url.Values{"name": {"Ada"}})
	ada.get(page).want(t, "no conditions", http.StatusOK, "recorded: the calendar records all meetings<")

	bob.get(page).want(t, "another consumer reads the calendar", http.StatusNotFound)
	for _, path := range []string{page, page + "/sync", page + "/disconnect", event} {
		bob.submit("/calendars", path, form("override", "on")).want(t, "another consumer posts to "+path, http.StatusNotFound)
	}
	if got := ada.submit(page, page+"/disconnect", nil); got.header.Get("Location") != "/calendars?note=disconnected" ||
		ada.get(page).status != http.StatusNotFound {
		t.Errorf("disconnect: %d", got.status)
	}
}

// TestCalendarBudget reads a calendar more often at a time than a team may.
func TestCalendarBudget(t *testing.T) {
	t.Parallel()
	arrive := make(chan struct{})
	feed := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-arrive }))
	t.Cleanup(feed.Close)
	h := newHarness(t)
	h.ada()
	ada := h.signedIn("ada@example.test")
	form := url.Values{
		"name": {"Ada"}, "address": {feed.URL}, "minParticipants": {"0"}, "token": {ada.token("/calendars")},
	}
	responses := make(chan answered, 6)
	for range cap(responses) {
		go func() { responses <- ada.post("/calendars", form) }()
	}
	refused := <-responses
	refused.want(t, "one too many", http.StatusTooManyRequests, "Too many requests. Try again in 5 seconds.")
	if wait := refused.header.Get("Retry-After"); wait != "5" {
		t.Errorf("Retry-After: %q", wait)
	}
	close(arrive)
	for range cap(responses) - 1 {
		(<-responses).want(t, "one of those that waited", http.StatusSeeOther)
	}
}

// calendarFeed serves a calendar at /secret.ics, with a meeting that has a hostile title
// and one without a link, and returns the URL of the server.
func calendarFeed(t *testing.T) string {
	t.Helper()
	start := time.Now().Add(48 * time.Hour).UTC()
	feed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/secret.ics" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, "BEGIN:VCALENDAR\r\n")
		for n, title := range []string{"Review <script>alert(1)</script>", "Lunch"} {
			fmt.Fprintf(w, "BEGIN:VEVENT\r\nUID:%d\r\nSUMMARY:%s\r\nDTSTART:%s\r\nDURATION:PT1H\r\n", n, title, start.Format("20060102T150405Z"))
			if n == 0 {
				fmt.Fprint(w, "LOCATION:https://meet.google.com/abc-defg-hij\r\nORGANIZER:mailto:bob@example.org\r\n")
			}
			fmt.Fprint(w, "END:VEVENT\r\n")
		}
		fmt.Fprint(w, "END:VCALENDAR\r\n")
	}))
	t.Cleanup(feed.Close)
	return feed.URL
}
