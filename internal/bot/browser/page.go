package browser

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"standin/internal/base/retry"
)

// Page is a tab in its own window. Its methods are safe for concurrent use.
type Page struct {
	browser   *Browser
	session   *chromedp.Target
	contextID cdp.BrowserContextID // empty in the browser's own
	release   context.CancelFunc   // closes the tab and waits for it

	crashed    chan struct{}
	crashOnce  sync.Once
	closed     chan struct{}
	closeOnce  sync.Once
	dialogs    retry.Signal
	guard      guard
	pointer    pointer
	background sync.WaitGroup
}

// NewPage opens a blank page in its own window. ctx applies to opening only.
func (b *Browser) NewPage(ctx context.Context) (*Page, error) {
	var options []chromedp.ContextOption
	select {
	case initial := <-b.initialTab:
		options = append(options, chromedp.WithTargetID(initial))
	default:
	}
	return b.openPage(ctx, options...)
}

// NewPageApart is like NewPage, in a browser context of its own: the page shares no
// cookies, storage or permissions with others, and loses them when it is closed. It may use
// the microphone and the camera, as of GrantMicrophoneAndCamera.
func (b *Browser) NewPageApart(ctx context.Context) (*Page, error) {
	p, err := b.openPage(ctx, chromedp.WithNewBrowserContext())
	if err != nil {
		return nil, err
	}
	err = applyIsolation(ctx, b.session, b.options, p.contextID)
	if err == nil {
		err = b.grantDevices(ctx, "", p.contextID)
	}
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("open a page: %w", b.explain(ctx, err))
	}
	return p, nil
}

func (b *Browser) openPage(ctx context.Context, options ...chromedp.ContextOption) (*Page, error) {
	if gone := b.Err(); gone != nil {
		return nil, gone
	}
	tab, release := b.newTab(options...)
	p := &Page{
		browser: b,
		release: release,
		crashed: make(chan struct{}),
		closed:  make(chan struct{}),
		dialogs: retry.NewSignal(),
	}
	if err := p.attach(ctx, tab); err != nil {
		release()
		return nil, fmt.Errorf("open a page: %w", b.explain(ctx, err))
	}
	// The page does not respond while an alert, confirm or beforeunload dialog is open.
	dialogs := context.WithoutCancel(ctx)
	p.background.Go(func() {
		for {
			select {
			case <-p.closed:
				return
			case <-p.browser.done:
				return
			case <-p.dialogs:
			}
			if _, err := send(dialogs, p, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true}); err != nil {
				p.browser.options.Log.Debug("cannot answer a dialog", "error", err)
			}
		}
	})
	return p, nil
}

// attach connects to the tab and configures it.
func (p *Page) attach(ctx, tab context.Context) error {
	// chromedp ties the tab to the context of its first action, so ctx cannot be
	// used for it.
	attached := make(chan error, 1)
	go func() {
		// It is called by the read loop of chromedp, so it must not block.
		attached <- chromedp.Listen(tab, func(event any) {
			switch event.(type) {
			case *inspector.EventTargetCrashed:
				p.crashOnce.Do(func() { close(p.crashed) })
			case *page.EventJavascriptDialogOpening:
				p.dialogs.Send()
			}
		})
	}()
	select {
	case err := <-attached:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		p.release()
		<-attached
		return ctx.Err()
	}
	p.session, p.contextID = chromedp.FromContext(tab).Target, chromedp.FromContext(tab).BrowserContextID

	// chromedp enables the domains that its selectors need. This package uses
	// scripts instead, and the events of these domains are costly.
	for _, method := range []string{
		dom.Disable.Method, css.Disable.Method, network.Disable.Method, log.Disable.Method, runtime.Disable.Method,
	} {
		if err := p.session.Call(ctx, method, cdp.Empty{}, nil); err != nil {
			return fmt.Errorf("call %s: %w", method, err)
		}
	}
	// Only one window can have the focus, and without it pages pause or ignore
	// input.
	_, err := cdp.Call(ctx, p.session, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	if err != nil {
		return err
	}
	if err := p.addScript(ctx, blockExternalScript, ""); err != nil {
		return err
	}
	// --window-size includes the bars of the window.
	return p.SetContentSize(ctx, p.browser.options.Width, p.browser.options.Height)
}

// call runs do, which sends commands to the page, and cancels it when the page or
// the browser is gone.
func (p *Page) call(ctx context.Context, do func(context.Context) error) error {
	select {
	case <-p.closed:
		return ErrPageClosed
	case <-p.crashed:
		return ErrPageCrashed
	case <-p.browser.done:
		return p.browser.Err()
	default:
	}
	callCtx, cancel := context.WithCancelCause(ctx)
	finished := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case <-finished:
		case <-p.closed:
			cancel(ErrPageClosed)
		case <-p.crashed:
			cancel(ErrPageCrashed)
		case <-p.browser.done:
			cancel(p.browser.Err())
		}
	})
	err := do(callCtx)
	close(finished)
	watcher.Wait()
	cause := context.Cause(callCtx)
	cancel(nil)

	if err == nil || ctx.Err() != nil {
		return err
	}
	if cause != nil {
		return cause
	}
	switch {
	case errors.Is(err, chromedp.ErrTargetDetached):
		return ErrPageClosed
	case errors.As(err, new(*cdproto.Error)):
		return &InterruptedError{Cause: err}
	default:
		return p.browser.explain(ctx, err)
	}
}

// send is call for one command.
func send[P, R any](ctx context.Context, p *Page, command cdp.Command[P, R], params P) (result R, err error) {
	err = p.call(ctx, func(ctx context.Context) (err error) {
		result, err = cdp.Call(ctx, p.session, command, params)
		return err
	})
	return result, err
}

// Navigate loads the address, follows redirects, and returns when the new document
// is parsed. It does not wait for images and other resources. It returns a
// *NavigationError if the page cannot be loaded and a *NavigationBlockedError if
// the guard does not allow the address. An HTTP error status is not an error.
func (p *Page) Navigate(ctx context.Context, address string) error {
	if err := p.guard.check(address); err != nil {
		return err
	}
	blockedBefore := p.guard.lastBlocked()
	return p.call(ctx, func(ctx context.Context) error {
		before, err := cdp.Call(ctx, p.session, page.GetFrameTree, cdp.Empty{})
		if err != nil {
			return err
		}
		frame := before.FrameTree.Frame
		listening, stopListening := context.WithCancel(ctx)
		defer stopListening()
		lifecycle := cdp.Events(listening, p.session, page.LifecycleEvent)

		result, err := cdp.Call(ctx, p.session, page.Navigate, page.NavigateParams{URL: address})
		onlyFragment := err == nil && result.LoaderID == ""
		if err != nil || result.ErrorText != "" || onlyFragment {
			abandonEvents(lifecycle, stopListening)
			if blocked := p.guard.lastBlocked(); blocked != blockedBefore {
				return blocked
			}
			if result.ErrorText != "" {
				return &NavigationError{Reason: result.ErrorText}
			}
			return err
		}
		for event, err := range lifecycle {
			if err != nil {
				return err
			}
			if event.FrameID == frame.ID && event.LoaderID != frame.LoaderID && event.Name == "DOMContentLoaded" {
				return nil
			}
		}
		return context.Canceled // the connection ended; call returns the reason
	})
}

// abandonEvents ends a subscription. chromedp releases a subscription only when
// its events are read.
func abandonEvents[E any](events iter.Seq2[E, error], stop context.CancelFunc) {
	stop()
	for range events {
		return
	}
}

// EvalOnNewDocument evaluates a script in each document that the page and its
// frames load from now on, before the document's own scripts.
func (p *Page) EvalOnNewDocument(ctx context.Context, script string) error {
	return p.addScript(ctx, script, "")
}

// BypassContentSecurityPolicy lets the scripts of EvalOnNewDocument do in each document what its policy forbids its own.
func (p *Page) BypassContentSecurityPolicy(ctx context.Context) error {
	_, err := send(ctx, p, page.SetBypassCSP, page.SetBypassCSPParams{Enabled: true})
	return err
}

// EvalApartOnNewDocument is like EvalOnNewDocument, in the world of Eval: the page
// reaches nothing of the script but what it does to the document.
func (p *Page) EvalApartOnNewDocument(ctx context.Context, script string) error {
	return p.addScript(ctx, script, worldName)
}

func (p *Page) addScript(ctx context.Context, script, world string) error {
	_, err := send(ctx, p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: script, WorldName: world,
	})
	return err
}

// URL returns the address of the current document.
func (p *Page) URL(ctx context.Context) (string, error) {
	info, err := p.info(ctx)
	return info.URL, err
}

// Title returns the page's title.
func (p *Page) Title(ctx context.Context) (string, error) {
	info, err := p.info(ctx)
	return info.Title, err
}

// info queries the browser, not the page, so it also works if the page is busy.
func (p *Page) info(ctx context.Context) (info target.Info, err error) {
	err = p.call(ctx, func(ctx context.Context) error {
		answer, err := cdp.Call(ctx, p.browser.session, target.GetTargetInfo, target.GetTargetInfoParams{TargetID: p.session.TargetID})
		if err != nil {
			return err
		}
		info = *answer.TargetInfo
		return nil
	})
	return info, err
}

// Crashed returns a channel that is closed when the renderer process has crashed.
// Then the page can only be closed.
func (p *Page) Crashed() <-chan struct{} { return p.crashed }

// Close closes the page without beforeunload handlers. Later calls do nothing.
func (p *Page) Close() {
	p.closeOnce.Do(func() {
		close(p.closed)
		p.background.Wait()
		p.release()
	})
}
