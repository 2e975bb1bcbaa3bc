package dashboard_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"standin/internal/account"
	"standin/internal/server/httpmw"
	"standin/internal/server/service"
	"standin/internal/testing/logtail"
)

// TestSignIn checks the redirects to the sign-in page and back, and the attributes of
// the session cookie.
func TestSignIn(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.ada()
	ada := h.person()
	for _, path := range []string{"/", "/jobs", "/jobs/new", "/keys", "/webhooks", "/usage", "/search", "/team", "/operator", "/cli?nonce=x"} {
		if got := ada.get(path); got.status != http.StatusSeeOther || got.header.Get("Location") != "/signin?next="+url.QueryEscape(path) {
			t.Errorf("%s: %d to %s", path, got.status, got.header.Get("Location"))
		}
	}
	for _, path := range []string{"/keys", "/jobs", "/signout", "/cli", "/team/invite"} {
		ada.post(path, url.Values{}).want(t, "post "+path, http.StatusUnauthorized)
	}
	for name, form := range map[string]url.Values{
		"wrong password": {"email": {"ada@example.test"}, "password": {"correct horse battery stapl"}},
		"unknown user":   {"email": {"eve@example.test"}, "password": {password}},
		"empty form":     {},
	} {
		got := ada.post("/signin", form)
		if got.status != http.StatusUnauthorized || !strings.Contains(got.body, "Wrong email address or password.") {
			t.Errorf("%s: %d", name, got.status)
		}
	}
	got := ada.post("/signin", url.Values{"email": {"ada@example.test"}, "password": {password}, "next": {"/keys"}})
	cookie := got.header.Get("Set-Cookie")
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "/keys" {
		t.Errorf("sign in: %d to %s", got.status, got.header.Get("Location"))
	}
	for _, part := range []string{"standin_session=", "HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=1209600"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the cookie %s lacks %s", cookie, part)
		}
	}
	page := ada.get("/keys")
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
	} {
		if page.header.Get(name) != want {
			t.Errorf("%s is %q", name, page.header.Get(name))
		}
	}
	policy := page.header.Get("Content-Security-Policy")
	for _, part := range []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'",
	} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy %s lacks %s", policy, part)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(page.body, "<style") || strings.Contains(page.body, " style=") ||
		strings.Contains(page.body, "<script>") {
		t.Error("a page has inline scripts or styles, or its policy allows them")
	}
	ada.submit("/keys", "/signout", nil).want(t, "sign out", http.StatusSeeOther)
	ada.get("/keys").want(t, "a page after sign-out", http.StatusSeeOther)
}

// TestNext checks that signing in redirects only to pages of the service.
func TestNext(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(s *service.Settings) {
		s.DashboardLimits.Account = httpmw.Rate{Requests: 1000, Per: time.Minute}
	})
	h.ada()
	for next, want := range map[string]string{
		"/cli?nonce=abc": "/cli?nonce=abc", "": "/", "https://evil.test/": "/", "//evil.test/": "/", "/\\evil.test": "/",
		"javascript:alert(1)": "/", "\t//evil.test": "/", "jobs": "/", "/%0d%0aX: y": "/%0d%0aX: y",
	} {
		got := h.person().post("/signin", url.Values{"email": {"ada@example.test"}, "password": {password}, "next": {next}})
		if got.header.Get("Location") != want {
			t.Errorf("%q redirects to %q, want %q", next, got.header.Get("Location"), want)
		}
	}
}

// TestSecureCookie checks that with https the session cookie is Secure and bound to the
// host.
func TestSecureCookie(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(s *service.Settings) { s.BaseURL = "https://standin.example" })
	h.ada()
	local := &person{harness: h, http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}}
	request, err := http.NewRequest(http.MethodPost, "http://"+h.Addr()+"/signin",
		strings.NewReader(url.Values{"email": {"ada@example.test"}, "password": {password}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", "https://standin.example") // like a browser behind a proxy
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := local.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	cookie := answer.Header.Get("Set-Cookie")
	if !strings.HasPrefix(cookie, "__Host-standin_session=") || !strings.Contains(cookie, "; Secure") {
		t.Errorf("%s: the cookie is %q", answer.Status, cookie)
	}
}

// TestThrottle checks the limits for a client address, for a client address and an
// account, and for all failures. A limited address does not affect others.
func TestThrottle(t *testing.T) {
	t.Parallel()
	try := func(h *harness, email, with string) answered {
		return h.person().post("/signin", url.Values{"email": {email}, "password": {with}})
	}
	t.Run("account", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t, func(s *service.Settings) {
			s.DashboardLimits.Account, s.HTTP.TrustedProxies = httpmw.Rate{Requests: 3, Per: time.Hour}, 1
		})
		h.ada()
		for range 3 {
			if got := try(h, "ada@example.test", "wrong"); got.status != http.StatusUnauthorized {
				t.Fatalf("a wrong password: %d", got.status)
			}
		}
		got := try(h, "ADA@example.test ", password)
		if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" ||
			!strings.Contains(got.body, "Too many requests. Try again in") {
			t.Errorf("the fourth attempt: %d, Retry-After %q", got.status, got.header.Get("Retry-After"))
		}
		elsewhere := h.person()
		elsewhere.header = http.Header{"X-Forwarded-For": {"203.0.113.9"}}
		elsewhere.post("/signin", url.Values{
			"email": {"ada@example.test"}, "password": {password},
		}).want(t, "the right password from another address", http.StatusSeeOther)
		try(h, "other@example.test", "wrong").want(t, "another account", http.StatusUnauthorized)
	})
	t.Run("failures", func(t *testing.T) {
		t.Parallel()
		log := new(logtail.Buffer)
		h := newHarness(t, func(s *service.Settings) {
			s.DashboardLimits.Failures = httpmw.Rate{Requests: 3, Per: time.Hour}
			s.Log = slog.New(slog.NewTextHandler(log, nil))
		})
		h.ada()
		for i, want := range []int{401, 401, 401, 429} {
			if got := try(h, fmt.Sprintf("user%d@example.test", i), "wrong"); got.status != want {
				t.Errorf("failure %d: %d, want %d", i, got.status, want)
			}
		}
		try(h, "ada@example.test", password).want(t, "the right password above the limit of failures", http.StatusSeeOther)
		if !strings.Contains(log.String(), "client=127.0.0.1") {
			t.Error("the log lacks the client address of the sign-ins")
		}
	})
	t.Run("address", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t, func(s *service.Settings) { s.DashboardLimits.Address = httpmw.Rate{Requests: 3, Per: time.Hour} })
		h.ada()
		for _, email := range []string{"a@example.test", "b@example.test", "c@example.test"} {
			if got := try(h, email, "wrong"); got.status != http.StatusUnauthorized {
				t.Fatalf("a wrong password: %d", got.status)
			}
		}
		try(h, "ada@example.test", password).want(t, "the fourth attempt", http.StatusTooManyRequests)
		h.person().get("/welcome?token=x").want(t, "an invitation above the limit", http.StatusTooManyRequests)
	})
}

// TestForgery checks that requests of other sites, without a form token, or with the
// form token of another session are refused.
func TestForgery(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.ada()
	h.otherUser()
	ada, bob := h.signedIn("ada@example.test"), h.signedIn("bob@example.test")
	keys := func() int { return strings.Count(ada.get("/keys").body, "standin_live_") }
	mine := ada.token("/keys")
	for name, try := range map[string]struct {
		header http.Header
		token  string
		want   int
	}{
		"another site":            {http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.test"}}, mine, 403},
		"another origin":          {http.Header{"Origin": {"https://evil.test"}}, mine, 403},
		"a subdomain":             {http.Header{"Sec-Fetch-Site": {"same-site"}}, mine, 403},
		"no token":                {nil, "", 403},
		"another session's token": {http.Header{"Sec-Fetch-Site": {"same-origin"}}, bob.token("/keys"), 403},
		"a changed token":         {nil, reversed(mine), 403},
	} {
		ada.header = try.header
		ada.post("/keys", url.Values{"token": {try.token}, "name": {"CI"}, "mode": {"live"}}).want(t, name, try.want)
	}
	ada.header = nil
	if n := keys(); n != 0 {
		t.Fatalf("%d keys were created", n)
	}
	ada.header = http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {h.BaseURL()}}
	ada.post("/keys", url.Values{"token": {mine}, "name": {"CI"}, "mode": {"live"}}).want(t, "a valid form", 200)
	ada.header = http.Header{"Sec-Fetch-Site": {"cross-site"}}
	ada.post("/signin", url.Values{"email": {"bob@example.test"}, "password": {password}}).want(t, "a sign-in from another site", 403)
}

func reversed(text string) string {
	out := []byte(text)
	for i := range len(out) / 2 {
		out[i], out[len(out)-1-i] = out[len(out)-1-i], out[i]
	}
	return string(out)
}

// TestExpiredSession checks that forms and streams of open pages fail when the session
// has ended.
func TestExpiredSession(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ada := h.ada()
	p := h.signedIn("ada@example.test")
	token := p.token("/keys")
	session := account.Session{User: ada}
	if err := h.users().ChangePassword(t.Context(), session, "", "another good password"); err == nil {
		t.Fatal("the password was changed without the current one")
	}
	if err := h.Store().SetPassword(t.Context(), ada.ID, ada.PasswordHash, ""); err != nil { // ends all sessions
		t.Fatal(err)
	}
	p.get("/jobs/live").want(t, "the stream of an ended session", 401)
	p.post("/keys", url.Values{"token": {token}}).want(t, "a form of an ended session", 401)
}

// TestSignInLink checks that a sign-in link works once, for the person who opens it first, and
// leads to pages of this service only.
func TestSignInLink(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ada := h.ada()
	team := account.Consumer{ID: ada.ConsumerID, Name: ada.Consumer}
	for page, want := range map[string]string{"/jobs/1#recording": "/jobs/1#recording", "https://evil.example": "/"} {
		link, err := h.SignInLink(t.Context(), team, page)
		if err != nil {
			t.Fatal(err)
		}
		path := strings.TrimPrefix(link, h.BaseURL())
		first, second := h.person(), h.person()
		if got := first.get(path); got.status != http.StatusSeeOther || got.header.Get("Location") != want {
			t.Errorf("%s: %d to %s, want %s", page, got.status, got.header.Get("Location"), want)
		}
		first.get("/team").want(t, "the team after the link", http.StatusOK, "ada@example.test")
		second.get(path).want(t, "the link again", http.StatusNotFound)
	}
}
