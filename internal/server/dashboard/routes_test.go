package dashboard_test

import (
	"html"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"standin/internal/account"
)

// registration finds the routes of the dashboard in their source: who may use them, the method and
// the path.
var registration = regexp.MustCompile(`\{(public|viewer|member|admin|operator), "(GET|POST) ([^"]+)"`)

// TestRoutes checks who may use each route of the dashboard: nobody without a session, nor with
// that of a removed user; no user with a lower role; operators alone for their pages; and that what
// a path names does not exist for another team. A new route is checked without being added here.
func TestRoutes(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("routes.go")
	if err != nil {
		t.Fatal(err)
	}
	routes := registration.FindAllStringSubmatch(string(source), -1)
	if len(routes) < 80 {
		t.Fatalf("only %d routes are found", len(routes))
	}
	f := populate(newHarness(t))
	f.otherUser() // an admin of another team
	named := map[string]string{
		"/jobs/": f.done.String(), "/calendars/": strings.TrimPrefix(f.calendarPage(), "/calendars/"),
		"/webhooks/endpoints/": strings.TrimPrefix(strings.Split(f.endpointPage(), "?")[0], "/webhooks/endpoints/"),
		"/keys/":               regexp.MustCompile(`/keys/([0-9a-f-]{36})/revoke`).FindStringSubmatch(f.signedIn(f.ada.Email).get("/keys").body)[1],
		"/team/":               f.ada.ID.String(),
		"/accounts/":           f.signedIn(f.ada.Email).addAccount("Recorder").String(),
		"/zoom-apps/":          f.signedIn(f.ada.Email).addZoomApp("client").String(),
	}
	values := map[string]string{
		"{verb}": "delete", "{delivery}": f.deliveries(f.done)[0].ID, "{event}": uuid.NewString(), "{name}": "recording.mp4",
		"{attempt}": "0",
	}
	people := map[string]*person{"nobody": f.person(), "another team": f.signedIn("bob@example.test")}
	for _, role := range account.Roles() {
		email := string(role) + "@roles.test"
		f.withRole(email, role)
		people[string(role)] = f.signedIn(email)
	}
	f.withRole("removed@roles.test", account.Admin)
	people["removed"] = f.signedIn("removed@roles.test")
	removed, err := f.Store().UserByEmail(t.Context(), "removed@roles.test")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.users().Remove(t.Context(), f.ada, removed.ID, false); err != nil {
		t.Fatal(err)
	}
	for _, route := range routes {
		needed, method, pattern := route[1], route[2], strings.TrimSuffix(route[3], "{$}")
		path := pattern
		for beginning, id := range named {
			if strings.HasPrefix(path, beginning+"{id}") {
				path = strings.Replace(path, "{id}", id, 1)
			}
		}
		for parameter, value := range values {
			path = strings.ReplaceAll(path, parameter, value)
		}
		if needed == "public" {
			continue
		}
		if strings.Contains(path, "{") && !strings.HasPrefix(path, "/operator/mail/") {
			t.Errorf("%s %s: name what is in its path", method, pattern)
			continue
		}
		for name, who := range people {
			want := expectedOf(needed, method, name, pattern)
			if want == nil {
				continue // allowed
			}
			form := url.Values{"token": {who.tokenOrNone()}, "role": {"viewer"}}
			answer := who.send(method, path, form)
			if !slices.Contains(want, answer.status) ||
				answer.status == http.StatusSeeOther && !strings.HasPrefix(answer.header.Get("Location"), "/signin") {
				t.Errorf("%s %s for %s: %d to %q, want one of %v", method, path, name, answer.status, answer.header.Get("Location"), want)
			}
		}
	}
}

// expectedOf returns the statuses with which a route refuses somebody; nil if it does not.
func expectedOf(needed, method, name, pattern string) []int {
	switch name {
	case "nobody", "removed":
		return []int{http.StatusSeeOther, http.StatusUnauthorized} // to the sign-in page
	case "another team":
		switch {
		case needed == "operator":
			return []int{http.StatusNotFound}
		case strings.Contains(pattern, "{id}"), strings.Contains(pattern, "{delivery}"):
			return []int{http.StatusNotFound, http.StatusConflict} // 409: the only operator is known
		}
		return nil
	}
	if needed == "operator" {
		return []int{http.StatusNotFound}
	}
	if !account.Role(name).Allows(account.Role(needed)) {
		return []int{http.StatusForbidden}
	}
	return nil
}

// tokenOrNone returns the token of the person's forms, or a wrong one without a session.
func (p *person) tokenOrNone() string {
	page := p.get("/account")
	if page.status != http.StatusOK {
		return "none"
	}
	_, rest, _ := strings.Cut(page.body, `name="token" value="`)
	token, _, _ := strings.Cut(rest, `"`)
	return token
}

// TestAuditOfForms checks that what users do with webhooks and calendars is in the audit log, a
// calendar that a provider connects too.
func TestAuditOfForms(t *testing.T) {
	t.Parallel()
	h, _ := newConsentHarness(t)
	ada := h.signedIn(h.ada().Email)
	made := ada.submit("/webhooks/new", "/webhooks/endpoints", url.Values{"url": {"https://hooks.example.test/"}, "events": {"job.failed"}})
	endpoint := strings.Split(made.header.Get("Location"), "?")[0]
	ada.submit(endpoint, endpoint, url.Values{"events": {"job.finalized"}, "enabled": {"on"}})
	ada.submit(endpoint, endpoint+"/retry", nil)
	ada.submit(endpoint, endpoint+"/delete", nil)
	form := url.Values{"provider": {"google"}, "name": {"Ada"}, "minParticipants": {"0"}, "optOut": {"#nobot"}}
	calendar := ada.get(consent(t, ada, "/calendars", "allow", form)).header.Get("Location")
	ada.submit(calendar, calendar, url.Values{"name": {"Bea"}, "minParticipants": {"0"}, "optOut": {"#nobot"}})
	log := html.UnescapeString(ada.get("/team/audit").body)
	for _, entry := range []string{
		"added a webhook endpoint", "changed a webhook endpoint", "webhook: retry", "webhook: delete", "connected a calendar",
		"changed a calendar",
	} {
		if !strings.Contains(log, entry) {
			t.Errorf("the audit log lacks %q", entry)
		}
	}
}
