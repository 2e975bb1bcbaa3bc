package testbrowser

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

const (
	// pageTimeout bounds the wait for a page. It is long because the machine may be busy.
	pageTimeout = 3 * time.Minute
	// retryInterval is how often a test asks a page for an element or a condition.
	retryInterval = 100 * time.Millisecond
)

// Retry is an option of queries, which repeat less often with it than by default: a busy machine stays responsive.
var Retry = chromedp.RetryInterval(retryInterval)

// Pages is a browser whose tabs tests share. It starts with the first tab. The zero
// value is ready to use.
type Pages struct {
	Flags map[string]any // of the command line, besides those of all tests

	once   sync.Once
	folder string
	ctx    context.Context //nolint:containedctx // the browser, for chromedp
	stop   context.CancelFunc
	err    error
}

// start starts the browser of ForPages.
func (b *Pages) start(path string) {
	if b.folder, b.err = os.MkdirTemp("", "standin-test-browser-"); b.err != nil {
		return
	}
	flags := map[string]any{
		"headless": "new", "autoplay-policy": "no-user-gesture-required", "lang": "en-US", "window-size": "1280,900", "mute-audio": true,
		"disable-background-networking": true, "disable-background-timer-throttling": true, "disable-backgrounding-occluded-windows": true,
		"disable-renderer-backgrounding": true, "disable-component-update": true, "disable-sync": true, "no-first-run": true,
		"password-store": "basic", "use-mock-keychain": true, "force-color-profile": "srgb", "hide-scrollbars": true,
		"disable-features": "PasswordManagerOnboarding,PasswordLeakDetection,WebUIOmniboxPopup,WebUIOmniboxAimPopup",
	}
	maps.Copy(flags, b.Flags)
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(filepath.Join(b.folder, "profile")), chromedp.Env("TMPDIR=" + b.folder),
	}
	for name, value := range flags {
		options = append(options, chromedp.Flag(name, value))
	}
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeBrowser := chromedp.NewContext(allocator)
	b.ctx, b.stop = ctx, func() { closeBrowser(); stop() }
	b.err = chromedp.Do(ctx)
}

// Close stops the browser and removes its files.
func (b *Pages) Close() {
	if b.stop != nil {
		b.stop()
	}
	if b.folder != "" {
		_ = os.RemoveAll(b.folder) // of a temporary folder
	}
}

// Tab is a tab of a browser, controlled with input events.
type Tab struct {
	*testing.T
	Ctx context.Context //nolint:containedctx // the tab, for chromedp
}

// Open opens a tab with its own cookies, which is closed with the test. Without a browser
// it skips the test, or fails it in CI.
func (b *Pages) Open(t *testing.T) *Tab {
	t.Helper()
	path := ForPages(t)
	b.once.Do(func() { b.start(path) })
	if b.err != nil {
		t.Fatalf("start %s: %v", path, b.err)
	}
	ctx, closeTab := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(closeTab)
	// The tab closes when the context of its first use ends.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	// Only one tab has the focus, and without it pages ignore input.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatalf("give the tab the focus: %v", err)
	}
	return &Tab{T: t, Ctx: ctx}
}

// OpenTab opens a tab of a browser of its own, which is closed with the test.
func OpenTab(t *testing.T) *Tab {
	t.Helper()
	pages := new(Pages)
	t.Cleanup(pages.Close)
	return pages.Open(t)
}

// Do runs actions.
func (p *Tab) Do(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, pageTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.Fatalf("%s: %v; the page shows: %s", what, err, p.Text())
	}
}

// Open opens a page.
func (p *Tab) Open(address string) { p.Helper(); p.Do("open "+address, chromedp.Navigate(address)) }

// Click clicks an element.
func (p *Tab) Click(selector string) {
	p.Helper()
	p.click(selector, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible, Retry))
}

// ClickText clicks the button or link with the text.
func (p *Tab) ClickText(text string) {
	p.Helper()
	search := chromedp.Search(`//*[self::button or self::a or self::summary][normalize-space()="` + text + `"]`)
	p.click(text, chromedp.Click(search, chromedp.NodeVisible, Retry))
}

// click clicks an element. It retries if an update of the page replaced the element before
// the click.
func (p *Tab) click(name string, click chromedp.Action[chromedp.Void]) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, pageTimeout)
	defer cancel()
	for {
		err := chromedp.Do(ctx, click)
		if err == nil {
			return
		}
		if gone := new(cdproto.Error); !errors.As(err, &gone) || gone.Message != "Could not find node with given id" {
			p.Fatalf("click %s: %v; the page shows: %s", name, err, p.Text())
		}
	}
}

// Fill types a text into an element.
func (p *Tab) Fill(selector, text string) {
	p.Helper()
	p.Do("fill "+selector, chromedp.SendKeys(chromedp.CSS(selector), text, Retry))
}

// Press presses keys.
func (p *Tab) Press(keys string) { p.Helper(); p.Do("press "+keys, chromedp.KeyEvent(keys)) }

// Until waits until a JavaScript expression, which may use await, is true.
func (p *Tab) Until(condition string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, pageTimeout)
	defer cancel()
	ticker := time.NewTicker(retryInterval)
	defer ticker.Stop()
	for {
		holds, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("(async () => !!("+condition+"))()", chromedp.EvalAwaitPromise))
		if err == nil && holds {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			p.Fatalf("timeout waiting for %s (last error: %v); the page shows: %s", condition, err, p.Text())
		}
	}
}

// AwaitText waits until the visible text of the page contains a text.
func (p *Tab) AwaitText(text string) {
	p.Helper()
	p.Until("document.body.innerText.includes(" + Quote(text) + ")")
}

// Eval returns the value of a JavaScript expression, or of its promise.
func Eval[T any](p *Tab, expression string) T {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, pageTimeout)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("evaluate %s: %v", expression[:min(len(expression), 200)], err)
	}
	return value
}

// Quote returns a text as a JavaScript string.
func Quote(text string) string {
	encoded, _ := json.Marshal(text) // of a string
	return string(encoded)
}

// Text returns the path and the visible text of the page.
func (p *Tab) Text() string {
	ctx, cancel := context.WithTimeout(p.Ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.pathname + ': ' + document.body.innerText"))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return strings.TrimSpace(text)
}
