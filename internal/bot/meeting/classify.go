package meeting

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// classification is the screen that a snapshot shows.
type classification struct {
	screen   Screen
	evidence []Evidence
	reload   bool // the page does not change unless it is loaded again
}

// says reports whether a text of the page is among the evidence.
func (c classification) says() bool {
	return slices.ContainsFunc(c.evidence, func(e Evidence) bool { return e.Kind == EvidenceText })
}

// errorScheme is the scheme of the page that Chromium shows in place of one
// that it could not load.
const errorScheme = "chrome-error:"

// classify returns the screen of a snapshot. The screen is Unknown unless the
// evidence suffices. Whoever is removed from the lobby was not let in.
func (p *Profile) classify(snapshot Snapshot, past History) classification {
	found := p.classifyPage(snapshot, past)
	if found.screen == Removed && past.Requested && !past.Admitted {
		found.screen = Denied
	}
	return found
}

func (p *Profile) classifyPage(snapshot Snapshot, past History) classification {
	if snapshot.Scheme == errorScheme {
		return classification{screen: CannotConnect, evidence: []Evidence{
			{Kind: EvidenceAddress, What: "the browser's own error page", Weight: minWeight},
		}}
	}
	for _, screen := range Screens() {
		if screen == HostAbsent { // after all screens that are final
			if found, ok := p.classifyDialog(snapshot, past); ok {
				return found
			}
			if found, ok := refusedOverForm(snapshot, past); ok {
				return found
			}
			if found, ok := p.hostAbsentAnywhere(snapshot, past); ok {
				return found
			}
		}
		if screen == PreJoin && !past.Admitted {
			if evidence, ok := lobbyOverPreJoin(snapshot, past); ok {
				if found := p.classifyByWords(snapshot, past); found.screen != Unknown && snapshot.LobbyText == "" {
					return found
				}
				return classification{screen: Lobby, evidence: evidence}
			}
		}
		if screen == InMeeting {
			break
		}
		if (screen == Removed || screen == Ended) && asksToJoin(snapshot, past) {
			continue // a heading may be the subject of the meeting
		}
		if screen == PreJoin && past.Admitted && (snapshot.Media > 0 || len(p.callControls(snapshot)) > 0) {
			continue // a field or button of the call
		}
		if found, ok := p.matchScreen(screen, snapshot, past); ok {
			if screen == Ended && !found.says() { // words that the profile does not have may say why
				if said := p.classifyByWords(snapshot, past); said.screen == Removed {
					return said
				}
				if told, ok := p.classifyToldEnd(snapshot, past); ok {
					return told
				}
			}
			return found
		}
	}
	if snapshot.Visible(refusal) && !past.Admitted && p.callIsGone(snapshot) {
		return classification{screen: Denied, evidence: []Evidence{
			{Kind: EvidenceElement, What: fmt.Sprintf("element refusal %q", snapshot.Elements[refusal].Text), Weight: weakWeight}, callGoneEvidence(),
		}}
	}
	if screen, ok := screenOfStatus(snapshot.Status); ok && p.callIsGone(snapshot) && len(snapshot.Outline.Fields) == 0 {
		return classification{screen: screen, evidence: []Evidence{
			{Kind: EvidenceAddress, What: fmt.Sprintf("HTTP status %d", snapshot.Status), Weight: weakWeight}, callGoneEvidence(),
		}}
	}
	found := p.classifyCall(snapshot, past)
	if found.screen == Unknown && len(found.evidence) == 0 {
		found = p.classifyByWords(snapshot, past)
	}
	if found.screen == Unknown && len(found.evidence) == 0 {
		found = p.classifyWait(snapshot, past)
	}
	return found
}

// asksToJoin reports whether a visit only begins: the bot was not admitted, and the page
// offers to join under a name, or to leave its lobby.
func asksToJoin(snapshot Snapshot, past History) bool {
	return !past.Admitted && (snapshot.clickable(joinButton) || snapshot.Visible(nameInput) || past.Requested && snapshot.present(leaveButton))
}

// screenOfStatus returns the screen of a document that the server refuses (RFC 9110,
// section 15).
func screenOfStatus(status int) (screen Screen, ok bool) {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return BotWall, true
	case status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
		return CannotConnect, true
	}
	return "", false
}

// disabledJoinTime is how long the join button must be disabled after it was
// pressed before the page counts as the lobby.
const disabledJoinTime = 3 * time.Second

// lobbyOverPreJoin returns the evidence that a page which still shows parts of
// the pre-join screen is the lobby: a lobby's words anywhere, or a join button
// that stays disabled after it was pressed. A page that offers to join is not.
func lobbyOverPreJoin(snapshot Snapshot, past History) ([]Evidence, bool) {
	switch {
	case snapshot.clickable(joinButton) || snapshot.Visible(nameInput) && !past.Requested:
		return nil, false
	case snapshot.LobbyText != "":
		return []Evidence{lobbyEvidence(snapshot)}, true
	case past.Requested && past.JoinedFor >= disabledJoinTime:
		return []Evidence{
			{Kind: EvidenceHistory, What: "joining was requested", Weight: weakWeight},
			{Kind: EvidenceDuration, What: fmt.Sprintf("the join button has been disabled for %s", past.JoinedFor.Round(time.Second)), Weight: weakWeight},
		}, true
	}
	return nil, false
}

// lobbyEvidence returns the evidence of a lobby's words on the page.
func lobbyEvidence(snapshot Snapshot) Evidence {
	return Evidence{Kind: EvidenceText, What: fmt.Sprintf("text %q", snapshot.LobbyText), Where: "admission.lobbyTexts", Weight: minWeight}
}

// matchScreen reports whether the rules of a screen that match are sufficient
// evidence. For Ended, it is also evidence that a call's controls and tiles are
// gone, and media that still arrives is evidence against it, as against Removed while
// the call is still shown.
func (p *Profile) matchScreen(screen Screen, snapshot Snapshot, past History) (classification, bool) {
	found := classification{screen: screen}
	for _, rule := range p.Screens[screen] {
		evidence, ok := rule.match(snapshot, past)
		if !ok {
			continue
		}
		found.reload = found.reload || rule.Reload
		if found.evidence = append(found.evidence, evidence); totalWeight(found.evidence) >= minWeight {
			break
		}
	}
	if len(found.evidence) == 0 {
		return found, false
	}
	if past.Admitted {
		switch {
		case screen == Ended && p.callIsGone(snapshot):
			found.evidence = append(found.evidence, callGoneEvidence())
		case screen == Ended && snapshot.Media > 0, screen == Removed && snapshot.Media > 0 && !p.callIsGone(snapshot):
			found.evidence = append(found.evidence, mediaEvidence(snapshot, -weakWeight))
		}
	}
	return found, totalWeight(found.evidence) >= minWeight
}

// callGoneEvidence returns the evidence that nothing of the call is left.
func callGoneEvidence() Evidence {
	return Evidence{Kind: EvidenceElement, What: "the call's controls are gone", Weight: weakWeight}
}

// mediaEvidence returns the evidence of media that arrives.
func mediaEvidence(snapshot Snapshot, weight int) Evidence {
	return Evidence{Kind: EvidenceMedia, What: fmt.Sprintf("media of others on %d tracks", snapshot.Media), Weight: weight}
}
