// Package browser starts a real Chromium and drives its pages: it opens them,
// evaluates scripts in them, and sends real mouse and key events. It owns the
// browser's process tree and profile directory, and tells when either the
// browser or one of its pages is gone. It must know nothing about meetings or
// recordings.
package browser

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
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

	// endTimeout bounds the killing of the process tree. Killed processes
	// leave within milliseconds unless the kernel holds them in I/O.
	endTimeout = 10 * time.Second

	// exitTimeout is how long a broken control pipe waits for the exit status
	// that explains it, which a busy machine delivers seconds later.
	exitTimeout = 5 * time.Second
)

// Options say how to start a browser.
type Options struct {
	// Executable is the browser to start, as Find returns it.
	Executable string
	// ProfileDir is the directory of this browser alone. It must be absent or
	// empty, is made with mode 0700, and is removed by Close. When it is
	// empty, a temporary directory is made.
	ProfileDir string
	// Width and Height are the size of a page in pixels, 1280x720 by default.
	Width, Height int
	// LoopbackPeers lets WebRTC connect over the loopback interface. It is for
	// meeting replicas on this machine only.
	LoopbackPeers bool
	// Proxy is the host and port through which all of the browser's TCP
	// connections go, with loopback no exception, as package egress runs it.
	// Without one the browser reaches whatever this machine reaches.
	Proxy string
	// MediaThroughProxy keeps WebRTC from UDP, which passes no proxy: media then
	// comes over TCP, where a platform offers that, and is the worse for it on
	// a bad line. It is for networks in which a bot must reach nothing by UDP.
	MediaThroughProxy bool
	// NoSandbox runs Chromium without its own sandbox, for a system that
	// allows none. As root there is none anyway.
	NoSandbox bool
	// SeedProfile is an operator's own user data folder of Chromium, with a
	// visitor signed in. What that takes is copied into the fresh profile.
	SeedProfile string
	// CaptureTitle is the tab title for which Chromium answers a tab capture
	// request by itself. An unguessable one is made when it is empty.
	CaptureTitle string
	// Log receives what the browser connection complains about; nothing is
	// logged when it is nil.
	Log *slog.Logger

	temporaryDir string // the browser's own folder for temporary files
	asRoot       bool   // this process is root
}

// withDefaults fills in what was left out.
func (o Options) withDefaults() (Options, error) {
	if o.Executable == "" {
		executable, err := Find("")
		if err != nil {
			return Options{}, err
		}
		o.Executable = executable
	}
	if o.Width == 0 || o.Height == 0 {
		o.Width, o.Height = defaultWidth, defaultHeight
	}
	if o.CaptureTitle == "" {
		o.CaptureTitle = "capture-" + rand.Text()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.asRoot = asRoot()
	return o, nil
}

// Browser is one running Chromium with a profile of its own.
type Browser struct {
	options Options
	process int
	session cdp.Session

	// newTab makes the chromedp context of one more tab. chromedp keeps a
	// browser and its tabs alive by contexts that descend from each other, so
	// one has to be kept for the browser's life; it carries nothing else.
	newTab func(...chromedp.ContextOption) (context.Context, context.CancelFunc)

	firstTab sync.Mutex
	initial  target.ID // the tab Chromium opened by itself, until a page takes it

	end     context.CancelCauseFunc // makes the supervisor end the process tree
	done    chan struct{}
	cause   error // how the browser ended; valid once done is closed
	treeErr error // why its processes could not all be ended; likewise

	closeOnce sync.Once
	closeErr  error
}

// Launch starts a browser and waits until it answers. ctx bounds the launch
// only: the browser runs until Close, until it dies, or until the bot's own
// process dies.
func Launch(ctx context.Context, options Options) (*Browser, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	if options.ProfileDir, options.temporaryDir, err = makeProfile(options.ProfileDir); err != nil {
		return nil, err
	}
	if options.SeedProfile != "" {
		if err := seed(options.SeedProfile, options.ProfileDir); err != nil {
			return nil, errors.Join(err, wipeProfile(options.ProfileDir))
		}
	}
	warnUnsandboxed(options)
	browser, err := start(ctx, options)
	if err != nil {
		err = explainLaunch(err)
		return nil, errors.Join(fmt.Errorf("starting %s: %w", options.Executable, err), wipeProfile(options.ProfileDir))
	}
	return browser, nil
}

// start runs the process and connects to it.
func start(ctx context.Context, options Options) (*Browser, error) {
	life, endLife := context.WithCancelCause(context.WithoutCancel(ctx))
	stopBounding := context.AfterFunc(ctx, func() { endLife(ctx.Err()) })

	var command *exec.Cmd
	allocator := append(allocatorOptions(options), chromedp.ModifyCmdFunc(func(c *exec.Cmd) {
		command = c
		ownProcessTree(c)
	}))
	allocatorContext, releaseAllocator := chromedp.NewExecAllocator(life, allocator...)
	root, releaseRoot := chromedp.NewContext(allocatorContext, loggingTo(options.Log)...)
	abandon := func(err error) (*Browser, error) {
		endLife(err)
		releaseRoot()
		releaseAllocator()
		group := 0
		if command != nil && command.Process != nil {
			group = command.Process.Pid
		}
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		return nil, errors.Join(err, endProcessTree(bounded, group, options.ProfileDir))
	}

	targets, err := chromedp.Targets(root)
	if err == nil {
		err = isolate(life, chromedp.FromContext(root).Browser, options)
	}
	if !stopBounding() {
		return abandon(ctx.Err())
	}
	if err != nil {
		return abandon(err)
	}

	connection := chromedp.FromContext(root).Browser
	browser := &Browser{
		options: options,
		process: command.Process.Pid,
		session: connection,
		newTab: func(tab ...chromedp.ContextOption) (context.Context, context.CancelFunc) {
			return chromedp.NewContext(root, tab...)
		},
		initial: firstPage(targets),
		end:     endLife,
		done:    make(chan struct{}),
	}
	go browser.supervise(life, root, connection.LostConnection, command, func() {
		releaseRoot()
		releaseAllocator()
	})
	return browser, nil
}

// loggingTo hands chromedp's complaints to the log. They are noise in a healthy
// session, so they are kept to the debug level.
func loggingTo(log *slog.Logger) []chromedp.ContextOption {
	complain := func(format string, arguments ...any) {
		log.Debug("browser connection", "detail", fmt.Sprintf(format, arguments...))
	}
	return []chromedp.ContextOption{chromedp.WithLogf(complain), chromedp.WithErrorf(complain)}
}

// firstPage returns the tab that Chromium opened at its start, if there is one.
func firstPage(targets []*target.Info) target.ID {
	for _, info := range targets {
		if info.Type == "page" {
			return info.TargetID
		}
	}
	return ""
}

// supervise waits until the browser is to end or has ended, ends what is left
// of its process tree, and announces it.
func (b *Browser) supervise(life, root context.Context, pipeBroken <-chan struct{}, command *exec.Cmd, release func()) {
	exited := make(chan struct{})
	waiting, stopWaiting := context.WithCancel(context.WithoutCancel(root))
	var waiter sync.WaitGroup
	waiter.Go(func() {
		// The error can only be that of the context, at the very end.
		if chromedp.WaitClosed(waiting) == nil {
			close(exited)
		}
	})
	waiter.Go(func() { b.closeWindows(waiting) })
	defer func() {
		stopWaiting()
		waiter.Wait()
		close(b.done)
	}()

	cause := errors.New("its control pipe broke")
	select {
	case <-life.Done():
		cause = context.Cause(life)
	case <-exited:
		cause = errors.New(command.ProcessState.String())
	case <-pipeBroken:
		select {
		case <-exited:
			cause = errors.New(command.ProcessState.String())
		case <-life.Done():
			cause = context.Cause(life)
		case <-time.After(exitTimeout):
		}
	}

	bounded, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	b.treeErr = endProcessTree(bounded, b.process, b.options.ProfileDir)
	b.end(cause)
	release()
	b.cause = cause
}

// Done is closed when the browser is gone: it was closed, crashed or killed, or
// its control pipe broke. No process of it is left then.
func (b *Browser) Done() <-chan struct{} { return b.done }

// Err tells how the browser ended, as a *GoneError. It is nil before Done is
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

// CaptureTitle returns the tab title for which Chromium answers a tab capture
// request by itself.
func (b *Browser) CaptureTitle() string { return b.options.CaptureTitle }

// GrantMicrophoneAndCamera lets pages of the origin (scheme, host and port) use
// the microphone, which is silent, and the camera, which shows Chromium's test
// picture. It does not answer tab capture requests.
func (b *Browser) GrantMicrophoneAndCamera(ctx context.Context, origin string) error {
	for _, name := range []string{"microphone", "camera"} {
		_, err := cdp.Call(ctx, b.session, protocol.SetPermission, protocol.SetPermissionParams{
			Permission: &protocol.PermissionDescriptor{Name: name},
			Setting:    protocol.PermissionSettingGranted,
			Origin:     origin,
		})
		if err != nil {
			return fmt.Errorf("granting the %s: %w", name, b.explain(ctx, err))
		}
	}
	return nil
}

// explain turns an error of the browser connection into one of this package's
// types. An error of the caller's own context stays as it is.
func (b *Browser) explain(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if gone := b.Err(); gone != nil {
		return gone
	}
	// chromedp reports a broken pipe as a cancellation, a moment before the
	// supervisor has found out how the process ended.
	if errors.Is(err, context.Canceled) {
		return &GoneError{Cause: err}
	}
	return err
}

// Close ends the browser and every process it started, waits for their end, and
// removes the profile directory. Calling it again returns the same result.
func (b *Browser) Close() error {
	b.closeOnce.Do(func() {
		b.end(ErrClosed)
		<-b.done
		b.closeErr = errors.Join(b.treeErr, wipeProfile(b.options.ProfileDir))
	})
	return b.closeErr
}
