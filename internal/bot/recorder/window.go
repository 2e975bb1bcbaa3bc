package recorder

import (
	"context"
	"fmt"
	"time"
)

// resize gives the page and the captured video their size before the encoder starts,
// because an encoder cannot change it. Some Chromium versions show an infobar
// shortly after the capture, which makes the page smaller, so the size must be
// stable for a while.
func (r *Recorder) resize(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, captureTimeout)
	defer cancel()
	var stableSince time.Time
	err := waitUntil(ctx, func() (bool, error) {
		var page, video struct{ Width, Height int }
		err := r.meeting.Eval(ctx, "({width: innerWidth, height: innerHeight})", &page)
		if err == nil {
			err = r.tab.EvalInPage(ctx, "standin.size()", &video)
		}
		switch {
		case err != nil:
			return false, err
		case page.Width != r.settings.Width || page.Height != r.settings.Height || video != page:
			stableSince = time.Time{}
			return false, r.meeting.SetContentSize(ctx, r.settings.Width, r.settings.Height)
		case stableSince.IsZero():
			stableSince = time.Now()
		}
		return time.Since(stableSince) >= stableSizeTime, nil
	})
	if err != nil {
		return fmt.Errorf("resize the page: %w", err)
	}
	r.minimize(ctx, true)
	return nil
}

// minimize minimizes or restores the page's window. A captured page in a minimized
// window is rendered for the capture only, which saves much of the cost of a
// recording. An error does not affect the recording.
func (r *Recorder) minimize(ctx context.Context, minimized bool) {
	if err := r.meeting.SetMinimized(ctx, minimized); err != nil && ctx.Err() == nil {
		r.settings.Log.Debug("cannot change the page's window", "minimized", minimized, "error", err)
	}
}

// restoreSize resizes the page again if an infobar has changed its size. It is
// repeated at the next check if it fails.
func (r *Recorder) restoreSize(ctx context.Context) {
	stats := r.server.stats()
	if stats.Width == 0 || (stats.Width == r.settings.Width && stats.Height == r.settings.Height) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkInterval)
	defer cancel()
	if r.meeting.SetContentSize(ctx, r.settings.Width, r.settings.Height) == nil {
		r.minimize(ctx, true)
	}
}

// restore restores the minimized window before the capture ends.
func (r *Recorder) restore(ctx context.Context) {
	if r.settings.AudioOnly {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkInterval)
	defer cancel()
	r.minimize(ctx, false)
}
