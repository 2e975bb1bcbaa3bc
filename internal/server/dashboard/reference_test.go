package dashboard_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"standin/client"
	"standin/internal/server/service"
	"standin/internal/testing/logtail"
)

// TestReferenceKey checks that only signed-in users get a key for the API reference: a test key,
// for an hour, with the scope of their role. It is not logged, and not listed once it has expired.
func TestReferenceKey(t *testing.T) {
	t.Parallel()
	log := new(logtail.Buffer)
	h := newHarness(t, func(s *service.Settings) {
		s.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	h.ada()
	guest, ada := h.person(), h.signedIn("ada@example.test")
	if got := guest.get("/docs/session"); got.status != http.StatusNoContent || got.body != "" {
		t.Errorf("the session of a guest: %d %s", got.status, got.body)
	}
	if got := guest.post("/docs/key", url.Values{}); got.status != http.StatusUnauthorized || strings.Contains(got.body, "standin_test_") {
		t.Errorf("the key of a guest: %d", got.status)
	}
	var session struct{ Name, Team, Token string }
	if got := ada.get("/docs/session"); json.Unmarshal([]byte(got.body), &session) != nil || session.Name != "Ada Lovelace" ||
		session.Team != "crew" {
		t.Fatalf("the session is %s", got.body)
	}
	ada.post("/docs/key", url.Values{"token": {"guessed"}}).want(t, "a key without the token of the session", http.StatusForbidden)
	var key struct {
		Key       string
		ExpiresAt time.Time
	}
	form := url.Values{"token": {session.Token}}
	if got := ada.post("/docs/key", form); json.Unmarshal([]byte(got.body), &key) != nil || !strings.HasPrefix(key.Key, "standin_test_") {
		t.Fatalf("the key is %d %s", got.status, got.body)
	}
	if left := time.Until(key.ExpiresAt); left <= 0 || left > time.Hour {
		t.Errorf("the key expires in %s", left)
	}
	api, err := client.New(h.BaseURL(), key.Key)
	if err != nil {
		t.Fatal(err)
	}
	if me, err := api.Me(t.Context()); err != nil || me.Key.Mode != "test" || me.Key.Scope != "admin" || me.Team.Name != "crew" {
		t.Errorf("the key is %+v (%v)", me, err)
	}
	if page := ada.get("/keys").body; strings.Contains(page, key.Key) || !strings.Contains(page, "API reference") {
		t.Error("the list of keys has the whole key, or lacks it")
	}
	ada.header = http.Header{"Sec-Fetch-Site": {"cross-site"}}
	ada.post("/docs/key", form).want(t, "a key for another site", http.StatusForbidden)
	if strings.Contains(log.String(), key.Key) {
		t.Error("the log has the key")
	}
}

// TestTryRequest sends requests from the API reference: not as a guest, and in test mode as a
// signed-in user. The key is in no URL, and the browser does not keep it.
func TestTryRequest(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	h := newHarness(t)
	h.ada()
	page := openTab(t)
	page.Do("set the size", chromedp.EmulateViewport(1280, 900))
	const createJob = `[data-section-id="operation/createJob"] .try`
	page.Open(h.BaseURL() + "/docs#tag/jobs/operation/createJob")
	page.Click(createJob)
	page.AwaitText("Sign in to the dashboard")
	page.Until(`document.querySelector("#try .send") === null`)
	page.signIn(h, "ada@example.test")
	page.Open(h.BaseURL() + "/docs#tag/jobs/operation/createJob")
	page.Click(createJob)
	page.AwaitText("Ada Lovelace, team crew")
	page.Click("#try .send")
	page.Until(`document.querySelector("#try output").textContent.startsWith("201 ")`)
	page.Click("#try form[method] button")
	page.Click(`[data-section-id="operation/getJobDetails"] .try`)
	page.Until(`/^[0-9a-f-]{36}$/.test(document.querySelector("#try input[name=id]")?.value)`)
	page.Click("#try .send")
	page.Until(`document.querySelector("#try output").textContent.includes("standup-2026-11-20")`)
	page.Until(`!performance.getEntriesByType("resource").some(one => one.name.includes("standin_"))`)
	page.Until(`!JSON.stringify({...localStorage, ...sessionStorage}).includes("standin_test_")`)
}
