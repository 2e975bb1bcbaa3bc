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
	lookEvery = 250 * time.Millisecond // at the page
	lookTime  = 5 * time.Second        // for one look
)

// sighting is one look at the page.
type sighting struct {
	at        time.Time
	seen      meeting.Observation
	host      string // of the page's address; empty when it is not known
	connected bool   // a call is on, though the page shows nothing that is known
	err       error  // no evidence about the meeting
}

// watch looks at the page again and again, beside everything else that is done
// on it, until ctx ends.
func watch(ctx context.Context, adapter meeting.Adapter, page *browser.Page, sights chan<- sighting) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case sights <- look(ctx, adapter, page):
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

// look looks at the page once.
func look(ctx context.Context, adapter meeting.Adapter, page *browser.Page) sighting {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	var s sighting
	s.seen, s.err = adapter.Observe(ctx, page)
	s.at = time.Now()
	if s.err != nil {
		return s
	}
	if address, err := page.URL(ctx); err == nil {
		s.host = hostOf(address)
	}
	if s.seen.Screen == meeting.Unknown {
		s.connected, _ = recorder.Connected(ctx, page) // a page that does not tell has no call
	}
	return s
}

// hostOf is the host of an address, with its port.
func hostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Host
}

// state is what a look means for a bot that is, or wants to be, in the meeting.
type state int

const (
	fine     state = iota
	outside        // the page offers to join: it was loaded again
	lobbied        // the bot was put into the lobby
	offline        // the page says that it has no connection
	astray         // the page went elsewhere, or before a wall
	nameless       // nothing that is known
)

// stateOf tells what a look means. home is the meeting's host, as far as it is
// known.
func stateOf(s sighting, home string) state {
	switch s.seen.Screen {
	case meeting.InMeeting:
		return fine
	case meeting.PreJoin:
		return outside
	case meeting.Lobby, meeting.HostAbsent:
		return lobbied
	case meeting.Reconnecting, meeting.CannotConnect:
		return offline
	case meeting.Unknown:
		if home != "" && s.host != "" && s.host != home {
			return astray
		}
		return nameless
	}
	return astray
}

// trouble follows since when the page is in a state.
type trouble struct {
	state state
	since time.Time
}

// follow takes in one more look. A page that is drawn anew while it has no
// connection still has none.
func (t trouble) follow(now time.Time, seen state) trouble {
	if seen == nameless && t.state == offline || seen == t.state && !t.since.IsZero() {
		return t
	}
	return trouble{state: seen, since: now}
}

// cure is what is to be done about a state of the page.
type cure int

const (
	bear      cure = iota
	joinAgain      // in the same page
	waitAgain      // in the lobby
	comeAgain      // with another browser
)

// cure tells what to do about a trouble in the middle of a meeting. alive says
// that sound arrives or that a call is on: a page that is merely not recognised
// is filmed on.
func (t trouble) cure(now time.Time, patience Timeouts, alive bool) cure {
	lasted := now.Sub(t.since)
	switch {
	case t.state == outside && lasted >= patience.Settle:
		return joinAgain
	case t.state == lobbied && lasted >= patience.Settle:
		return waitAgain
	case (t.state == offline || t.state == astray) && lasted >= patience.Connection:
		return comeAgain
	case t.state == nameless && lasted >= patience.Unknown && !alive:
		return comeAgain
	}
	return bear
}
