package dashboard_test

import (
	"crypto/sha256"
	"encoding/hex"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"standin/client"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/recording/storage"
)

// TestAccessOfOtherConsumers checks that users of another consumer cannot read or
// change data of this consumer or open the operator page.
func TestAccessOfOtherConsumers(t *testing.T) {
	t.Parallel()
	f := populate(newHarness(t))
	f.otherUser()
	bob := f.signedIn("bob@example.test")
	delivery := f.deliveries(f.done)[0].ID
	page := "/jobs/" + f.done.String()
	for _, path := range []string{
		page, page + "/live", page + "/media/recording.mp4", page + "/screenshot", "/webhooks/deliveries/" + delivery, "/operator",
		"/operator/live", "/operator/bots", "/operator/failures", "/operator/alerts", "/operator/mail",
	} {
		bob.get(path).want(t, path, http.StatusNotFound)
	}
	ids := regexp.MustCompile(`/(?:keys|team)/([0-9a-f-]{36})/`)
	ada := f.signedIn(f.ada.Email)
	key := ids.FindStringSubmatch(ada.get("/keys").body)[1]
	for path, want := range map[string]int{
		page + "/delete-recording": 404, "/jobs/" + f.running.String() + "/leave": 404, "/jobs/" + f.running.String() + "/cancel": 404,
		page + "/deliveries/" + delivery + "/redeliver": 404, page + "/share/revoke": 404, "/keys/" + key +
			"/revoke": 404, "/team/" + f.ada.ID.String() + "/remove": 409,
	} {
		bob.submit("/keys", path, nil).want(t, path, want)
	}
	for _, path := range []string{"/jobs", "/jobs?mode=test", "/keys", "/team", "/usage", "/webhooks", "/jobs?mode=test&search=standup"} {
		if got := bob.get(path); got.status != 200 || strings.Contains(got.body, "standup-0412") || strings.Contains(got.body, "ada@") ||
			strings.Contains(got.body, "standin_live_") {
			t.Errorf("%s (%d) shows data of another consumer", path, got.status)
		}
	}
	ada.get(page).want(t, "the owner's page", 200)
	token, err := f.users().InviteAs(t.Context(), f.ada, "carol@example.test", account.Admin, false)
	if err != nil {
		t.Fatal(err)
	}
	f.accept(token, account.User{Name: "Carol"})
	carol := f.signedIn("carol@example.test")
	f.checkOffers(account.Viewer)
	f.checkOffers(account.Member)
	carol.submit("/team", "/team/"+f.ada.ID.String()+"/remove", nil).want(t, "a member removes an operator", http.StatusConflict,
		"Only an operator can remove an operator or change the role of one.")
}

var (
	postForm = regexp.MustCompile(`<form method="post" action="([^"]+)"`)
	pageLink = regexp.MustCompile(`<a [^>]*href="(/(?:jobs/new|webhooks/new|team/audit|calendars/[^"]*/choices)[^"]*)"`)
)

// checkOffers checks that no page offers users with a role what they are refused.
func (f populatedHarness) checkOffers(role account.Role) {
	f.Helper()
	email := string(role) + "@example.test"
	f.withRole(email, role)
	user := f.signedIn(email)
	seen := map[string]bool{}
	for name, path := range f.pages() {
		page := user.get(path)
		if page.status != http.StatusOK {
			continue
		}
		for _, form := range postForm.FindAllStringSubmatch(page.body, -1) {
			if action := html.UnescapeString(form[1]); !seen[action] {
				seen[action] = true
				if got := user.post(action, url.Values{"token": {"wrong"}}); strings.Contains(got.body, "Your role is") {
					f.Errorf("the page %s offers a %s the form %s", name, role, action)
				}
			}
		}
		for _, link := range pageLink.FindAllStringSubmatch(page.body, -1) {
			if got := user.get(html.UnescapeString(link[1])); got.status == http.StatusForbidden {
				f.Errorf("the page %s offers a %s the link %s", name, role, link[1])
			}
		}
	}
	if len(seen) < 2 {
		f.Errorf("only the forms %v were checked", seen)
	}
}

// TestCaptures checks that a capture is offered on the page of its job, and that only
// the job's own users and operators can download it.
func TestCaptures(t *testing.T) {
	t.Parallel()
	f := recorded(newHarness(t))
	f.failed = f.signedIn(f.ada.Email).simulated("https://teams.microsoft.com/l/meetup-join/19%3ameeting", `"host_denied_admission"`, "review")
	f.awaitStatus(f.ada.ConsumerID, f.failed, job.Failed)
	f.otherUser()
	recordings, err := storage.Open(t.Context(), (&url.URL{Scheme: "file", Path: filepath.Join(f.dir, "recordings")}).String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer recordings.Close()
	other := uuid.New() // a job of another consumer
	for _, id := range []uuid.UUID{f.failed, other} {
		for _, name := range []string{"capture-0.zip", "report.json"} {
			sum := sha256.Sum256([]byte(name))
			if _, err := recordings.PutUpload(t.Context(), id, 1, name, strings.NewReader(name), hex.EncodeToString(sum[:]), 100); err != nil {
				t.Fatal(err)
			}
		}
	}
	page := "/jobs/" + f.failed.String()
	ada, bob := f.signedIn(f.ada.Email), f.signedIn("bob@example.test")
	if got := ada.get(page); !strings.Contains(got.body, page+"/captures/1/capture-0.zip") ||
		strings.Contains(got.body, "captures/1/report.json") {
		t.Errorf("the job's page does not offer the capture alone: %d", got.status)
	}
	got := ada.get(page + "/captures/1/capture-0.zip")
	disposition := `attachment; filename="` + f.failed.String()[:8] + `-1-capture-0.zip"`
	if got.status != 200 || got.body != "capture-0.zip" || got.header.Get("Content-Disposition") != disposition ||
		got.header.Get("Content-Type") != "application/zip" {
		t.Errorf("%d %q %v", got.status, got.body, got.header)
	}
	for path, want := range map[string]int{
		page + "/captures/0/capture-0.zip": 404, page + "/captures/1/report.json": 404, page + "/captures/1/capture-1.zip": 404,
		page + "/captures/x/capture-0.zip": 404, page + "/captures/1/..%2fcapture-0.zip": 404,
		"/jobs/" + other.String() + "/captures/1/capture-0.zip": 200, // ada is an operator
	} {
		ada.get(path).want(t, path, want)
	}
	for _, id := range []uuid.UUID{f.failed, other} {
		bob.get("/jobs/"+id.String()+"/captures/1/capture-0.zip").want(t, "another consumer's user downloads a capture", 404)
	}
}

// TestKeys checks that a key is shown only once and works until it is revoked.
func TestKeys(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.ada()
	p := h.signedIn("ada@example.test")
	key := regexp.MustCompile(`standin_test_[\w-]{43}`).FindString(p.submit("/keys", "/keys", url.Values{
		"name": {"CI"}, "mode": {"test"}, "scope": {"jobs"}, "days": {"30"},
	}).body)
	program := h.person()
	program.header = http.Header{"Authorization": {"Bearer " + key}}
	program.get("/api/v1/jobs").want(t, "the key", 200)
	list := p.get("/keys").body
	if strings.Contains(list, key) || !strings.Contains(list, key[:17]) || strings.Contains(list, "never") {
		t.Error("the list shows the whole key, or lacks its prefix or its last use")
	}
	if !strings.Contains(list, "<strong>CI</strong>") || !strings.Contains(list, `data-name="Scope">jobs<`) || !strings.Contains(list, "it ends with them") {
		t.Error("the list lacks the name, scope or owner of the key")
	}
	for name, form := range map[string]url.Values{
		"no name": {"mode": {"test"}}, "another scope": {"name": {"CI"}, "scope": {"root"}}, "no days": {"name": {"CI"}, "days": {"0"}},
	} {
		if got := p.submit("/keys", "/keys", form); got.status != http.StatusBadRequest || strings.Contains(got.body, "new-key") {
			t.Errorf("a key with %s: %d", name, got.status)
		}
	}
	id := regexp.MustCompile(`/keys/([0-9a-f-]{36})/revoke`).FindStringSubmatch(list)[1]
	p.submit("/keys", "/keys/"+id+"/revoke", nil).want(t, "revoke", http.StatusSeeOther)
	program.get("/api/v1/jobs").want(t, "the revoked key", 401)
}

// TestWebhookPage checks that test events are signed, with the old and the new secret
// after a rotation, that endpoints in the local network are refused, and that the
// secret is shown only on request.
func TestWebhookPage(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ada := h.ada()
	p := h.signedIn("ada@example.test")
	consumer, err := h.Store().Consumer(t.Context(), ada.ConsumerID)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	secret := consumer.WebhookSecret
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = client.VerifyWebhook(r.Header, body, secret, time.Now())
		}
		got <- err
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(server.Close)
	if strings.Contains(html.UnescapeString(p.get("/webhooks/settings").body), secret) {
		t.Error("the page shows the secret without a request")
	}
	if !strings.Contains(html.UnescapeString(p.submit("/webhooks/settings", "/webhooks/secret", nil).body), secret) {
		t.Error("the page does not show the secret on request")
	}
	p.submit("/webhooks/settings", "/webhooks/endpoint", url.Values{"url": {"ftp://example.test"}}).want(t, "a URL with another scheme", 400)
	for _, choice := range []string{"on", ""} {
		for _, name := range []string{"transcript", "commands"} {
			p.submit("/webhooks/settings", "/webhooks/endpoint", url.Values{name: {choice}})
			if got := strings.Count(p.get("/webhooks/settings").body, `" checked`); got != len(choice)/2 ||
				!strings.Contains(p.get("/webhooks/settings").body, `name="`+name+`"`+map[string]string{"on": " checked"}[choice]) {
				t.Errorf("after the choice %q of %s, %d events are enabled", choice, name, got)
			}
		}
	}
	p.submit("/webhooks/settings", "/webhooks/endpoint", url.Values{"url": {server.URL}})
	test := func(want string) {
		t.Helper()
		if answer := p.submit("/webhooks/settings", "/webhooks/test", nil); !strings.Contains(answer.body, want) {
			t.Errorf("the result of the test event lacks %q", want)
		}
	}
	test("It responded with <strong>202</strong>")
	if err := <-got; err != nil {
		t.Errorf("verify the test event: %v", err)
	}
	p.submit("/webhooks/settings", "/webhooks/rotate", nil)
	test("It responded with <strong>202</strong>")
	if err := <-got; err != nil {
		t.Errorf("verify the test event with the old secret: %v", err)
	}
	if strings.Contains(html.UnescapeString(p.submit("/webhooks/settings", "/webhooks/secret", nil).body), secret) {
		t.Error("the secret was not rotated")
	}
	p.submit("/webhooks/settings", "/webhooks/endpoint", url.Values{"url": {"http://169.254.169.254/latest"}})
	test("is refused")
}
