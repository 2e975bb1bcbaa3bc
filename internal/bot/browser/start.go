package browser

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// process is the process of a browser, and what belongs to it.
type process struct {
	command *exec.Cmd     // nil before chromedp starts it
	relay   *messageRelay // likewise
	output  printed
	release func() // releases chromedp's contexts
}

// start starts the process, connects to it, and isolates it.
func start(ctx context.Context, options Options) (*Browser, error) {
	lifetime, shutDown := context.WithCancelCause(context.WithoutCancel(ctx))
	stopLaunchBound := context.AfterFunc(ctx, func() { shutDown(ctx.Err()) })
	p := new(process)
	allocator := append(allocatorOptions(options), chromedp.CombinedOutput(&p.output), chromedp.ModifyCmdFunc(func(c *exec.Cmd) {
		p.command = c
		isolateProcess(c, syscall.SIGKILL) // chromedp locks the thread
		p.relay, c.Err = relayMessages(c)
	}))
	allocatorContext, releaseAllocator := chromedp.NewExecAllocator(lifetime, allocator...)
	// chromedp's messages also occur in healthy sessions, so they are logged at debug level.
	logf := func(format string, arguments ...any) {
		options.Log.Debug("browser connection", "detail", fmt.Sprintf(format, arguments...))
	}
	root, releaseRoot := chromedp.NewContext(allocatorContext, chromedp.WithLogf(logf), chromedp.WithErrorf(logf))
	p.release = func() {
		releaseRoot()
		releaseAllocator()
	}
	var responses iter.Seq2[fetch.EventRequestPaused, error] // of all documents, which blockExternalRedirects reads
	targets, err := chromedp.Targets(root)                   // starts the process and connects to it
	connection := chromedp.FromContext(root).Browser
	if err == nil {
		err = applyIsolation(lifetime, connection, options, "")
	}
	if err == nil {
		responses = cdp.Events(lifetime, connection, fetch.RequestPaused)
		if _, err = cdp.Call(lifetime, connection, fetch.Enable, pauseDocuments(fetch.RequestStageResponse)); err != nil {
			err = fmt.Errorf("intercept redirects: %w", err)
		}
	}
	if !stopLaunchBound() {
		err = ctx.Err()
	}
	if err != nil {
		shutDown(err)
		p.release()
		if text := p.output.String(); ctx.Err() == nil && !strings.Contains(err.Error(), text) {
			err = fmt.Errorf("%w: %s", err, text) // the browser exited, and chromedp noticed the broken pipe first
		}
		group := 0
		if p.command != nil && p.command.Process != nil {
			group = p.command.Process.Pid
		}
		killCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
		defer cancel()
		err = errors.Join(err, killProcessTree(killCtx, group, options.ProfileDir))
		if p.relay != nil {
			p.relay.close()
		}
		return nil, err
	}
	browser := &Browser{
		options: options,
		process: p.command.Process.Pid,
		session: connection,
		title:   make(chan string, 1),
		newTab: func(tab ...chromedp.ContextOption) (context.Context, context.CancelFunc) {
			return chromedp.NewContext(root, tab...)
		},
		initialTab: make(chan target.ID, 1),
		shutDown:   shutDown,
		done:       make(chan struct{}),
	}
	browser.title <- options.captureTitle
	if i := slices.IndexFunc(targets, func(info *target.Info) bool { return info.Type == "page" }); i >= 0 {
		browser.initialTab <- targets[i].TargetID
	}
	go func() {
		var blocking sync.WaitGroup
		blocking.Go(func() { browser.blockExternalRedirects(lifetime, responses) })
		blocking.Go(func() { browser.watchResources(lifetime) })
		browser.supervise(lifetime, root, p)
		blocking.Wait()
		p.relay.close()
		close(browser.done)
	}()
	return browser, nil
}
