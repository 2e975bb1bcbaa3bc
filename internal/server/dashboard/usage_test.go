package dashboard_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"standin/internal/operation/alert"
	"standin/internal/server/service"
)

// TestUsagePages checks what simulated jobs have used, by day, by team and as a table, and
// why they have failed.
func TestUsagePages(t *testing.T) {
	t.Parallel()
	f := populate(newHarness(t))
	f.otherUser()
	ada, bob := f.signedIn(f.ada.Email), f.signedIn("bob@example.test")
	today := time.Now().UTC().Format("Mon, 2 Jan 2006")
	for path, want := range map[string][]string{
		"/usage?mode=test":         {today, "Recorded", "Stored now", `download>Download CSV`},
		"/usage?mode=test&by=team": {`class="break">crew</td>`},
		"/usage?mode=live":         {"No live jobs ended in these days."},
		"/usage.csv?mode=test":     {"date,jobs,completed,", "\n" + time.Now().UTC().Format(time.DateOnly) + ","},
		"/usage.csv?mode=test&by=team&from=2026-01-01&to=2026-01-02": {"team,kept_bytes,jobs,", "\ncrew,"},
		"/operator?mode=test": {"host denied admission", `hours=168" aria-label="1 in 7 days: meeting not found, `},
		"/operator?mode=live": {"No live job has failed in the last 7 days."},
		"/operator/failures?mode=test&code=lobby_timeout&platform=teams&hours=24": {"<strong>lobby timeout</strong>", `<a class="main" href="/jobs/0`},
		"/operator/failures?mode=test&code=lobby_timeout&platform=meet":           {"No test job has failed like this."},
	} {
		got := ada.get(path)
		for _, text := range want {
			if got.status != http.StatusOK || !strings.Contains(got.body, text) {
				t.Errorf("%s (%d) lacks %q: %s", path, got.status, text, got.body)
			}
		}
	}
	for path, want := range map[string]int{
		"/usage?from=2026-02-01&to=2026-01-01": 400, "/usage.csv?from=x": 400, "/usage?from=2020-01-01": 400,
		"/operator/failures?after=x.y": 404, "/operator/failures?code=x&hours=x": 200,
	} {
		ada.get(path).want(t, path, want)
	}
	if got := bob.get("/usage?mode=test&by=team"); strings.Contains(got.body, "crew") || !strings.Contains(got.body, "No test jobs ended") {
		t.Errorf("a user who is no operator sees other teams: %s", got.body)
	}
}

// TestAlertsPage checks that operators see the rules without secrets, and send a test alert.
func TestAlertsPage(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(s *service.Settings) {
		s.Alerts = alert.Options{
			Webhook: receiver(t, 500, "") + "/path-with-a-secret", WebhookSecret: "whsec_c2VjcmV0",
			Endpoint: 15 * time.Minute,
		}
	})
	ada := h.signedIn(h.ada().Email)
	page := ada.get("/operator/alerts").body
	for _, want := range []string{
		"endpoint failing", "A webhook endpoint has failed for 15m", `<span class="badge still">off</span>`,
		`<span class="badge good">ok</span>`, "STANDIN_ALERT_DISK", "canary mismatch",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "path-with-a-secret") || strings.Contains(page, "c2VjcmV0") {
		t.Error("the page shows a secret")
	}
	ada.submit("/operator/alerts", "/operator/alerts/test", nil).want(t, "a test alert to a broken receiver", http.StatusOK,
		"was not delivered by webhook. Status 500")
	silent := newHarness(t)
	ada = silent.signedIn(silent.ada().Email)
	if got := ada.submit("/operator/alerts", "/operator/alerts/test", nil); got.status != http.StatusConflict ||
		!strings.Contains(ada.get("/operator/alerts").body, "Alerts go nowhere") {
		t.Errorf("without a way to send alerts: %d", got.status)
	}
}
