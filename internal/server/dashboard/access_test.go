package dashboard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/server/service"
	"standin/internal/store"
	"standin/internal/testing/testbrowser"
)

// setColorScheme sets the preferred color scheme of the browser, light or dark.
func (p *tab) setColorScheme(scheme string) {
	p.Helper()
	_, err := chromedp.Call(p.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
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
	if !testbrowser.Eval[bool](p.Tab, `"axe" in window`) {
		testbrowser.Eval[bool](p.Tab, axe+"; true")
	}
	text := testbrowser.Eval[string](p.Tab, `axe.run(document, { resultTypes: ["violations"] })
		.then(found => JSON.stringify({ violations: found.violations, passes: found.passes.length }))`)
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

// brokenWords returns the words in cells of tables that are on two lines, other than parts of IDs.
const brokenWords = `[...document.querySelectorAll("td,th")].flatMap(cell => {
	const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), broken = [];
	while (texts.nextNode()) {
		if (texts.currentNode.parentElement.closest(".id,.sum,code,pre")) continue;
		for (const word of texts.currentNode.data.matchAll(/[\p{L}\p{N}]{2,30}/gu)) {
			const range = document.createRange();
			range.setStart(texts.currentNode, word.index);
			range.setEnd(texts.currentNode, word.index + word[0].length);
			if (new Set([...range.getClientRects()].map(one => Math.round(one.top))).size > 1) broken.push(word[0]);
		}
	}
	return broken;
})`

// TestAccessible runs axe on every page, in wide windows with a light color scheme and in
// narrow ones with a dark color scheme; the short run on each page in one of them. In wide ones, no word of a table is broken.
func TestAccessible(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile(filepath.Join("testdata", "axe", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	h := newHarness(t, func(s *service.Settings) { s.ShareLinks = time.Hour })
	link := strings.TrimPrefix(h.firstLink(), h.BaseURL())
	outside := openTab(t)
	checked := 0
	check := func(page *tab, name, path string) {
		page.Helper()
		checked++
		page.Open(h.BaseURL() + path)
		page.Until("document.readyState === 'complete'")
		for i, look := range []struct {
			scheme string
			width  int64
		}{{"light", 1280}, {"dark", 390}} {
			if testing.Short() && checked%2 != i {
				continue
			}
			page.Do("set the width", chromedp.EmulateViewport(look.width, 850))
			page.setColorScheme(look.scheme)
			page.Until(fmt.Sprintf(`innerWidth === %d && matchMedia("(prefers-color-scheme: %s)").matches`, look.width, look.scheme))
			if wide := testbrowser.Eval[int64](page.Tab, "document.documentElement.scrollWidth"); wide > look.width {
				page.Errorf("%s is %d px wide in a window of %d px", name, wide, look.width)
			}
			if broken := testbrowser.Eval[[]string](page.Tab, brokenWords); len(broken) > 0 && look.width == 1280 {
				page.Errorf("%s breaks inside words of a table: %q", name, broken)
			}
			for _, found := range page.audit(string(axe)) {
				if !slices.Contains([]string{"serious", "critical", "moderate"}, found.Impact) {
					continue
				}
				for _, node := range found.Nodes {
					page.Errorf("%s, %s: %s (%s): %s\n%s", name, look.scheme, found.Help, found.Impact, clipped(node.HTML), node.FailureSummary)
				}
			}
		}
	}
	check(outside, "welcome", link)
	f := populate(h)
	check(outside, "signin", "/signin")
	check(outside, "shared", sharedLink(f.signedIn(f.ada.Email), "/jobs/"+f.done.String()))
	page := openTab(t)
	page.signIn(h, f.ada.Email)
	pages := f.pages()
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		check(page, name, pages[name])
	}
}

// focused is an expression for the label or the text of the focused element.
const focused = `(() => {
	const one = document.activeElement;
	return (one.labels?.[0]?.textContent || one.ariaLabel || one.textContent || one.name || one.tagName).trim();
})()`

// tabTo presses the tab key until the focused element has the label or text, or one
// that starts with it.
func (p *tab) tabTo(text string) {
	p.Helper()
	var passed []string
	for range 60 {
		p.Press(kb.Tab)
		at := testbrowser.Eval[string](p.Tab, focused)
		if strings.HasPrefix(at, text) {
			if !testbrowser.Eval[bool](p.Tab, `document.activeElement.matches(":focus-visible")`) {
				p.Errorf("the focus on %q is not visible", text)
			}
			return
		}
		passed = append(passed, clipped(at))
	}
	p.Fatalf("%q did not get the focus, only %q", text, passed)
}

// TestLinkWarning checks that the form warns about a link that leads to no meeting
// before it is sent: on the page and while the user types. A test bot opens no link.
func TestLinkWarning(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	p := h.signedIn(h.ada().Email)
	for link, want := range map[string]string{
		"https://zoom.us/u/123":                "This Zoom link lists telephone numbers.",
		"https://meet.google.com/new":          "no meeting code",
		"https://evil.test/abc":                "STANDIN_ALLOWED_MEETING_HOSTS",
		"https://meet.google.com/abc-defg-hij": "",
	} {
		for path, warns := range map[string]bool{
			"/jobs/new?mode=live&meetingUrl=": true, "/jobs/new?mode=test&meetingUrl=": false, "/jobs/new/platform?text=": true,
		} {
			got := p.get(path + url.QueryEscape(link))
			for _, warning := range []string{"telephone", "no meeting code", "STANDIN_ALLOWED"} {
				if expected := warns && strings.Contains(want, warning); strings.Contains(got.body, warning) != expected {
					t.Errorf("%s%s: %q is shown: %v, want %v", path, link, warning, !expected, expected)
				}
			}
		}
	}
}

// TestPrelaunchedJobIsScheduled checks that the pages show a job as scheduled whose bot
// was launched before joinAt.
func TestPrelaunchedJobIsScheduled(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	p := h.signedIn(h.ada().Email)
	id := p.sendBot(url.Values{
		"mode": {"live"}, "meetingUrl": {"https://meet.google.com/abc-defg-hij"},
		"joinAt": {"2999-01-01T10:00"}, "joinAtMoment": {"2999-01-01T10:00:00Z"},
	})
	job := regexp.MustCompile(`(?s)<main.*</main>`)
	before := job.FindString(p.get("/jobs/" + id.String()).body)
	err := h.Store().Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.LockJob(ctx, id)
		if err != nil {
			return err
		}
		r.Prelaunch, r.Node = "launched", "a node"
		r.AttemptStartedAt, r.LaunchedAt, r.HeartbeatAt = time.Now(), time.Now(), time.Now()
		return tx.SaveJob(ctx, store.JobChange{Record: r})
	})
	if err != nil {
		t.Fatal(err)
	}
	after := job.FindString(p.get("/jobs/" + id.String()).body)
	if before == "" || after != before || !strings.Contains(after, "scheduled") {
		t.Errorf("the page changed from\n%s\nto\n%s", before, after)
	}
	if operator := p.get("/operator"); strings.Contains(operator.body, id.String()) {
		t.Error("the operator's page lists the bot as running")
	}
}

// TestKeyboardOnly signs in, sends a bot, pauses its recording, makes it leave, and
// signs out, using only the keyboard.
func TestKeyboardOnly(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ada := h.ada()
	page := openTab(t)
	page.Open(h.BaseURL() + "/signin")
	page.Until(`document.activeElement.name === "email"`)
	page.Press(ada.Email + kb.Tab + password + kb.Enter)
	page.at("/jobs")
	page.tabTo("Skip to content")
	page.Press(kb.Enter)
	page.Until(`location.hash === "#main"`)
	page.tabTo("Send a bot")
	page.Press(kb.Enter)
	page.at("/jobs/new")
	page.Until(`document.activeElement.name === "meetingUrl"`)
	page.Press("https://acme.zoom.us/u/123")
	page.AwaitText("This Zoom link lists telephone numbers.") // before it is sent
	page.Press(kb.Backspace + kb.Backspace + kb.Backspace + kb.Backspace + kb.Backspace + "j/81200000123")
	page.Until(`!document.getElementById("detected").textContent.includes("telephone")`)
	page.tabTo("Live")
	page.Press(kb.ArrowDown) // select Test
	page.Until(`document.querySelector('input[name="mode"][value="test"]').checked`)
	page.tabTo("Simulated outcome")
	page.Press("slow")
	page.Until(`document.querySelector('select[name="simulate"]').value === "slow_meeting"`)
	page.tabTo("Send bot")
	page.Press(kb.Enter)
	page.at("/jobs/0")
	page.AwaitText("Pause recording")
	page.tabTo("Pause recording")
	page.Press(kb.Enter)
	page.AwaitText("Resume recording")
	page.tabTo("Leave the meeting")
	page.Press(kb.Enter)
	page.AwaitText("The bot left on command")
	id := strings.TrimPrefix(testbrowser.Eval[string](page.Tab, "location.pathname"), "/jobs/")
	if found := h.job(id); found.Status != job.Completed {
		t.Errorf("the job is %s", found.Status)
	}
	page.tabTo("Ada Lovelace")
	page.Press(kb.Enter)
	page.tabTo("Sign out")
	page.Press(kb.Enter)
	page.AwaitText("You are signed out.")
}

// TestRunningBotsHavePages checks that the operator page links to the bots that do not
// fit on it.
func TestRunningBotsHavePages(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ada := h.ada()
	p := h.signedIn(ada.Email)
	err := h.Store().Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		now, later := time.Now(), time.Now().Add(time.Hour)
		for i := range 201 {
			_, err := tx.InsertJob(ctx, job.Record{Job: job.Job{
				ID: uuid.Must(uuid.NewV7()), ConsumerID: ada.ConsumerID, Mode: job.Live, ExternalID: strconv.Itoa(i),
				MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet, DisplayName: "Standin", JoinAt: now, CreatedAt: now,
				Metadata: []byte(`{}`), AutoLeave: job.DefaultAutoLeave(), State: job.State{Status: job.InMeeting, Attempts: 1},
			}, StatusSince: now, WakeAt: later})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const row, link = `<td data-name="Attempt"`, `<a href="/operator/bots?skip=200">Next page</a>`
	for path, want := range map[string]struct {
		rows int
		next bool
	}{"/operator": {200, true}, "/operator/bots": {200, true}, "/operator/bots?skip=200": {1, false}, "/operator/bots?skip=201": {0, false}} {
		got := p.get(path)
		if rows := strings.Count(got.body, row); got.status != http.StatusOK || rows != want.rows ||
			strings.Contains(got.body, link) != want.next {
			t.Errorf("%s: status %d, %d bots, next page %v; want %d bots, next page %v", path, got.status, rows, strings.Contains(got.body, link),
				want.rows, want.next)
		}
	}
	if got := p.get("/operator/bots?skip=-1"); got.status != http.StatusNotFound {
		t.Errorf("a negative number of bots to skip: status %d", got.status)
	}
}

// TestControlCharactersAreRefused puts a NUL into a field of a form, the metadata and
// the query of pages.
func TestControlCharactersAreRefused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	p := h.signedIn(h.ada().Email)
	const link = "https://meet.google.com/abc-defg-hij"
	for name, form := range map[string]url.Values{
		"displayName": {"mode": {"live"}, "meetingUrl": {link}, "displayName": {"a\x00"}},
		"metadata":    {"mode": {"live"}, "meetingUrl": {link}, "metadata": {`{"a":["\u0000"]}`}},
		"encoding":    {"mode": {"live"}, "meetingUrl": {link}, "externalId": {"\xff"}},
	} {
		p.submit("/jobs/new", "/jobs", form).want(t, name, 400, "must ")
	}
	p.get("/jobs?search=%00").want(t, "a query", 400)
}
