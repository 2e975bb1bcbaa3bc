package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
)

var accountForm = regexp.MustCompile(`/accounts/([0-9a-f-]{36})/rest`)

// addAccount adds an account.
func (p *person) addAccount(label string) uuid.UUID {
	p.Helper()
	p.submit("/accounts", "/accounts", accountFields(label)).want(p.T, "add an account", http.StatusSeeOther)
	return uuid.MustParse(accountForm.FindStringSubmatch(p.get("/accounts").body)[1])
}

func accountFields(label string) url.Values {
	return url.Values{
		"platform": {"meet"}, "name": {label}, "address": {"Recorder@example.com"}, "max": {"3"}, "group": {"<b>"},
		"cookies": {fmt.Sprintf(`[{"name":"SID","value":"very-secret","domain":".google.com","expirationDate":%d}]`, time.Now().Add(time.Hour).Unix())},
	}
}

// TestAccounts adds an account, lets it rest, and removes it; a wrong one says what is wrong; another team and members
// of the own team change nothing; and no page contains a cookie.
func TestAccounts(t *testing.T) {
	t.Parallel()
	h := populate(newHarness(t))
	ada := h.signedIn(h.ada.Email)
	id := ada.addAccount("Recorder <1>")
	page := ada.get("/accounts").body
	for _, part := range []string{"Recorder &lt;1&gt;", "recorder@example.com", "group &lt;b&gt;", "0 of 3", "ready"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if strings.Contains(page, "very-secret") {
		t.Error("the page shows a cookie")
	}
	for field, values := range map[string][2]string{
		"cookies": {"[]", "cannot be used"}, "platform": {"zoom-sdk", "can sign in on"}, "address": {"nobody", "not a mail address"},
		"name": {"Recorder <1>", "already"}, "max": {"1000", "must be from 1"},
	} {
		form := accountFields("Another")
		form.Set(field, values[0])
		if got := ada.submit("/accounts", "/accounts", form); got.status/100 != 4 || !strings.Contains(got.body, values[1]) {
			t.Errorf("%s %q: %d, without %q", field, values[0], got.status, values[1])
		}
	}
	own := "/accounts/" + id.String()
	ada.submit("/accounts", own+"/rest", nil).want(t, "rest", http.StatusSeeOther)
	if page := ada.get("/accounts").body; !strings.Contains(page, "rests until") || !strings.Contains(page, "End the rest") {
		t.Error("the account does not rest")
	}
	ada.submit("/accounts", own+"/wake", nil).want(t, "end the rest", http.StatusSeeOther)
	h.otherUser()
	bob := h.signedIn("bob@example.test")
	bob.submit("/keys", own+"/remove", nil).want(t, "another team removes it", http.StatusNotFound)
	h.withRole("member@roles.test", account.Member)
	member := h.signedIn("member@roles.test")
	if page := member.get("/accounts").body; !strings.Contains(page, "Recorder &lt;1&gt;") || accountForm.MatchString(page) {
		t.Error("a member does not see the account, or can change it")
	}
	ada.submit("/accounts", own+"/remove", nil).want(t, "remove", http.StatusSeeOther)
	if page := ada.get("/accounts").body; strings.Contains(page, "Recorder &lt;1") {
		t.Error("the account is still there")
	}
}

// addZoomApp adds an app of Zoom on the page, and returns its ID.
func (p *person) addZoomApp(client string) uuid.UUID {
	p.Helper()
	p.submit("/accounts", "/zoom-apps", url.Values{"name": {"<Zoom>"}, "client": {client}, "secret": {"very-secret"}, "token-of-webhooks": {"very-secret-token"}}).
		want(p.T, "add an app of Zoom", http.StatusSeeOther)
	return uuid.MustParse(regexp.MustCompile(`/zoom-apps/([0-9a-f-]{36})/remove`).FindStringSubmatch(p.get("/accounts").body)[1])
}

// TestZoomApps adds an app of Zoom and removes it; the page shows no secret, and says what is wrong with another one.
func TestZoomApps(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ada := h.signedIn(h.ada().Email)
	id := ada.addZoomApp("client")
	if page := ada.get("/accounts").body; !strings.Contains(page, "&lt;Zoom&gt;") || !strings.Contains(page, "/webhooks/zoom as the event notification URL") ||
		strings.Contains(page, "very-secret") {
		t.Error("the page does not show the app, or shows a secret")
	}
	ada.submit("/accounts", "/zoom-apps", url.Values{"client": {"client"}, "secret": {"x"}, "token-of-webhooks": {"x"}}).
		want(t, "the same app again", http.StatusConflict, "already")
	ada.submit("/accounts", "/zoom-apps/"+id.String()+"/remove", nil).want(t, "remove it", http.StatusSeeOther)
	if strings.Contains(ada.get("/accounts").body, id.String()) {
		t.Error("a removed app is shown")
	}
}
