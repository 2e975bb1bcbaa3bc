package output

import (
	"context"
	"slices"
	"time"

	"standin/internal/base/retry"
	"standin/internal/bot/browser"
)

const (
	// openedInterval is how often Hear looks whether the page uses its microphone.
	openedInterval = 250 * time.Millisecond
	// maxHeardLate limits how late a page hears: sound that would be later is discarded.
	maxHeardLate = 400 * time.Millisecond
)

// Hear lets a page of PrepareMicrophone hear live PCM as its microphone, while it uses one,
// until ctx ends. listen starts to send PCM, until it is told to stop.
func Hear(ctx context.Context, page *browser.Page, listen func() (pcm <-chan []byte, stop func())) {
	for ctx.Err() == nil {
		var opened bool
		// A page that is being loaded, or that is busy, does not use it now.
		if err := eval(ctx, page, microphone+".opened", &opened); err == nil && opened {
			hearOnce(ctx, page, listen)
		}
		_ = retry.Sleep(ctx, openedInterval)
	}
}

// hearOnce returns when the page does not use its microphone any longer.
func hearOnce(ctx context.Context, page *browser.Page, listen func() (pcm <-chan []byte, stop func())) {
	pcm, stop := listen()
	defer stop()
	var end time.Time // of the sound that was pushed
	for {
		var piece []byte
		select {
		case piece = <-pcm:
		case <-ctx.Done():
			return
		}
		if time.Until(end) > maxHeardLate {
			continue
		}
		piece = slices.Clone(piece)
		for waiting := len(pcm); waiting > 0; waiting-- {
			piece = append(piece, <-pcm...)
		}
		pushing, cancel := context.WithTimeoutCause(ctx, callTimeout, errPageBusy)
		heard, err := push(pushing, page, piece, false)
		cancel()
		if err != nil {
			return // another document, or the page is gone
		}
		end = heard.to
	}
}
