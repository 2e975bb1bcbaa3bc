package bot

import (
	"time"

	"standin/internal/bot/meeting"
)

// pageState classifies a snapshot for a bot that is, or wants to be, in the
// meeting.
type pageState int

const (
	stateInMeeting pageState = iota
	statePreJoin             // the page offers to join: it was reloaded
	stateLobby               // the bot was moved to the lobby
	stateOffline             // the page reports that it has no connection
	stateElsewhere           // the page navigated away, or shows a sign-in page or an end
	stateUnknown
)

// classify returns the state that a snapshot shows. home is the meeting's host,
// if known.
func classify(s snapshot, home string) pageState {
	switch s.seen.Screen {
	case meeting.InMeeting:
		return stateInMeeting
	case meeting.PreJoin:
		return statePreJoin
	case meeting.Lobby, meeting.HostAbsent:
		return stateLobby
	case meeting.Reconnecting, meeting.CannotConnect:
		return stateOffline
	case meeting.Unknown:
		if home != "" && s.host != "" && s.host != home {
			return stateElsewhere
		}
		return stateUnknown
	}
	return stateElsewhere
}

// pageHealth tracks how long the page has been in a state.
type pageHealth struct {
	state pageState
	since time.Time
}

// update returns the health after one more snapshot. A page that redraws while
// it is offline is still offline.
func (h pageHealth) update(now time.Time, state pageState) pageHealth {
	if state == stateUnknown && h.state == stateOffline || state == h.state && !h.since.IsZero() {
		return h
	}
	return pageHealth{state: state, since: now}
}

// recovery is how a session recovers from a page that left the meeting.
type recovery int

const (
	noRecovery       recovery = iota
	rejoinSamePage            // press join again
	waitInLobby               // wait to be admitted again
	rejoinNewBrowser          // with a new browser
)

// recovery returns what to do now. alive means that audio arrives or a call is
// connected: only the screen is not recognized.
func (h pageHealth) recovery(now time.Time, timeouts Timeouts, alive bool) recovery {
	duration := now.Sub(h.since)
	switch h.state {
	case statePreJoin:
		if duration >= timeouts.Settle {
			return rejoinSamePage
		}
	case stateLobby:
		if duration >= timeouts.Settle {
			return waitInLobby
		}
	case stateOffline, stateElsewhere:
		if duration >= timeouts.Connection {
			return rejoinNewBrowser
		}
	case stateUnknown:
		if duration >= timeouts.Unknown && !alive {
			return rejoinNewBrowser
		}
	}
	return noRecovery
}
