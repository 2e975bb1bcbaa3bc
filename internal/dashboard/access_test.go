package dashboard_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"standin/internal/job"
)

// setColorScheme sets the preferred color scheme of the browser, light or dark.
func (p *tab) setColorScheme(scheme string) {
	p.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	})
	if err != nil {
		p.Fatalf("set the color scheme %s: %v", scheme, err)
	}
}

// finding is a violation that axe reports.
type finding struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML           string
		FailureSummary string
	}
}

// audit runs axe on the page and returns the violations.
func (p *tab) audit(axe string) []finding {
	p.Helper()
	reads[bool](p, axe+"; true")
	text := reads[string](p, `axe.run(document).then(found => JSON.stringify({ violations: found.violations, passes: found.passes.length }))`)
	var report struct {
		Violations []finding
		Passes     int
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		p.Fatal(err)
	}
	if report.Passes < 10 {
		p.Errorf("only %d rules of axe passed", report.Passes)
	}
	return report.Violations
}

// TestAccessible runs axe on every page, in wide windows with a light color scheme
// and in narrow ones with a dark color scheme.
func TestAccessible(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile(filepath.Join("testdata", "axe", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	h := newHarness(t)
	link := strings.TrimPrefix(h.firstLink(), h.BaseURL())
	outside := openTab(t)
	check := func(page *tab, name, path string) {
		page.Helper()
		for _, scheme := range []string{"light", "dark"} {
			width := int64(1280)
			if scheme == "dark" {
				width = 390
			}
			page.do("set the width", chromedp.EmulateViewport(width, 850))
			page.setColorScheme(scheme)
			page.open(h.BaseURL() + path)
			page.until("document.readyState === 'complete'")
			if wide := reads[int](page, "document.documentElement.scrollWidth"); int64(wide) > width {
				page.Errorf("%s is %d px wide in a window of %d px", name, wide, width)
			}
			for _, found := range page.audit(string(axe)) {
				if !slices.Contains([]string{"serious", "critical", "moderate"}, found.Impact) {
					continue
				}
				for _, node := range found.Nodes {
					page.Errorf("%s, %s: %s (%s): %s\n%s", name, scheme, found.Help, found.Impact, clipped(node.HTML), node.FailureSummary)
				}
			}
		}
	}
	check(outside, "welcome", link)
	f := populate(h)
	check(outside, "signin", "/signin")
	page := openTab(t)
	page.signIn(h, f.ada.Email)
	for name, path := range f.pages() {
		check(page, name, path)
	}
}

// focused is an expression for the label or the text of the focused element.
const focused = `(() => { const one = document.activeElement; return (one.labels?.[0]?.textContent || one.ariaLabel || one.textContent || one.name || one.tagName).trim(); })()`

// tabTo presses the tab key until the focused element has the label or text, or one
// that starts with it.
func (p *tab) tabTo(text string) {
	p.Helper()
	var passed []string
	for range 60 {
		p.press(kb.Tab)
		at := reads[string](p, focused)
		if strings.HasPrefix(at, text) {
			if !reads[bool](p, `document.activeElement.matches(":focus-visible")`) {
				p.Errorf("the focus on %q is not visible", text)
			}
			return
		}
		passed = append(passed, clipped(at))
	}
	p.Fatalf("%q did not get the focus, only %q", text, passed)
}

// TestKeyboardOnly signs in, sends a bot, pauses its recording, makes it leave, and
// signs out, using only the keyboard.
func TestKeyboardOnly(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ada := h.ada()
	page := openTab(t)
	page.open(h.BaseURL() + "/signin")
	page.until(`document.activeElement.name === "email"`)
	page.press(ada.Email + kb.Tab + password + kb.Enter)
	page.at("/jobs")
	page.tabTo("Skip to content")
	page.press(kb.Enter)
	page.until(`location.hash === "#main"`)
	page.tabTo("Live")
	page.tabTo("Test")
	page.tabTo("Send a bot")
	page.press(kb.Enter)
	page.at("/jobs/new")
	page.until(`document.activeElement.name === "meetingUrl"`)
	page.press("https://acme.zoom.us/j/123")
	page.tabTo("Live")
	page.press(kb.ArrowDown) // select Test
	page.until(`document.querySelector('input[name="mode"][value="test"]').checked`)
	page.tabTo("Simulated outcome")
	page.press("slow")
	page.until(`document.querySelector('select[name="simulate"]').value === "slow_meeting"`)
	page.tabTo("Send bot")
	page.press(kb.Enter)
	page.at("/jobs/0")
	page.says("Pause recording")
	page.tabTo("Pause recording")
	page.press(kb.Enter)
	page.says("Resume recording")
	page.tabTo("Leave the meeting")
	page.press(kb.Enter)
	page.says("The bot left on command")
	id := strings.TrimPrefix(reads[string](page, "location.pathname"), "/jobs/")
	if found := h.job(id); found.Status != job.Completed {
		t.Errorf("the job is %s", found.Status)
	}
	page.tabTo("Sign out")
	page.press(kb.Enter)
	page.says("You are signed out.")
}
