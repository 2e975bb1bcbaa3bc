package meeting

import (
	"context"
	"testing"
	"time"

	"standin/internal/bot/browser"
)

// pagePool opens pages for several visits, one after the other: opening a window with
// its processes takes more CPU time than most visits.
type pagePool struct {
	browser *browser.Browser
	blank   chan *browser.Page
}

// newPagePool returns an empty pool. Its pages are closed with the browser.
func newPagePool(running *browser.Browser) pagePool {
	return pagePool{browser: running, blank: make(chan *browser.Page, pagesAtOnce)}
}

// open opens a page on an address. At the end of the test the page is blank again, for
// another test, or closed if the test failed.
func (p pagePool) open(t *testing.T, ctx context.Context, address string) *browser.Page {
	t.Helper()
	page := p.get(t, ctx)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if t.Failed() || page.Navigate(ctx, "about:blank") != nil {
			page.Close()
			return
		}
		select {
		case p.blank <- page:
		default:
			page.Close()
		}
	})
	if err := page.Navigate(ctx, address); err != nil {
		t.Fatalf("opening %q: %v", address, err)
	}
	return page
}

// get returns a blank page, if necessary a new one.
func (p pagePool) get(t *testing.T, ctx context.Context) *browser.Page {
	t.Helper()
	select {
	case page := <-p.blank:
		return page
	default:
	}
	page, err := p.browser.NewPage(ctx)
	if err != nil {
		t.Fatalf("opening a page: %v", err)
	}
	return page
}
