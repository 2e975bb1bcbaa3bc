package browser

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
)

// blankPage is the one address that needs nobody's leave.
const blankPage = "about:blank"

// NavigationBlockedError says that a page was not let to an address. Only the
// host is kept: addresses carry passcodes.
type NavigationBlockedError struct {
	Scheme, Host string
}

// Error names the host.
func (e *NavigationBlockedError) Error() string {
	return fmt.Sprintf("the page may not open %s://%s", e.Scheme, e.Host)
}

// guard decides where a page may go.
type guard struct {
	mutex sync.Mutex
	allow func(address string) bool // nil: everywhere
	last  *NavigationBlockedError
}

// check returns a *NavigationBlockedError, and remembers it, when the page may
// not open the address.
func (g *guard) check(address string) error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.allow == nil || address == blankPage || g.allow(address) {
		return nil
	}
	refusal := &NavigationBlockedError{Scheme: "unreadable"}
	if parsed, err := url.Parse(address); err == nil {
		refusal.Scheme, refusal.Host = parsed.Scheme, strings.ToLower(parsed.Host)
	}
	g.last = refusal
	return refusal
}

// refusal returns the last refusal, if there was one.
func (g *guard) refusal() *NavigationBlockedError {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.last
}

// GuardNavigation asks allow, from now on, for each address that the page itself
// is about to open, by whatever means: Navigate, a link, a form, a script, a
// frame in it, a redirect. It is asked before anything is sent. A page that may
// not go there stays where it is, so that a meeting does not end with an advert
// that wanted the whole window. Frames in the page, and what pages load, are
// not asked for: that is the proxy's business. allow is called from another
// goroutine and must not call the page. GuardNavigation is called once.
func (p *Page) GuardNavigation(ctx context.Context, allow func(address string) bool) error {
	listening, stopListening := context.WithCancel(context.WithoutCancel(ctx))
	requests := cdp.Events(listening, p.session, fetch.RequestPaused)
	err := p.call(ctx, func(ctx context.Context) error {
		_, err := cdp.Call(ctx, p.session, fetch.Enable, fetch.EnableParams{
			Patterns: []*fetch.RequestPattern{{
				URLPattern: "*", ResourceType: network.ResourceTypeDocument, RequestStage: fetch.RequestStageRequest,
			}},
		})
		return err
	})
	if err != nil {
		abandonEvents(requests, stopListening)
		return fmt.Errorf("guarding the page's navigation: %w", err)
	}
	p.guard.mutex.Lock()
	p.guard.allow = allow
	p.guard.mutex.Unlock()
	p.attendant.Go(func() {
		select {
		case <-p.closed:
		case <-p.browser.done:
		}
		stopListening()
	})
	p.attendant.Go(func() {
		for request, err := range requests {
			if err != nil {
				break // what is asked from now on waits for ever, and is not sent
			}
			p.decide(listening, request)
		}
	})
	return nil
}

// decide lets one request for a document go, or not.
func (p *Page) decide(ctx context.Context, request fetch.EventRequestPaused) {
	ofPage := request.FrameID == cdp.FrameID(p.session.TargetID)
	err := p.call(ctx, func(ctx context.Context) error {
		if ofPage && p.guard.check(request.Request.URL) != nil {
			// Of all reasons this one leaves the page as it is.
			_, err := cdp.Call(ctx, p.session, fetch.FailRequest, fetch.FailRequestParams{
				RequestID: request.RequestID, ErrorReason: network.ErrorReasonAborted,
			})
			return err
		}
		_, err := cdp.Call(ctx, p.session, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: request.RequestID})
		return err
	})
	if err != nil {
		p.browser.options.Log.Debug("a request for a document was given up meanwhile", "error", err)
	}
}
