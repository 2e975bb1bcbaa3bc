package dashboard_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"standin/internal/account"
	"standin/internal/operation/alert"
	"standin/internal/server/service"
	"standin/internal/testing/await"
)

// TestScreenshots writes screenshots of each page, with a light and a dark color scheme
// and the size of a phone, to the folder in STANDIN_SCREENSHOTS (make screenshots). It
// checks nothing that TestAccessible does not check, so it runs only on demand.
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("STANDIN_SCREENSHOTS")
	if folder == "" {
		t.Skip("STANDIN_SCREENSHOTS is not set; use make screenshots")
	}
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // screenshots are public
		t.Fatal(err)
	}
	h := newHarness(t, func(s *service.Settings) {
		s.ShareLinks = 168 * time.Hour
		s.Alerts = alert.Options{
			Webhook: receiver(t, 200, ""), WebhookSecret: "whsec_c2VjcmV0", FailureRate: 10, Endpoint: 15 * time.Minute,
			Disk: 90, Capacity: 5 * time.Minute,
		}
	})
	link := h.firstLink()
	outside := openTab(t)
	shoot(outside, folder, "welcome", link)
	f := populate(h)
	shoot(outside, folder, "signin", h.BaseURL()+"/signin")
	shoot(outside, folder, "shared", h.BaseURL()+sharedLink(f.signedIn(f.ada.Email), "/jobs/"+f.done.String()))
	page := openTab(t)
	page.signIn(h, f.ada.Email)
	claimed, err := h.Store().ClaimAlert(t.Context(), "endpoint_failing ", "webhook", true, time.Now(), time.Now(), time.Now())
	if err = errors.Join(err, h.Store().RecordAlert(t.Context(), "endpoint_failing ", "webhook", true, time.Now())); err != nil || !claimed {
		t.Fatal(err)
	}
	pages := f.pages()
	user := f.signedIn(f.ada.Email)
	await.Until(t, "a dead delivery", func() bool { return strings.Contains(user.get(pages["webhooks"]).body, ">dead<") }) // after five attempts
	pages["jobs-filtered"] = "/jobs?mode=test&search=nothing"
	pages["start"], pages["search-empty"] = "/jobs?mode=live&status=joining", "/search?mode=test"
	pages["failures-empty"], pages["webhooks-live"], pages["webhook-log-live"] = "/operator/failures?mode=live", "/webhooks?mode=live",
		"/webhooks/deliveries?mode=live"
	for name, path := range pages {
		shoot(page, folder, name, h.BaseURL()+path)
	}
	f.withRole("viewer@example.test", account.Viewer)
	viewer := openTab(t)
	viewer.signIn(h, "viewer@example.test")
	for _, name := range []string{"jobs", "job-done", "job-running", "keys", "webhooks", "webhook-endpoint", "calendars", "team"} {
		shoot(viewer, folder, "viewer-"+name, h.BaseURL()+pages[name])
	}
	h.otherUser() // of a team without anything
	fresh := openTab(t)
	fresh.signIn(h, "bob@example.test")
	for name, path := range map[string]string{
		"jobs": "/jobs?mode=live", "usage": "/usage", "keys": "/keys", "webhooks": "/webhooks", "calendars": "/calendars",
	} {
		shoot(fresh, folder, "fresh-"+name, h.BaseURL()+path)
	}
}

// shoot takes the screenshots of a page.
func shoot(page *tab, folder, name, address string) {
	page.Helper()
	for _, one := range []struct {
		suffix, scheme string
		width, height  int64
	}{{"-light", "light", 1280, 860}, {"-dark", "dark", 1280, 860}, {"-phone", "light", 390, 844}} {
		page.Do("set the size", chromedp.EmulateViewport(one.width, one.height))
		page.setColorScheme(one.scheme)
		page.Open(address)
		page.Until(`document.readyState === "complete" && [...document.querySelectorAll("video")].every(one => one.readyState >= 2)`)
		page.Until(`[...document.querySelectorAll("[data-live]")].every(one => one.dataset.connected === "yes")`)
		if name == "job-done" {
			page.Until(`(document.querySelector("video").currentTime = 7, true)`)
			page.Until(`!document.querySelector("video").seeking && document.querySelector("[data-position]").textContent.startsWith("0:07")`)
		}
		screenshot, err := chromedp.Run(page.Ctx, chromedp.FullScreenshot(100))
		if err != nil {
			page.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+one.suffix+".png"), screenshot, 0o644); err != nil { //nolint:gosec // see above
			page.Fatal(err)
		}
	}
}
