package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
)

// blankPage is the only address that is always allowed.
const blankPage = "about:blank"

// NavigationBlockedError reports that the navigation guard did not allow an
// address. It contains only scheme and host, because addresses contain passcodes.
type NavigationBlockedError struct {
	Scheme, Host string
}

// Error includes scheme and host.
func (e *NavigationBlockedError) Error() string {
	return fmt.Sprintf("the page is not allowed to open %s://%s", e.Scheme, e.Host)
}

// guard decides which addresses a page may open.
type guard struct {
	mutex sync.Mutex
	allow func(address string) bool // nil allows all
	last  *NavigationBlockedError

	answer func(ctx context.Context, address string) (document string, ok bool) // nil answers nothing
}

// AnswerNavigation calls answer for each address that the page is about to open. If ok, the page is the
// document, an HTML text, and no request is sent. GuardNavigation must have been called.
func (p *Page) AnswerNavigation(answer func(ctx context.Context, address string) (document string, ok bool)) {
	p.guard.mutex.Lock()
	defer p.guard.mutex.Unlock()
	p.guard.answer = answer
}

// check returns and records a *NavigationBlockedError if the page is not allowed
// to open the address.
func (g *guard) check(address string) error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.allow == nil || address == blankPage || g.allow(address) {
		return nil
	}
	blocked := &NavigationBlockedError{Scheme: "invalid"}
	if parsed, err := url.Parse(address); err == nil {
		blocked.Scheme, blocked.Host = parsed.Scheme, strings.ToLower(parsed.Host)
	}
	g.last = blocked
	return blocked
}

// lastBlocked returns the last error of check, or nil.
func (g *guard) lastBlocked() *NavigationBlockedError {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.last
}

// GuardNavigation calls allow for each address that the page is about to open,
// whether by Navigate, a link, a form, a script, a frame or a redirect, before
// any request is sent. If allow returns false, the page stays where it is.
// Documents of frames and other resources are not checked: the proxy controls
// them. allow is called from another goroutine and must not call the page.
// GuardNavigation must be called at most once.
func (p *Page) GuardNavigation(ctx context.Context, allow func(address string) bool) error {
	listening, stopListening := context.WithCancel(context.WithoutCancel(ctx))
	requests := cdp.Events(listening, p.session, fetch.RequestPaused)
	_, err := send(ctx, p, fetch.Enable, pauseDocuments(fetch.RequestStageRequest))
	if err != nil {
		abandonEvents(requests, stopListening)
		return fmt.Errorf("guard the page's navigation: %w", err)
	}
	p.guard.mutex.Lock()
	p.guard.allow = allow
	p.guard.mutex.Unlock()
	p.background.Go(func() {
		select {
		case <-p.closed:
		case <-p.browser.done:
		}
		stopListening()
	})
	p.background.Go(func() {
		for request, err := range requests {
			if err != nil {
				break // later requests stay paused and are never sent
			}
			var err error
			main := request.FrameID == cdp.FrameID(p.session.TargetID)
			document, answered := "", false
			if main {
				p.guard.mutex.Lock()
				answer := p.guard.answer
				p.guard.mutex.Unlock()
				if answer != nil {
					document, answered = answer(listening, request.Request.URL)
				}
			}
			switch {
			case answered:
				_, err = send(listening, p, fetch.FulfillRequest, fetch.FulfillRequestParams{
					RequestID: request.RequestID, ResponseCode: http.StatusOK, Body: []byte(document),
					ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: "text/html; charset=utf-8"}},
				})
			case main && p.guard.check(request.Request.URL) != nil:
				// With this reason, the current document stays.
				_, err = send(listening, p, fetch.FailRequest, fetch.FailRequestParams{
					RequestID: request.RequestID, ErrorReason: network.ErrorReasonAborted,
				})
			default:
				_, err = send(listening, p, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: request.RequestID})
			}
			if err != nil {
				p.browser.options.Log.Debug("paused request is gone", "error", err)
			}
		}
	})
	return nil
}
