package meeting

import (
	"fmt"
	"strings"
	"time"
)

// errorScheme is the scheme of the page that Chromium shows in place of one
// that it could not load.
const errorScheme = "chrome-error:"

// classify returns the screen of a snapshot. The screen is Unknown unless the
// evidence of the profile's rules suffices.
func (p *Profile) classify(snapshot Snapshot, past history) classification {
	if snapshot.Scheme == errorScheme {
		return classification{screen: CannotConnect, evidence: "the browser's own error page"}
	}
	for _, screen := range Screens() {
		if screen == PreJoin && !past.admitted {
			if evidence, ok := lobbyOverPreJoin(snapshot, past); ok {
				return classification{screen: Lobby, evidence: evidence}
			}
		}
		if screen == InMeeting {
			break
		}
		if found, ok := p.matchScreen(screen, snapshot, past); ok {
			return found
		}
	}
	return p.classifyCall(snapshot, past)
}

// disabledJoinTime is how long the join button must be disabled after it was
// pressed before the page counts as the lobby.
const disabledJoinTime = 3 * time.Second

// lobbyOverPreJoin returns the evidence that a page which still shows parts of
// the pre-join screen is the lobby: a lobby's words anywhere, or a join button
// that stays disabled after it was pressed. A page that offers to join is not.
func lobbyOverPreJoin(snapshot Snapshot, past history) (evidence string, ok bool) {
	switch {
	case snapshot.clickable(joinButton) || snapshot.Visible(nameInput) && !past.requested:
		return "", false
	case snapshot.LobbyText != "":
		return fmt.Sprintf("text %q", snapshot.LobbyText), true
	case past.requested && past.joinedFor >= disabledJoinTime:
		return fmt.Sprintf("the join button has been disabled for %s", past.joinedFor.Round(time.Second)), true
	}
	return "", false
}

// matchScreen reports whether the rules of a screen that match are sufficient
// evidence. For Ended, it is also evidence that a call's controls and tiles are
// gone.
func (p *Profile) matchScreen(screen Screen, snapshot Snapshot, past history) (classification, bool) {
	found := classification{screen: screen}
	weight := 0
	var all []string
	for _, rule := range p.Screens[screen] {
		evidence, ok := rule.match(snapshot, past)
		if !ok {
			continue
		}
		weight += rule.weight()
		found.reload = found.reload || rule.Reload
		if all = append(all, evidence); weight >= minWeight {
			break
		}
	}
	if weight > 0 && weight < minWeight && screen == Ended && past.admitted && p.callIsGone(snapshot) {
		weight++
		all = append(all, "the call's controls are gone")
	}
	found.evidence = strings.Join(all, "; ")
	return found, weight >= minWeight
}
