package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"standin/internal/server/service"
	"standin/internal/testing/calendartest"
)

// newConsentHarness starts a service with the doubles of Google and Microsoft, whose main
// calendar has a meeting.
func newConsentHarness(t *testing.T) (*harness, *calendartest.Server) {
	t.Helper()
	double := calendartest.New(t)
	start := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Minute)
	double.Set(calendartest.Main, calendartest.Event{
		ID: "review", Title: "Review", Start: start, Organizer: "bob@example.org", Conference: "https://meet.google.com/abc-defg-hij",
		Attendees: map[string]string{calendartest.Owner: "accepted"},
	})
	double.Set("team", calendartest.Event{ID: "retro", Title: "Retro", Start: start})
	return newHarness(t, func(s *service.Settings) { s.Calendars = double.Settings() }), double
}

// consent submits a form that leads to a provider, answers there, and returns the path to
// which the provider sends the user.
func consent(t *testing.T, who *person, from, answer string, form url.Values) string {
	t.Helper()
	got := who.submit(from, "/calendars/consent", form)
	address, found := strings.CutPrefix(got.header.Get("Refresh"), "0; url=")
	if got.status != http.StatusOK || !found || !strings.Contains(got.body, "Continue to ") {
		t.Fatalf("%d, Refresh %q: %s", got.status, got.header.Get("Refresh"), got.body)
	}
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	fields := parsed.Query()
	fields.Set("answer", answer)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(fields.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	path, found := strings.CutPrefix(response.Header.Get("Location"), who.BaseURL())
	if !found {
		t.Fatalf("the provider sends the user to %q", response.Header.Get("Location"))
	}
	return path
}

// TestConsent checks that a user connects a calendar by giving permission at a provider,
// and connects it again after the permission was withdrawn; and that nobody can connect a
// calendar to a user who has not asked for it.
func TestConsent(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"google", "microsoft"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			h, double := newConsentHarness(t)
			h.ada()
			h.otherUser()
			ada, bob := h.signedIn("ada@example.test"), h.signedIn("bob@example.test")
			form := url.Values{"provider": {provider}, "name": {"Ada"}, "record": {"accepted"}, "minParticipants": {"0"}, "optOut": {"#nobot"}}

			ada.get(consent(t, ada, "/calendars", "deny", form)).want(t, "denied", http.StatusBadRequest, "gave no permission")
			callback := consent(t, ada, "/calendars", "allow", form)
			bob.get(callback).want(t, "a callback for somebody else", http.StatusBadRequest, "not started in this browser")
			address, err := url.Parse(h.BaseURL())
			if err != nil {
				t.Fatal(err)
			}
			mallory := h.signedIn("bob@example.test")
			for _, cookie := range ada.http.Jar.Cookies(address) {
				if strings.HasSuffix(cookie.Name, "standin_calendar") {
					mallory.http.Jar.SetCookies(address, []*http.Cookie{cookie})
				}
			}
			mallory.get(callback).want(t, "a callback with the state of another session", http.StatusBadRequest, "not started in this browser")
			got := ada.get(callback)
			page := got.header.Get("Location")
			if got.status != http.StatusSeeOther || !strings.HasPrefix(page, "/calendars/") {
				t.Fatalf("the callback: %d %s", got.status, got.body)
			}
			if body := ada.get(page).body; !strings.Contains(body, "recorded: you have accepted it") ||
				!strings.Contains(body, `<span class="badge good">active</span>`) || strings.Contains(body, "New address") {
				t.Errorf("the page: %s", body)
			}
			ada.get(callback).want(t, "the callback again", http.StatusBadRequest)

			ada.get(page+"/choices").want(t, "the calendars of the account", http.StatusOK, "(main calendar)", ">team</button>")
			ada.submit(page, page+"/choices", url.Values{"calendarId": {"team"}})
			if body := ada.get(page).body; !strings.Contains(body, "Retro") || strings.Contains(body, "Review") {
				t.Errorf("another calendar of the account: %s", body)
			}
			bob.get(page+"/choices").want(t, "another consumer lists calendars", http.StatusNotFound)

			double.Revoke()
			ada.submit(page, page+"/sync", nil)
			ada.get(page).want(t, "a withdrawn permission", http.StatusOK, "connect the calendar again", `<span class="badge bad">revoked</span>`)
			id := strings.TrimPrefix(page, "/calendars/")
			again := ada.get(consent(t, ada, page, "allow", url.Values{"provider": {provider}, "calendar": {id}}))
			if body := ada.get(page).body; again.header.Get("Location") != page ||
				!strings.Contains(body, `<span class="badge good">active</span>`) {
				t.Errorf("connected again: %d %s", again.status, body)
			}
			bob.get(consent(t, bob, "/calendars", "allow", url.Values{
				"provider": {provider}, "calendar": {id},
			})).want(t, "the calendar of another consumer", http.StatusNotFound)
		})
	}
	h := newHarness(t)
	h.ada()
	ada := h.signedIn("ada@example.test")
	ada.submit("/calendars", "/calendars/consent", url.Values{
		"provider": {"google"}, "name": {"Ada"},
	}).want(t, "without an OAuth client", http.StatusNotFound)
}

// TestConsentInBrowser gives permission in a real browser.
func TestConsentInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("drives a browser")
	}
	t.Parallel()
	h, _ := newConsentHarness(t)
	h.ada()
	page := openTab(t)
	page.signIn(h, "ada@example.test")
	for _, title := range []string{"Google Calendar", "Microsoft 365"} {
		page.Open(h.BaseURL() + "/calendars")
		page.Fill(`form[action="/calendars/consent"] input[name="name"]`, title)
		page.Do("choose a rule", chromedp.SetAttributeValue(
			chromedp.CSS(`form[action="/calendars/consent"] input[value="external"]`), "checked", ""))
		page.ClickText("Connect " + title)
		page.AwaitText("A double of the provider")
		page.ClickText("Allow")
		page.at("/calendars/")
		page.AwaitText("recorded: you have accepted it and somebody of another organization takes part")
		page.AwaitText("active")
	}
}
