package dashboard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/chromedp"

	"standin/internal/testing/testbrowser"
)

// pageTimeout bounds the wait for a page. It is long because the machine may be
// busy.
const pageTimeout = 3 * time.Minute

// retryInterval is how often a test asks a page for an element or a condition.
const retryInterval = 100 * time.Millisecond

// retry is an option of queries. The default, 5 ms, keeps a busy machine busy.
var retry = chromedp.RetryInterval(retryInterval)

// tab is a tab of a real browser, controlled with real input events.
type tab struct {
	*testing.T
	ctx context.Context
}

// openTab opens a tab with its own cookies. Without a browser it skips the test, or
// fails it in CI.
func openTab(t *testing.T) *tab {
	t.Helper()
	path := testbrowser.ForPages(t)
	shared.once.Do(func() { shared.start(path) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	ctx, closeTab := chromedp.NewContext(shared.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(closeTab)
	// The tab closes when the context of its first use ends.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	return &tab{T: t, ctx: ctx}
}

// do runs browser actions.
func (p *tab) do(name string, steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, pageTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.Fatalf("%s: %v; the page shows: %s", name, err, p.text())
	}
}

func (p *tab) open(address string) { p.Helper(); p.do("open "+address, chromedp.Navigate(address)) }

func (p *tab) click(selector string) {
	p.Helper()
	p.untilClicked(selector, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible, retry))
}

// clickText clicks the button or link with the text.
func (p *tab) clickText(text string) {
	p.Helper()
	search := chromedp.Search(`//*[self::button or self::a or self::summary][normalize-space()="` + text + `"]`)
	p.untilClicked(text, chromedp.Click(search, chromedp.NodeVisible, retry))
}

// untilClicked clicks an element. It retries if a live update replaced the element
// before the click.
func (p *tab) untilClicked(name string, click chromedp.Action[chromedp.Void]) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, pageTimeout)
	defer cancel()
	for {
		err := chromedp.Do(ctx, click)
		if err == nil {
			return
		}
		if gone := new(cdproto.Error); !errors.As(err, &gone) || gone.Message != "Could not find node with given id" {
			p.Fatalf("click %s: %v; the page shows: %s", name, err, p.text())
		}
	}
}

func (p *tab) fill(selector, text string) {
	p.Helper()
	p.do("fill "+selector, chromedp.SendKeys(chromedp.CSS(selector), text, retry))
}

func (p *tab) press(keys string) { p.Helper(); p.do("press "+keys, chromedp.KeyEvent(keys)) }

// until waits until a JavaScript expression, which may use await, is true.
func (p *tab) until(condition string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, pageTimeout)
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
			p.Fatalf("timed out waiting for %s (last error: %v); the page shows: %s", condition, err, p.text())
		}
	}
}

// reads returns the value of a JavaScript expression, or of its promise.
func reads[T any](p *tab, expression string) T {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, pageTimeout)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("evaluate %s: %v", clipped(expression), err)
	}
	return value
}

// clipped shortens a text for messages.
func clipped(text string) string { return text[:min(len(text), 200)] }

// awaitText waits until the visible text of the page contains a text.
func (p *tab) awaitText(text string) {
	p.Helper()
	p.until(fmt.Sprintf("document.body.innerText.includes(%s)", quoted(text)))
}

// quoted returns a text as a JavaScript string.
func quoted(text string) string {
	encoded, _ := json.Marshal(text)
	return string(encoded)
}

// at waits until a page is loaded whose path starts with path.
func (p *tab) at(path string) {
	p.Helper()
	p.until("location.pathname.startsWith(" + quoted(path) + ") && document.readyState === 'complete'")
}

// text returns the path and the visible text of the page, for messages.
func (p *tab) text() string {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.pathname + ': ' + document.body.innerText"))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return strings.TrimSpace(text)
}

// signIn signs in on the sign-in page.
func (p *tab) signIn(h *harness, email string) {
	p.Helper()
	p.open(h.BaseURL() + "/signin")
	p.fill(`input[name="email"]`, email)
	p.fill(`input[name="password"]`, password)
	p.clickText("Sign in")
	p.at("/jobs")
}

// clickAt clicks an element at a fraction of its width, when the layout is stable.
func (p *tab) clickAt(selector string, part float64) {
	p.Helper()
	box := reads[[]float64](p, `(async () => {
		let box, still = 0, last = "";
		while (still < 4) {
			const element = document.querySelector(`+quoted(selector)+`);
			element.scrollIntoView({ block: "center" });
			const { left, top, width, height } = element.getBoundingClientRect();
			box = [left, top, width, height];
			still = String(box) === last ? still + 1 : 0;
			last = String(box);
			await new Promise(next => setTimeout(next, 50));
		}
		return box;
	})()`)
	p.do("click into "+selector, chromedp.MouseClickXY(box[0]+box[2]*part, box[1]+box[3]/2))
}
