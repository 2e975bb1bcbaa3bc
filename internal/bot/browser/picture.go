package browser

import (
	"context"
	"time"

	protocol "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

// SetContentSize resizes the window so that the page has this size, without the
// bars of the window. It restores a minimized window.
func (p *Page) SetContentSize(ctx context.Context, width, height int) error {
	return p.setWindow(ctx, protocol.WindowStateNormal, width, height)
}

// SetMinimized minimizes or restores the page's window. A minimized page keeps
// running and is visible to its scripts, but it is rendered only while it is
// captured.
func (p *Page) SetMinimized(ctx context.Context, minimized bool) error {
	state := protocol.WindowStateNormal
	if minimized {
		state = protocol.WindowStateMinimized
	}
	return p.setWindow(ctx, state, 0, 0)
}

// setWindow sets the state of the page's window and, unless it is zero, the size of the page.
func (p *Page) setWindow(ctx context.Context, state protocol.WindowState, width, height int) error {
	return p.call(ctx, func(ctx context.Context) error {
		session := p.browser.session
		window, err := cdp.Call(ctx, session, protocol.GetWindowForTarget, protocol.GetWindowForTargetParams{TargetID: p.session.TargetID})
		if err != nil {
			return err
		}
		_, err = cdp.Call(ctx, session, protocol.SetWindowBounds, protocol.SetWindowBoundsParams{
			WindowID: window.WindowID, Bounds: &protocol.Bounds{WindowState: state},
		})
		if err != nil || width == 0 {
			return err
		}
		_, err = cdp.Call(ctx, session, protocol.SetContentsSize, protocol.SetContentsSizeParams{
			WindowID: window.WindowID, Width: int64(width), Height: int64(height),
		})
		return err
	})
}

// Screenshot returns a PNG image of the page.
func (p *Page) Screenshot(ctx context.Context) ([]byte, error) {
	return p.screenshot(ctx, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng})
}

// Picture returns a JPEG image of the page with a quality from 0 to 100. The browser must not
// scale it: that would resize the page, and show in a recording.
func (p *Page) Picture(ctx context.Context, quality int) ([]byte, error) {
	return p.screenshot(ctx, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatJpeg, Quality: new(int64(quality))})
}

func (p *Page) screenshot(ctx context.Context, params page.CaptureScreenshotParams) ([]byte, error) {
	answer, err := send(ctx, p, page.CaptureScreenshot, params)
	return answer.Data, err
}

// Screencast calls frame for pictures of the page, JPEG images of at most width and height
// pixels, when the page changes, and not more often than rate times per second. It returns
// when ctx ends, frame fails, or the page is gone.
func (p *Page) Screencast(ctx context.Context, width, height, rate int, frame func(image []byte) error) error {
	return p.call(ctx, func(ctx context.Context) error {
		listening, stopListening := context.WithCancel(ctx)
		defer stopListening()
		frames := cdp.Events(listening, p.session, page.ScreencastFrame)
		_, err := cdp.Call(ctx, p.session, page.StartScreencast, page.StartScreencastParams{
			Format: page.StartScreencastFormatJpeg, Quality: new(int64(80)), MaxWidth: int64(width), MaxHeight: int64(height), MaxFramesInFlight: 1,
			SendLastFrame: new(true),
		})
		if err != nil {
			abandonEvents(frames, stopListening)
			return err
		}
		pace := time.Tick(time.Second / time.Duration(rate))
		for event, err := range frames {
			if err == nil {
				err = frame(event.Data)
			}
			if err != nil {
				return err
			}
			select {
			case <-pace:
			case <-ctx.Done():
				return ctx.Err()
			}
			if _, err := cdp.Call(ctx, p.session, page.ScreencastFrameAck, page.ScreencastFrameAckParams{SessionID: event.SessionID}); err != nil {
				return err
			}
		}
		return context.Canceled // the connection ended; call returns the reason
	})
}
