package bot

import (
	"context"
	"net/url"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
)

const (
	pollInterval    = 250 * time.Millisecond
	snapshotTimeout = 5 * time.Second
)

// snapshot is the state of the meeting's page at one moment.
type snapshot struct {
	at        time.Time
	seen      meeting.Observation
	host      string // host of the page's address; empty if unknown
	connected bool   // a call is connected although the screen is unknown
	err       error  // the page was not readable: the rest is empty
}

// pollSnapshots sends a snapshot every poll interval until ctx ends.
func pollSnapshots(ctx context.Context, adapter meeting.Adapter, page *browser.Page, snapshots chan<- snapshot) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case snapshots <- takeSnapshot(ctx, adapter, page):
		case <-ctx.Done():
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func takeSnapshot(ctx context.Context, adapter meeting.Adapter, page *browser.Page) snapshot {
	ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
	defer cancel()
	var s snapshot
	s.seen, s.err = adapter.Observe(ctx, page)
	s.at = time.Now()
	if s.err != nil {
		return s
	}
	if address, err := page.URL(ctx); err == nil {
		s.host = hostOf(address)
	}
	if s.seen.Screen == meeting.Unknown {
		s.connected, _ = recorder.Connected(ctx, page) // an unreadable page has no call
	}
	return s
}

// hostOf returns the host and port of an address.
func hostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Host
}
