// Package browser starts Chromium and controls its pages: it opens pages,
// evaluates scripts in them, and sends mouse and key events. It owns the
// browser's process tree and profile directory, and reports when the browser or
// one of its pages is gone. It does not depend on meetings or recordings.
package browser

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	protocol "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

const (
	defaultWidth  = 1280
	defaultHeight = 720

	// killTimeout limits how long killing the process tree may take. Killed
	// processes exit within milliseconds unless they wait for I/O.
	killTimeout = 10 * time.Second

	// exitStatusTimeout is how long to wait for the exit status after the
	// control pipe broke. On a busy machine it arrives seconds later.
	exitStatusTimeout = 5 * time.Second
)

// Options configures a browser.
type Options struct {
	// Executable is the path of the browser, as Find returns it. The default is
	// the result of Find("").
	Executable string
	// ProfileDir is the profile directory, used by this browser only. It must be
	// absent or empty, is created with mode 0700, and is removed by Close. The
	// default is a temporary directory.
	ProfileDir string
	// Mode is Headless by default. Headed needs Xvfb; see CheckMode.
	Mode Mode
	// Width and Height are the size of a page in pixels, 1280x720 by default.
	Width, Height int
	// LoopbackPeers allows WebRTC connections over the loopback interface. Use
	// it only for meeting replicas on this machine.
	LoopbackPeers bool
	// Proxy is the host and port of the HTTP proxy for all TCP connections of
	// the browser, including those to loopback addresses (see package network).
	// Without a proxy, the browser can connect to everything this machine can.
	Proxy string
	// MediaThroughProxy disables UDP for WebRTC, because UDP bypasses the proxy.
	// Media then uses TCP where the platform supports it, at lower quality on a
	// lossy connection.
	MediaThroughProxy bool
	// NoSandbox runs Chromium without its own sandbox, for systems that provide
	// none. As root, it always runs without; see CheckSandbox.
	NoSandbox bool
	// SeedProfile is an operator's Chromium user data directory with a signed-in
	// user. The files that keep a user signed in are copied to the new profile.
	SeedProfile string
	// Log receives errors of the browser connection. The default discards them.
	Log *slog.Logger

	captureTitle string // of the tab that Chromium captures without asking a user
	temporaryDir string // the browser's temporary files
	maxProfile   int64  // bytes; see resources.go
	maxMemory    int64  // bytes
	runsAsRoot   bool
	display      *display // nil if headless
}

// Browser is a running Chromium with its own profile.
type Browser struct {
	options Options
	process int
	session cdp.Session
	title   chan string // the title of a captured tab, while no capture begins

	// newTab returns the chromedp context of a new tab. chromedp ties the life of
	// a browser and its tabs to a tree of contexts, so the root context lives as
	// long as the browser.
	newTab func(...chromedp.ContextOption) (context.Context, context.CancelFunc)

	initialTab chan target.ID // the tab Chromium opened at start, until a Page uses it

	shutDown context.CancelCauseFunc // makes supervise kill the process tree
	done     chan struct{}
	cause    error // why the browser ended; valid once done is closed
	killErr  error // why not all processes could be killed; valid once done is closed

	closeOnce sync.Once
	closeErr  error
}

// Launch starts a browser and waits until it responds. ctx applies to the launch
// only. The browser runs until Close, until it crashes, or until this process
// exits.
func Launch(ctx context.Context, options Options) (_ *Browser, err error) {
	if options.Executable == "" {
		if options.Executable, err = Find(""); err != nil {
			return nil, err
		}
	}
	options.Mode = cmp.Or(options.Mode, Headless)
	if options.Width == 0 || options.Height == 0 {
		options.Width, options.Height = defaultWidth, defaultHeight
	}
	options.Log = cmp.Or(options.Log, slog.New(slog.DiscardHandler))
	options.captureTitle, options.runsAsRoot = "capture-"+rand.Text(), os.Geteuid() == 0
	options.maxProfile, options.maxMemory = cmp.Or(options.maxProfile, maxProfile), cmp.Or(options.maxMemory, maxMemory)
	if options.ProfileDir, options.temporaryDir, err = makeProfile(options.ProfileDir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, RemoveProfile(options.ProfileDir))
		}
	}()
	if options.SeedProfile != "" {
		if err := copySeedProfile(options.SeedProfile, options.ProfileDir); err != nil {
			return nil, err
		}
	}
	switch {
	case sandboxed(options):
	case options.runsAsRoot:
		options.Log.Warn("Chromium runs without its own sandbox, because it has none as root: run bots as another user")
	default:
		options.Log.Warn("Chromium runs without its own sandbox", "setting", NoSandboxSetting)
	}
	if options.Mode == Headed {
		if options.display, err = startDisplay(ctx, options.ProfileDir, options.Width, options.Height+barsHeight); err != nil {
			return nil, err
		}
	}
	browser, err := start(ctx, options)
	if err != nil {
		options.display.close()
		return nil, fmt.Errorf("start %s: %w", options.Executable, asSandboxError(err))
	}
	return browser, nil
}

// supervise waits until the browser ends or has to end, and kills what is left of
// its process tree.
func (b *Browser) supervise(lifetime, root context.Context, p *process) {
	exited := make(chan struct{})
	waiting, stopWaiting := context.WithCancel(context.WithoutCancel(root))
	var waiter sync.WaitGroup
	waiter.Go(func() {
		// The only possible error is the cancellation at the end.
		if chromedp.WaitClosed(waiting) == nil {
			close(exited)
		}
	})
	waiter.Go(func() { b.closeWindows(waiting) })
	defer func() {
		stopWaiting()
		waiter.Wait()
	}()

	cause := errors.New("the control pipe broke")
	select {
	case <-lifetime.Done():
		cause = context.Cause(lifetime)
	case <-exited:
		cause = errors.New(p.command.ProcessState.String())
	case <-b.options.display.ended():
	case <-chromedp.FromContext(root).Browser.LostConnection:
		var limit *ResourceError // that the browser's messages exceeded
		select {
		case <-p.relay.done:
			errors.As(p.relay.err, &limit)
		default:
		}
		if limit != nil {
			cause = limit
			break
		}
		select {
		case <-exited:
			cause = errors.New(p.command.ProcessState.String())
		case <-lifetime.Done():
			cause = context.Cause(lifetime)
		case <-time.After(exitStatusTimeout):
		}
	}

	killCtx, cancel := context.WithTimeout(context.WithoutCancel(lifetime), killTimeout)
	defer cancel()
	b.killErr = killProcessTree(killCtx, b.process, b.options.ProfileDir)
	select {
	case <-b.options.display.ended(): // then the browser exits too, perhaps first
		cause = b.options.display.cause
	default:
	}
	b.options.display.close()
	b.shutDown(cause)
	p.release()
	b.cause = cause
}

// Done returns a channel that is closed when the browser is gone: it was closed,
// crashed or was killed, or its control pipe broke. None of its processes is
// left then.
func (b *Browser) Done() <-chan struct{} { return b.done }

// Err returns why the browser ended, as a *GoneError. It is nil before Done is
// closed.
func (b *Browser) Err() error {
	select {
	case <-b.done:
		return &GoneError{Cause: b.cause}
	default:
		return nil
	}
}

// PID returns the process id of Chromium's main process.
func (b *Browser) PID() int { return b.process }

// ReserveCaptureTitle returns the title of the tab that Chromium captures without asking a
// user. It waits until no other tab may have it; release allows that again.
func (b *Browser) ReserveCaptureTitle(ctx context.Context) (title string, release func(), err error) {
	select {
	case title = <-b.title:
		return title, func() { b.title <- title }, nil
	case <-ctx.Done():
		return "", nil, ctx.Err()
	}
}

// GrantMicrophoneAndCamera allows pages of the origin (scheme, host and port) to
// use the microphone, which is silent, and the camera, which shows Chromium's
// test picture. It does not apply to tab capture.
func (b *Browser) GrantMicrophoneAndCamera(ctx context.Context, origin string) error {
	return b.grantDevices(ctx, origin, "")
}

// grantDevices is GrantMicrophoneAndCamera in a browser context. An empty origin means all.
func (b *Browser) grantDevices(ctx context.Context, origin string, browserContext cdp.BrowserContextID) error {
	for _, name := range []string{"microphone", "camera"} {
		_, err := cdp.Call(ctx, b.session, protocol.SetPermission, protocol.SetPermissionParams{
			Permission: &protocol.PermissionDescriptor{Name: name},
			Setting:    protocol.PermissionSettingGranted,
			Origin:     origin, BrowserContextID: browserContext,
		})
		if err != nil {
			return fmt.Errorf("grant the %s: %w", name, b.explain(ctx, err))
		}
	}
	return nil
}

// explain converts an error of the browser connection to one of this package's
// types. It does not change errors of the caller's own context.
func (b *Browser) explain(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if gone := b.Err(); gone != nil {
		return gone
	}
	// chromedp reports a broken pipe as a cancellation, shortly before supervise
	// learns how the process ended.
	if errors.Is(err, context.Canceled) {
		return &GoneError{Cause: err}
	}
	return err
}

// Close ends the browser and every process it started, waits for them, and
// removes the profile directory. Later calls return the same result.
func (b *Browser) Close() error {
	b.closeOnce.Do(func() {
		b.shutDown(ErrClosed)
		<-b.done
		b.closeErr = errors.Join(b.killErr, RemoveProfile(b.options.ProfileDir))
	})
	return b.closeErr
}
