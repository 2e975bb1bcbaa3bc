package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/chromedp/cdproto"
	protocol "github.com/chromedp/cdproto/browser"
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
)

// Page is one tab in a window of its own. Its methods may be called from
// several goroutines.
type Page struct {
	browser *Browser
	session *chromedp.Target
	release context.CancelFunc // closes the tab and waits for it

	crashed   chan struct{}
	crashOnce sync.Once
	closed    chan struct{}
	closeOnce sync.Once
	dialogs   chan struct{}
	guard     guard
	attendant sync.WaitGroup
}

// NewPage opens a blank page in a window of its own. ctx bounds the opening
// only.
func (b *Browser) NewPage(ctx context.Context) (*Page, error) {
	if gone := b.Err(); gone != nil {
		return nil, gone
	}
	var options []chromedp.ContextOption
	if initial := b.takeInitialTab(); initial != "" {
		options = append(options, chromedp.WithTargetID(initial))
	}
	tab, release := b.newTab(options...)
	p := &Page{
		browser: b,
		release: release,
		crashed: make(chan struct{}),
		closed:  make(chan struct{}),
		dialogs: make(chan struct{}, 1),
	}
	if err := p.attach(ctx, tab); err != nil {
		release()
		return nil, fmt.Errorf("opening a page: %w", b.explain(ctx, err))
	}
	p.attendant.Go(p.answerDialogs)
	return p, nil
}

// takeInitialTab hands out the tab that Chromium opened by itself, once.
func (b *Browser) takeInitialTab() target.ID {
	b.firstTab.Lock()
	defer b.firstTab.Unlock()
	initial := b.initial
	b.initial = ""
	return initial
}

// attach connects to the tab and sets it up.
func (p *Page) attach(ctx, tab context.Context) error {
	// chromedp binds the tab's life to the context of its first action, so
	// that action cannot run under ctx itself.
	attached := make(chan error, 1)
	go func() { attached <- chromedp.Listen(tab, p.notice) }()
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
	p.session = chromedp.FromContext(tab).Target

	// chromedp switches on every domain that its own selectors need. This
	// package asks the page by script instead, and a meeting page's DOM,
	// console and network events would only cost time on both sides.
	for _, method := range []string{
		dom.Disable.Method, css.Disable.Method, network.Disable.Method, log.Disable.Method, runtime.Disable.Method,
	} {
		if err := p.session.Call(ctx, method, cdp.Empty{}, nil); err != nil {
			return fmt.Errorf("calling %s: %w", method, err)
		}
	}
	// Only one window can have the focus, and pages pause or refuse input
	// without it.
	_, err := cdp.Call(ctx, p.session, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	if err != nil {
		return err
	}
	// --window-size is the size of the window with its bars.
	return p.SetContentSize(ctx, p.browser.options.Width, p.browser.options.Height)
}

// notice handles the page's events. chromedp calls it from its reading loop, so
// it must not block.
func (p *Page) notice(event any) {
	switch event.(type) {
	case *inspector.EventTargetCrashed:
		p.crashOnce.Do(func() { close(p.crashed) })
	case *page.EventJavascriptDialogOpening:
		select {
		case p.dialogs <- struct{}{}:
		default:
		}
	}
}

// answerDialogs accepts the page's alert, confirm and beforeunload boxes: while
// one is open, the page answers nothing else.
func (p *Page) answerDialogs() {
	for {
		select {
		case <-p.closed:
			return
		case <-p.browser.done:
			return
		case <-p.dialogs:
		}
		err := p.call(context.Background(), func(ctx context.Context) error {
			_, err := cdp.Call(ctx, p.session, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
			return err
		})
		if err != nil {
			p.browser.options.Log.Debug("dialog not answered", "error", err)
		}
	}
}

// call runs one exchange with the page and ends it at once when the page or the
// browser goes away.
func (p *Page) call(ctx context.Context, exchange func(context.Context) error) error {
	select {
	case <-p.closed:
		return ErrPageClosed
	case <-p.crashed:
		return ErrPageCrashed
	case <-p.browser.done:
		return p.browser.Err()
	default:
	}
	bounded, cancel := context.WithCancelCause(ctx)
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
	err := exchange(bounded)
	close(finished)
	watcher.Wait()
	cause := context.Cause(bounded)
	cancel(nil)

	if err == nil || ctx.Err() != nil {
		return err
	}
	if cause != nil {
		return cause
	}
	var refused *cdproto.Error
	switch {
	case errors.Is(err, chromedp.ErrTargetDetached):
		return ErrPageClosed
	case errors.As(err, &refused):
		return &InterruptedError{Cause: err}
	default:
		return p.browser.explain(ctx, err)
	}
}

// Navigate loads the address and returns when the new document is parsed,
// whatever redirects led to it. It does not wait for pictures and the like. A
// page that cannot be loaded gives a *NavigationError, one that the guard does
// not allow a *NavigationBlockedError; an HTTP error status is a loaded page.
func (p *Page) Navigate(ctx context.Context, address string) error {
	if err := p.guard.check(address); err != nil {
		return err
	}
	refusedBefore := p.guard.refusal()
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
			if refused := p.guard.refusal(); refused != refusedBefore {
				return refused
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
		return context.Canceled // the connection ended; call finds out why
	})
}

// abandonEvents gives up a subscription, which chromedp frees only when its
// events are read.
func abandonEvents[E any](events iter.Seq2[E, error], stop context.CancelFunc) {
	stop()
	for range events {
		return
	}
}

// EvalOnNewDocument runs a script in each document that the page loads from now on,
// before the document's own scripts, in frames too.
func (p *Page) EvalOnNewDocument(ctx context.Context, script string) error {
	return p.call(ctx, func(ctx context.Context) error {
		_, err := cdp.Call(ctx, p.session, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	})
}

// Reload loads the current document again and returns when it is parsed.
func (p *Page) Reload(ctx context.Context) error {
	address, err := p.URL(ctx)
	if err != nil {
		return err
	}
	return p.Navigate(ctx, address)
}

// Eval evaluates a JavaScript expression in the page, waits for the promise it
// may return, and decodes its JSON value into out, which may be nil. An
// undefined value leaves out as it is.
func (p *Page) Eval(ctx context.Context, expression string, out any) error {
	return p.evaluate(ctx, expression, false, out)
}

// EvalWithGesture is Eval, and the page takes the script for the consequence of
// a user's click.
func (p *Page) EvalWithGesture(ctx context.Context, expression string, out any) error {
	return p.evaluate(ctx, expression, true, out)
}

// evaluate runs a script in the page's main frame.
func (p *Page) evaluate(ctx context.Context, expression string, gesture bool, out any) error {
	yes := true
	return p.call(ctx, func(ctx context.Context) error {
		answer, err := cdp.Call(ctx, p.session, runtime.Evaluate, runtime.EvaluateParams{
			Expression:    expression,
			ReturnByValue: &yes,
			AwaitPromise:  &yes,
			UserGesture:   &gesture,
		})
		if err != nil {
			return err
		}
		if thrown := answer.ExceptionDetails; thrown != nil {
			description := thrown.Text
			if thrown.Exception != nil && thrown.Exception.Description != "" {
				description = thrown.Exception.Description
			}
			return &ScriptError{Description: description}
		}
		if out == nil || answer.Result == nil || len(answer.Result.Value) == 0 {
			return nil
		}
		if err := json.Unmarshal(answer.Result.Value, out); err != nil {
			return fmt.Errorf("decoding the script's value: %w", err)
		}
		return nil
	})
}

// URL returns the address of the current document.
func (p *Page) URL(ctx context.Context) (string, error) {
	info, err := p.info(ctx)
	if err != nil {
		return "", err
	}
	return info.URL, nil
}

// Title returns the page's title as the browser knows it.
func (p *Page) Title(ctx context.Context) (string, error) {
	info, err := p.info(ctx)
	if err != nil {
		return "", err
	}
	return info.Title, nil
}

// info asks the browser, not the page, so it answers for a busy page too.
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

// SetContentSize resizes the window so that the page itself is of that size,
// whatever bars the browser shows around it. A minimized window is shown again.
func (p *Page) SetContentSize(ctx context.Context, width, height int) error {
	return p.inWindow(ctx, func(ctx context.Context, window protocol.WindowID) error {
		if err := p.setWindowState(ctx, window, protocol.WindowStateNormal); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, p.browser.session, protocol.SetContentsSize, protocol.SetContentsSizeParams{
			WindowID: window, Width: int64(width), Height: int64(height),
		})
		return err
	})
}

// SetMinimized minimizes the page's window, or shows it again. In a minimized
// window a page is drawn for whoever captures it, and for nobody else; it goes on
// and takes itself for visible all the same.
func (p *Page) SetMinimized(ctx context.Context, minimized bool) error {
	state := protocol.WindowStateNormal
	if minimized {
		state = protocol.WindowStateMinimized
	}
	return p.inWindow(ctx, func(ctx context.Context, window protocol.WindowID) error {
		return p.setWindowState(ctx, window, state)
	})
}

// inWindow does something to the window that shows the page.
func (p *Page) inWindow(ctx context.Context, do func(context.Context, protocol.WindowID) error) error {
	return p.call(ctx, func(ctx context.Context) error {
		window, err := cdp.Call(ctx, p.browser.session, protocol.GetWindowForTarget,
			protocol.GetWindowForTargetParams{TargetID: p.session.TargetID})
		if err != nil {
			return err
		}
		return do(ctx, window.WindowID)
	})
}

func (p *Page) setWindowState(ctx context.Context, window protocol.WindowID, state protocol.WindowState) error {
	_, err := cdp.Call(ctx, p.browser.session, protocol.SetWindowBounds, protocol.SetWindowBoundsParams{
		WindowID: window, Bounds: &protocol.Bounds{WindowState: state},
	})
	return err
}

// Screenshot returns what the page shows now, as PNG.
func (p *Page) Screenshot(ctx context.Context) ([]byte, error) {
	var picture []byte
	err := p.call(ctx, func(ctx context.Context) error {
		answer, err := cdp.Call(ctx, p.session, page.CaptureScreenshot, page.CaptureScreenshotParams{
			Format: page.CaptureScreenshotFormatPng,
		})
		picture = answer.Data
		return err
	})
	return picture, err
}

// Crashed is closed when the page's renderer process has crashed. The page is
// of no use then but to be closed.
func (p *Page) Crashed() <-chan struct{} { return p.crashed }

// Close closes the page without asking it. Calling it again does nothing.
func (p *Page) Close() {
	p.closeOnce.Do(func() {
		close(p.closed)
		p.attendant.Wait()
		p.release()
	})
}
