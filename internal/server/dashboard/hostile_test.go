package dashboard_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/server/service"
)

// hostile is a text that closes common contexts in HTML and sets window.pwned if any
// part of it is interpreted.
const hostile = `</script></textarea></title>--><script>window.pwned=1</script><img src=x onerror="window.pwned=1"><svg onload=window.pwned=1>` +
	`"' autofocus onfocus=window.pwned=1 x='{{.}}${window.pwned=1}<a href="javascript:window.pwned=1">`

// harmless is an expression that is true if no part of hostile is interpreted.
const harmless = `!window.pwned && document.querySelectorAll("img[src=x], svg[onload], [onfocus], [onerror], a[href^='javascript:'], script:not([src])").length === 0`

// TestHostileTexts puts markup and scripts into every field that a meeting, a
// consumer, a receiver or another user controls. It checks in a real browser that
// every page and its live updates show them as text.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	var dir string
	h := newHarness(t, func(s *service.Settings) { dir, s.WebhookPrivateResponses = s.DataDir, true })
	name := hostile[:99]
	ada := h.firstUser(name, hostile[20:110])
	p := h.signedIn("ada@example.test")
	hook := receiver(t, 500, hostile) + "/?" + url.QueryEscape(hostile)
	p.submit("/webhooks/settings", "/webhooks/endpoint", url.Values{"url": {hook}})
	metadata, err := json.Marshal(map[string]string{"note": hostile, hostile: "x"})
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{
		"mode": {"live"}, "meetingUrl": {"https://meet.google.com/abc-defg-hij?note=" +
			strings.Join(strings.Fields(hostile), "")}, "externalId": {hostile},
		"displayName": {hostile}, "metadata": {string(metadata)},
	}
	failed := p.sendBot(form)
	form.Set("mode", "test")
	done := p.sendBot(form)
	h.report(failed, "lifecycle.joined", map[string]string{hostile: hostile})
	h.awaitStatus(ada.ConsumerID, failed, job.Joining)

	page := openTab(t)
	page.signIn(h, "ada@example.test")
	check := func(path, shows string) {
		t.Helper()
		page.Open(h.BaseURL() + path)
		page.Until("document.readyState === 'complete'")
		page.AwaitText(shows)
		page.Until(harmless)
	}
	const reported = `<script>window.pwned=1</script>`
	check("/jobs/"+failed.String(), reported)
	// The failure and the webhook response arrive as live updates.
	h.report(failed, "lifecycle.competing_bot_detected", map[string]any{"detectedBotName": hostile})
	h.report(failed, "lifecycle.exited", map[string]any{"failureCode": "internal_error", "failureDetail": "live: " + hostile})
	page.AwaitText("live: " + hostile)
	page.Until(`document.querySelector(".tries pre")?.textContent.includes("window.pwned=1")`)
	page.Until(harmless)

	h.awaitStatus(ada.ConsumerID, done, job.Completed)
	h.changeManifest(dir, done, func(m *recording.Manifest) {
		detail := hostile
		m.End = recording.End{Reason: hostile, Detail: &detail}
		m.Gaps = []recording.Gap{{StartMs: 100, EndMs: 200, Reason: hostile}}
		for i := range m.Participants {
			m.Participants[i].Name = hostile
		}
		m.Media[0].Codecs, m.Media[0].SHA256 = hostile, hostile
		m.Media = append(m.Media, recording.Media{File: recording.File{Name: hostile, Kind: "chat", ContentType: "text/html", SHA256: "0"}})
		m.Consent = []recording.Consent{{CommandID: hostile, Outcome: recording.ConsentOutcome(hostile)}}
	})
	check("/jobs/"+done.String(), reported)
	page.ClickText("Participants and speech")
	page.Until(harmless)
	for path, shows := range map[string]string{
		"/jobs": reported, "/jobs?mode=test": reported, "/jobs?search=" +
			url.QueryEscape(hostile): "Google Meet", "/operator": reported, "/webhooks/settings": "Default endpoint",
		"/team": name[:40], "/keys": "API keys", "/jobs/new?meetingUrl=" + url.QueryEscape(hostile): "Send a bot",
		"/webhooks/deliveries/" + h.deliveries(failed)[0].ID:                             reported,
		"/jobs?note=" + url.QueryEscape(hostile) + "&status=" + url.QueryEscape(hostile): "no such status", "/jobs?from=" +
			url.QueryEscape(hostile): "Dates must have the form",
	} {
		check(path, shows)
	}
	page.Open(h.BaseURL() + "/webhooks/settings")
	page.ClickText("Send a test event")
	page.AwaitText("It responded with 500")
	page.AwaitText(reported)
	page.Until(harmless)
	page.Open(h.BaseURL() + "/jobs/new")
	page.Fill("#meetingUrl", "https://meet.google.com/"+hostile)
	page.AwaitText("Google Meet")
	page.Until(harmless)
	for _, path := range []string{"/signin?next=" + url.QueryEscape(hostile), "/welcome?token=" + url.QueryEscape(hostile)} {
		visitor := openTab(t)
		visitor.Open(h.BaseURL() + path)
		visitor.Until("document.readyState === 'complete' && " + harmless)
	}
}
