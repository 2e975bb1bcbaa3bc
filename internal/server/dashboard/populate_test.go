package dashboard_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
	"standin/internal/recording"
	"standin/internal/recording/storage"
	"standin/internal/testing/await"
)

// sendBot sends a bot with the form and returns the id of the job.
func (p *person) sendBot(form url.Values) uuid.UUID {
	p.Helper()
	got := p.submit("/jobs/new", "/jobs", form)
	found := regexp.MustCompile(`^/jobs/([0-9a-f-]{36})$`).FindStringSubmatch(got.header.Get("Location"))
	if got.status != http.StatusSeeOther || found == nil {
		p.Fatalf("send a bot: %d to %q: %s", got.status, got.header.Get("Location"), got.body)
	}
	return uuid.MustParse(found[1])
}

// simulated sends a test bot.
func (p *person) simulated(address, simulate, externalID string) uuid.UUID {
	p.Helper()
	return p.sendBot(url.Values{
		"mode": {"test"}, "meetingUrl": {address}, "externalId": {externalID}, "metadata": {`{"simulate":` + simulate + `}`},
	})
}

// report posts an event as the bot of a live job.
func (h *harness) report(id uuid.UUID, kind string, data any) {
	h.Helper()
	encoded, err := json.Marshal(map[string]any{
		"kind": kind, "jobId": id, "attempt": 0, "emittedAt": time.Now().UTC().Format(time.RFC3339Nano), "data": data,
	})
	if err != nil {
		h.Fatal(err)
	}
	h.ingest(id, "/api/v1/ingest", string(encoded))
}

// ingest posts JSON as the bot of a live job.
func (h *harness) ingest(id uuid.UUID, path, body string) {
	h.Helper()
	bot := h.person()
	bot.header = http.Header{"Authorization": {"Bearer " + ingest.Token([]byte("key"), id.String(), 0)}}
	bot.sendAs("application/json", http.MethodPost, path, body).want(h.T, path, http.StatusOK)
}

// awaitStatus waits until a job of the consumer has a status, and is cleaned up if that is its last one.
func (h *harness) awaitStatus(consumer uuid.UUID, id uuid.UUID, want job.Status) job.Job {
	h.Helper()
	var found job.Record
	await.Until(h.T, "the job's state", func() bool {
		var err error
		if found, err = h.Store().Job(h.Context(), id); err != nil || found.ConsumerID != consumer ||
			found.Status.Terminal() && found.Status != want {
			h.Fatalf("job %s is %s, not %s (%s): %v", id, found.Status, want, found.FailureDetail, err)
		}
		return found.Status == want && (!want.Terminal() || found.WakeAt.IsZero())
	})
	return found.Job
}

// receiver starts a webhook receiver and returns its URL.
func receiver(t *testing.T, status int, answer string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// populatedHarness is a harness with jobs, keys, a webhook endpoint and an invitation.
type populatedHarness struct {
	*harness
	ada                              account.User
	done, failed, running, scheduled uuid.UUID
	key                              string
}

// recorded adds Ada and a job with a recording to a harness.
func recorded(h *harness) populatedHarness {
	h.Helper()
	f := populatedHarness{harness: h, ada: h.ada()}
	f.done = h.signedIn(f.ada.Email).simulated("https://meet.google.com/abc-mnop-xyz", `{"seconds": 30, "speed": 30}`, "standup-0412")
	h.awaitStatus(f.ada.ConsumerID, f.done, job.Completed)
	h.said(f.done, "Let us look at the quarterly budget.", "The sheet is at https://example.com/budget")
	return f
}

// populate adds data to a harness so that every page has content.
func populate(h *harness) populatedHarness {
	h.Helper()
	f := populatedHarness{harness: h, ada: h.ada()}
	p := h.signedIn("ada@example.test")
	p.submit("/webhooks/settings", "/webhooks/endpoint", url.Values{"url": {receiver(h.T, 200, `{"ok": true}`) + "/standin"}})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(1200 * time.Millisecond): // slow is what takes more than a second
		case <-r.Context().Done():
		}
	}))
	h.Cleanup(slow.Close)
	for _, endpoint := range []url.Values{
		{"url": {receiver(h.T, 503, "down for maintenance") + "/billing"}, "events": {
			"job.status_changed", "job.finalized",
		}, "description": {"Billing"}},
		{"url": {slow.URL + "/warehouse"}, "events": {"job.finalized", "job.failed"}, "description": {"Data warehouse"}},
	} {
		p.submit("/webhooks/new", "/webhooks/endpoints?mode=test", endpoint)
	}
	f.done = p.simulated("https://meet.google.com/abc-mnop-xyz", `{"seconds": 30, "speed": 30}`, "standup-0412")
	for _, outcome := range []string{"lobby_timeout", "host_denied_admission", "meeting_not_found", "auth_failure"} {
		id := p.simulated("https://teams.microsoft.com/l/meetup-join/19%3ameeting", `"`+outcome+`"`, "review-"+outcome)
		if outcome == "host_denied_admission" {
			f.failed = id
		}
	}
	f.running = p.simulated("https://acme.zoom.us/j/8412345678", `{"outcome": "slow_meeting", "seconds": 3000}`, "sales-call-77")
	f.scheduled = p.sendBot(url.Values{
		"mode": {"live"}, "meetingUrl": {
			"https://meet.google.com/qrs-tuvw-efg",
		}, "displayName": {"Crew’s notetaker"}, "externalId": {"board-2026-12"},
		"joinAtMoment": {time.Now().Add(26 * time.Hour).UTC().Format(time.RFC3339)}, "joinAt": {"2026-12-01T10:00"},
	})
	p.sendBot(url.Values{
		"mode": {"live"}, "meetingUrl": {"https://acme.zoom.us/j/98765432101"}, "externalId": {"all-hands"},
		"joinAtMoment": {time.Now().Add(3 * time.Hour).UTC().Format(time.RFC3339)}, "joinAt": {"x"},
	})
	p.submit("/keys", "/keys", url.Values{"name": {"Tests"}, "mode": {"test"}, "scope": {"read"}, "days": {"90"}})
	key := regexp.MustCompile(`standin_live_[\w-]{43}`).FindString(p.submit("/keys", "/keys", url.Values{
		"name": {"CI"}, "mode": {"live"}, "scope": {"jobs"},
	}).body)
	if f.key = key; key == "" {
		h.Fatal("no key was created")
	}
	p.submit("/team", "/team/invite", url.Values{"email": {"grace@example.test"}})
	h.awaitStatus(f.ada.ConsumerID, f.done, job.Completed)
	h.said(f.done, "Let us look at the quarterly budget.", "The sheet is at https://example.com/budget")
	h.awaitStatus(f.ada.ConsumerID, f.failed, job.Failed)
	h.awaitStatus(f.ada.ConsumerID, f.running, job.RecordingStarted)
	return f
}

// changeManifest changes the stored manifest of a job.
func (h *harness) changeManifest(dir string, id uuid.UUID, change func(*recording.Manifest)) {
	h.Helper()
	recordings, err := storage.Open(h.Context(), (&url.URL{Scheme: "file", Path: filepath.Join(dir, "recordings")}).String(), nil)
	if err != nil {
		h.Fatal(err)
	}
	defer recordings.Close()
	text, err := recordings.Manifest(h.Context(), id)
	if err != nil {
		h.Fatal(err)
	}
	var manifest recording.Manifest
	if err := json.Unmarshal(text, &manifest); err != nil {
		h.Fatal(err)
	}
	change(&manifest)
	if err := recordings.PutManifest(h.Context(), id, manifest); err != nil {
		h.Fatal(err)
	}
}

// deliveries returns the webhook deliveries of a job.
func (h *harness) deliveries(id uuid.UUID) []webhook.DeliveryRecord {
	h.Helper()
	found, _, err := h.Store().ListDeliveries(h.Context(), id, webhook.DeliveryCursor{}, lifecycle.MaxPage, time.Now())
	if err != nil {
		h.Fatal(err)
	}
	return found
}

// pages returns the paths of all pages that need a session, by name.
func (f populatedHarness) pages() map[string]string {
	f.Helper()
	return map[string]string{
		"jobs": "/jobs?mode=test", "jobs-live": "/jobs", "send": "/jobs/new", "job-done": "/jobs/" + f.done.String(), "job-failed": "/jobs/" +
			f.failed.String(),
		"job-running": "/jobs/" + f.running.String(), "webhook-job": "/jobs/" + f.done.String() + "/deliveries",
		"search": "/search?mode=test&q=budget", "calendars": "/calendars", "calendar": f.calendarPage(), "keys": "/keys",
		"webhooks": "/webhooks?mode=test", "usage": "/usage?mode=test", "team": "/team", "audit": "/team/audit", "account": "/account",
		"usage-teams": "/usage?mode=test&by=team", "operator": "/operator?mode=test", "operator-live": "/operator?mode=live",
		"operator-bots": "/operator/bots",
		"failures":      "/operator/failures?mode=test", "alerts": "/operator/alerts", "system": "/operator/system", "mail": "/operator/mail",
		"missing":     "/jobs/nothing",
		"cli":         f.cliPage(),
		"webhook-new": "/webhooks/new", "webhook-endpoint": f.endpointPage(), "webhook-log": "/webhooks/deliveries?mode=test&state=delivered",
		"webhook-delivery": "/webhooks/deliveries/" + f.deliveries(f.done)[0].ID, "webhook-events": "/webhooks/events",
	}
}

// endpointPage registers an endpoint and returns the path of its page.
func (f populatedHarness) endpointPage() string {
	f.Helper()
	got := f.signedIn(f.ada.Email).submit("/webhooks/new", "/webhooks/endpoints?mode=test", url.Values{
		"url": {receiver(f.T, 200, "") + "/calls"}, "description": {"Sync with the CRM"}, "events": {"job.finalized", "chat.message"},
	})
	if got.status != http.StatusSeeOther {
		f.Fatalf("add an endpoint: %d %s", got.status, got.body)
	}
	return got.header.Get("Location")
}

// calendarPage connects a calendar and returns the path of its page.
func (f populatedHarness) calendarPage() string {
	f.Helper()
	got := f.signedIn(f.ada.Email).submit("/calendars", "/calendars", url.Values{
		"name": {"Ada"}, "address": {calendarFeed(f.T) + "/secret.ics"},
	})
	if got.status != http.StatusSeeOther {
		f.Fatalf("connect a calendar: %d %s", got.status, got.body)
	}
	return got.header.Get("Location")
}

// cliPage starts a device flow and returns the path of the page that authorizes it.
func (h *harness) cliPage() string {
	h.Helper()
	var flow struct{ VerifyURL string }
	if got := h.person().post("/api/v1/cli-auth/init", nil); json.Unmarshal([]byte(got.body), &flow) != nil || flow.VerifyURL == "" {
		h.Fatalf("start a device flow: %s", got.body)
	}
	address, err := url.Parse(flow.VerifyURL)
	if err != nil {
		h.Fatal(err)
	}
	return address.RequestURI()
}

// job returns a job.
func (h *harness) job(id string) job.Job {
	h.Helper()
	found, err := h.Store().Job(h.Context(), uuid.MustParse(id))
	if err != nil {
		h.Fatal(err)
	}
	return found.Job
}
