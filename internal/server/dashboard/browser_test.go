package dashboard_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"standin/internal/testing/testbrowser"
)

// tab is a tab of the browser that all tests of this package share.
type tab struct{ *testbrowser.Tab }

var shared testbrowser.Pages

// openTab opens a tab with its own cookies.
func openTab(t *testing.T) *tab { t.Helper(); return &tab{shared.Open(t)} }

// clipped shortens a text for messages.
func clipped(text string) string { return text[:min(len(text), 200)] }

// at waits until a page is loaded whose path starts with path.
func (p *tab) at(path string) {
	p.Helper()
	p.Until("location.pathname.startsWith(" + testbrowser.Quote(path) + ") && document.readyState === 'complete'")
}

// signIn signs in on the sign-in page.
func (p *tab) signIn(h *harness, email string) {
	p.Helper()
	p.Open(h.BaseURL() + "/signin")
	p.Fill(`input[name="email"]`, email)
	p.Fill(`input[name="password"]`, password)
	p.ClickText("Sign in")
	p.at("/jobs")
}

// clickAt clicks an element at a fraction of its width, when the layout is stable.
func (p *tab) clickAt(selector string, part float64) {
	p.Helper()
	box := testbrowser.Eval[[]float64](p.Tab, `(async () => {
		let box, still = 0, last = "";
		while (still < 4) {
			const element = document.querySelector(`+testbrowser.Quote(selector)+`);
			element.scrollIntoView({ block: "center" });
			const { left, top, width, height } = element.getBoundingClientRect();
			box = [left, top, width, height];
			still = String(box) === last ? still + 1 : 0;
			last = String(box);
			await new Promise(next => setTimeout(next, 50));
		}
		return box;
	})()`)
	p.Do("click into "+selector, chromedp.MouseClickXY(box[0]+box[2]*part, box[1]+box[3]/2))
}
