package browser

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

// Crash crashes the page's renderer process. It returns when ctx ends or the crash is
// reported.
func (p *Page) Crash(ctx context.Context) error {
	_, err := send(ctx, p, page.Crash, cdp.Empty{})
	return err
}

// LimitResources sets the limits of a browser's files and of its memory, in bytes.
func LimitResources(options *Options, profile, memory int64) {
	options.maxProfile, options.maxMemory = profile, memory
}
