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

	measured bool             // inbound is set
	inbound  recorder.Inbound // received since the last measurement
}

// pollSnapshots sends a snapshot every poll interval until ctx ends.
func pollSnapshots(ctx context.Context, adapter meeting.Adapter, page *browser.Page, snapshots chan<- snapshot) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var measuredAt time.Time
	for {
		s := takeSnapshot(ctx, adapter, page)
		if s.seen.Screen == meeting.InMeeting && s.at.Sub(measuredAt) >= inboundInterval {
			measuredAt = s.at
			s.measureInbound(ctx, page)
		}
		select {
		case snapshots <- s:
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

// measureInbound adds the media that the page has received.
func (s *snapshot) measureInbound(ctx context.Context, page *browser.Page) {
	ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
	defer cancel()
	var err error
	s.inbound, err = recorder.MeasureInbound(ctx, page)
	s.measured = err == nil // the page may be navigating
}

// hostOf returns the host and port of an address.
func hostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Host
}
