package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"standin/internal/account"
)

// TestUnknownPaths checks that browsers get a page for a path that does not exist, and programs
// JSON, and that every site has an icon.
func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for _, test := range []struct {
		path, accept string
		status       int
		contentType  string
	}{
		{"/nosuch", "text/html,application/xhtml+xml,*/*;q=0.8", 404, "text/html; charset=utf-8"},
		{"/nosuch", "*/*", 404, "application/json"},
		{"/nosuch", "", 404, "application/json"},
		{"/api/v1/nosuch", "text/html", 404, "application/json"},
		{"/openapi.json", "text/html", 200, "application/json"},
		{"/metrics", "text/html", 401, "application/json"},
		{"/favicon.ico", "image/*", 200, "image/svg+xml"},
	} {
		p := h.person()
		p.header = http.Header{"Accept": {test.accept}}
		response := p.get(test.path)
		if got := response.header.Get("Content-Type"); response.status != test.status || got != test.contentType {
			t.Errorf("%s for %q: %d, %s", test.path, test.accept, response.status, got)
		}
	}
}

// TestFirstUserChoosesTeam checks that the sign-in page says how to create the first user, and
// that this user can join a team that a key has created.
func TestFirstUserChoosesTeam(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	if _, _, err := h.Keys.Issue(t.Context(), "acme", "", "live"); err != nil {
		t.Fatal(err)
	}
	p := h.person()
	p.get("/signin").want(t, "the sign-in page does not say that there is no user", http.StatusOK, "There are no users yet")
	link := h.firstLink()
	token := link[strings.Index(link, "token=")+len("token="):]
	p.get(strings.TrimPrefix(link, h.BaseURL())).want(t, "the page does not offer the team", http.StatusOK, `name="team" value="acme" checked`)
	created := p.post("/welcome", url.Values{
		"invitation": {token}, "name": {"Ada"}, "email": {"ada@example.test"}, "password": {password}, "team": {"acme"}, "consumer": {""},
	})
	if created.status != http.StatusSeeOther {
		t.Fatalf("%d: %s", created.status, created.body)
	}
	p.get("/keys").want(t, "the user does not see the key of the team", http.StatusOK, "standin_live_")
	if page := h.person().get("/signin").body; strings.Contains(page, "There are no users yet") {
		t.Error("the sign-in page says that there is no user")
	}
}

// TestMode checks that the chosen mode is that of all pages, but for those about an object, and that the
// first page is in the mode that has jobs.
func TestMode(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	p := h.signedIn(h.ada().Email)
	const frame = `<body class="testmode">`
	if strings.Contains(p.get("/jobs").body, frame) {
		t.Error("the first page is in test mode")
	}
	if !strings.Contains(p.get("/jobs?mode=test").body, frame) || !strings.Contains(p.get("/keys").body, frame) ||
		!strings.Contains(p.get("/search").body, `name="mode" value="test"`) {
		t.Error("test mode is not that of all pages")
	}
	id := p.simulated("https://meet.google.com/abc-defg-hij", `"success"`, "cli-"+uuid.NewString()).String()
	p.get("/?mode=live").want(t, "the first page in the mode without jobs", http.StatusSeeOther)
	job := p.get("/jobs/" + id).body
	if got := p.get("/?mode=live").header.Get("Location"); got != "/jobs?mode=test" || !strings.Contains(job, frame) ||
		!strings.Contains(job, `<h1 class="break">Google Meet abc-defg-hij</h1>`) || !strings.Contains(job, `href="/jobs?mode=live"`) ||
		!strings.Contains(p.get("/search?mode=test&q=abc-defg").body, `>Google Meet abc-defg-hij</a>`) {
		t.Errorf("the first page is %s, and the page of a test job: %s", got, job)
	}
	if strings.Contains(p.get("/webhooks?mode=live").body, frame) || strings.Contains(p.get("/jobs").body, frame) {
		t.Error("live mode is not that of all pages")
	}
}

// TestAccount checks that users see their profile and change their password.
func TestAccount(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	p := h.signedIn(h.ada().Email)
	p.get("/account").want(t, "the account", http.StatusOK, "ada@example.test", "crew")
	const next = "a new and longer sentence"
	p.submit("/account", "/account/password", url.Values{
		"old": {"wrong"}, "password": {next},
	}).want(t, "a wrong password", http.StatusBadRequest, "current password is wrong")
	p.submit("/account", "/account/password", url.Values{"old": {password}, "password": {next}}).want(t, "the change", http.StatusSeeOther)
	if _, err := h.users().SignIn(t.Context(), "ada@example.test", next); err != nil {
		t.Errorf("sign in with the new password (at least %d characters): %v", account.MinPassword, err)
	}
}

// TestRoles checks what users with each role may do.
func TestRoles(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ada := h.signedIn(h.ada().Email)
	invite := func(email, role string) *person {
		t.Helper()
		page := ada.submit("/team", "/team/invite", url.Values{"email": {email}, "role": {role}}).body
		_, token, found := strings.Cut(page, "/welcome?token=")
		if !found {
			t.Fatalf("no link: %s", page)
		}
		token, _, _ = strings.Cut(token, "<")
		invited := h.person()
		if got := invited.post("/welcome", url.Values{
			"invitation": {token}, "name": {role}, "password": {password},
		}); got.status != http.StatusSeeOther {
			t.Fatalf("%s: %d %s", email, got.status, got.body)
		}
		return invited
	}
	viewer, member := invite("viewer@example.test", "viewer"), invite("member@example.test", "member")
	bot := url.Values{"mode": {"test"}, "meetingUrl": {"https://meet.google.com/abc-defg-hij"}}
	key := url.Values{"name": {"CI"}, "mode": {"test"}, "scope": {"read"}}
	for _, test := range []struct {
		name       string
		who        *person
		page, path string
		form       url.Values
		want       int
	}{
		{"a viewer sends a bot", viewer, "/jobs", "/jobs", bot, 403},
		{"a viewer creates a key", viewer, "/keys", "/keys", key, 403},
		{"a viewer changes the password", viewer, "/account", "/account/password", url.Values{"old": {"wrong"}, "password": {password}}, 400},
		{"a member sends a bot", member, "/jobs", "/jobs", bot, 303},
		{"a member creates a key", member, "/keys", "/keys", key, 403},
		{"a member invites", member, "/team", "/team/invite", url.Values{"email": {"eve@example.test"}}, 403},
		{"an admin creates a key", ada, "/keys", "/keys", key, 200},
		{"an unknown role", ada, "/team", "/team/invite", url.Values{"email": {"eve@example.test"}, "role": {"root"}}, 400},
	} {
		test.who.submit(test.page, test.path, test.form).want(t, test.name, test.want)
	}
	if got := viewer.get("/jobs/new").status; got != http.StatusForbidden {
		t.Errorf("a viewer sees the form of a bot: %d", got)
	}
	users, err := h.Store().ConsumerUsers(t.Context(), ada.owner(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range users {
		if user.Email == "viewer@example.test" {
			ada.submit("/team", "/team/"+user.ID.String()+"/role", url.Values{"role": {"admin"}}).want(t, "the admin changes a role",
				http.StatusSeeOther)
		}
	}
	viewer.submit("/keys", "/keys", key).want(t, "the viewer who became an admin creates a key", http.StatusOK)
}

// owner returns the ID of the team of Ada.
func (p *person) owner(t *testing.T) uuid.UUID {
	t.Helper()
	ada, err := p.Store().UserByEmail(t.Context(), "ada@example.test")
	if err != nil {
		t.Fatal(err)
	}
	return ada.ConsumerID
}

// TestAuditLog checks that the log says who changed what, and that only admins see it.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ada := h.signedIn(h.ada().Email)
	ada.submit("/keys", "/keys", url.Values{"name": {"Deployment <b>"}, "mode": {"test"}})
	ada.submit("/keys", "/keys", url.Values{"name": {""}, "mode": {"test"}}) // refused
	page := ada.get("/team/audit").body
	if got := strings.Count(page, "created an API key"); got != 1 || !strings.Contains(page, "Deployment &lt;b&gt;") ||
		!strings.Contains(page, "signed in") {
		t.Errorf("%d keys in the log: %s", got, page)
	}
	h.otherUser()
	bob := h.signedIn("bob@example.test")
	if page := bob.get("/team/audit").body; strings.Contains(page, "Deployment") {
		t.Error("another team sees the log")
	}
}
