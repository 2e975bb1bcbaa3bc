package meeting

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// classification is the screen that a snapshot shows.
type classification struct {
	screen   Screen
	evidence []Evidence
	reload   bool // the page does not change unless it is loaded again
}

// classified returns the classification of a page that does not have to be loaded again.
func classified(screen Screen, evidence ...Evidence) classification {
	return classification{screen: screen, evidence: evidence}
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
	if found.screen == Removed && snapshot.Over != nil { // it may say by whom
		found.evidence = append(found.evidence, textEvidence(snapshot.Over.Text, "a dialog", 0))
	}
	if found.screen == Removed && past.Requested && !past.Admitted {
		found.screen = Denied
	}
	return found
}

// classifyPage asks the ways to recognize a screen in the order of Screens. The first
// that recognizes one decides.
func (p *Profile) classifyPage(snapshot Snapshot, past History) classification {
	switch {
	case snapshot.Scheme == errorScheme:
		return classified(CannotConnect, Evidence{Kind: EvidenceAddress, What: "the browser's own error page", Weight: minWeight})
	case past.ClosedFor >= closedTime: // the end is announced in unknown words, over a call that is still drawn
		return classified(Ended, weakEvidence(EvidenceMedia, "the page closed its connections"),
			durationEvidence("a dialog stays for %s", past.ClosedFor))
	}
	for _, recognize := range []func(Snapshot, History) (classification, bool){
		p.classifyOver, p.classifyDialog, refusedOverForm, p.hostAbsentAnywhere,
		p.classifyWaiting, p.classifyForm, p.classifyLobbyOverPreJoin, p.classifyPreJoin,
		p.classifyRefusal, p.classifyStatus,
	} {
		if found, ok := recognize(snapshot, past); ok {
			return found
		}
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

// classifyOver recognizes by the profile that there is no way in, or that the call is
// over or interrupted.
func (p *Profile) classifyOver(snapshot Snapshot, past History) (classification, bool) {
	// A visit only begins if the bot was not admitted, and the page offers to join under a name, or to leave its lobby.
	begins := !past.Admitted &&
		(snapshot.clickable(joinButton) || snapshot.Visible(nameInput) || past.Requested && snapshot.present(leaveButton))
	for _, screen := range overScreens() {
		if (screen == Removed || screen == Ended) && begins {
			continue // a heading may be the subject of the meeting
		}
		found, ok := p.matchScreen(screen, snapshot, past)
		if !ok {
			continue
		}
		if screen == Ended && !found.says() { // words that the profile does not have may say why
			if said := p.classifyByWords(snapshot, past); said.screen == Removed {
				return said, true
			}
			if announced, ok := p.classifyAnnouncedEnd(snapshot, past); ok {
				return announced, true
			}
		}
		return found, true
	}
	return classification{}, false
}

// classifyWaiting recognizes by the profile that the bot waits.
func (p *Profile) classifyWaiting(snapshot Snapshot, past History) (classification, bool) {
	for _, screen := range []Screen{HostAbsent, Lobby} {
		found, ok := p.matchScreen(screen, snapshot, past)
		if !ok {
			continue
		}
		if !found.says() { // the page's words say more than its title
			if said := p.classifyByWords(snapshot, past); said.screen != Unknown {
				return said, true
			}
		}
		return found, true
	}
	return classification{}, false
}

// classifyPreJoin recognizes the pre-join screen. After admission, its parts beside media
// or controls of a call are a field or button of the call, and a button alone may be one to join
// again after the end.
func (p *Profile) classifyPreJoin(snapshot Snapshot, past History) (classification, bool) {
	if past.Admitted && (p.isConnected(snapshot) || !snapshot.hasForm()) {
		return classification{}, false
	}
	return p.matchScreen(PreJoin, snapshot, past)
}

// hasForm reports whether a page asks for a name, or shows a preview with switches of devices.
func (s Snapshot) hasForm() bool {
	return len(s.Tiles) > 0 || slices.ContainsFunc([]string{nameInput, microphoneOn, microphoneOff, cameraOn, cameraOff, useBrowser, launchApp,
		passcodeInput}, s.Visible)
}

// asksForName reports whether a page has an empty field for the name: it starts over.
func (s Snapshot) asksForName() bool {
	field, visible := s.Elements[nameInput]
	return visible && strings.TrimSpace(field.Value) == ""
}

// closedTime is how long a dialog must stay over a call whose connections the page has closed until the call is over.
const closedTime = 30 * time.Second

// classifyForm recognizes a form that asks, in any words, for an e-mail address or a code that the bot does not have.
func (p *Profile) classifyForm(snapshot Snapshot, past History) (classification, bool) {
	i := slices.IndexFunc(snapshot.Outline.Fields, func(f OutlineControl) bool { return !f.Filled && (f.Type == "email" || f.Type == "code") })
	asked := past.Requested || snapshot.Elements[joinButton].Disabled && snapshot.Elements[nameInput].Value != ""
	if i < 0 || past.Admitted || !asked || snapshot.clickable(joinButton) || snapshot.LobbyText != "" || p.isConnected(snapshot) {
		return classification{}, false
	}
	field := weakEvidence(EvidenceElement, "a field for an address or a code: "+snapshot.Outline.Fields[i].Label)
	return classified(SignInWall, field, requestedEvidence()), true
}

// classifyRefusal recognizes a refusal by its element, whatever it says.
func (p *Profile) classifyRefusal(snapshot Snapshot, past History) (classification, bool) {
	if said := p.classifyByWords(snapshot, past); snapshot.Visible(refusal) && said.screen == SignInWall {
		return said, true
	}
	element := weakEvidence(EvidenceElement, fmt.Sprintf("element refusal %q", snapshot.Elements[refusal].Text))
	return classified(Denied, element, callGoneEvidence()), snapshot.Visible(refusal) && !past.Admitted && p.callIsGone(snapshot)
}

// classifyStatus recognizes a document that the server refuses (RFC 9110, section 15).
func (p *Profile) classifyStatus(snapshot Snapshot, _ History) (classification, bool) {
	status, screen := snapshot.Status, CannotConnect
	walled := status == http.StatusUnauthorized || status == http.StatusForbidden
	if walled {
		screen = BotWall
	}
	refused := walled || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
	return classified(screen, weakEvidence(EvidenceAddress, fmt.Sprintf("HTTP status %d", status)), callGoneEvidence()),
		refused && p.callIsGone(snapshot) && len(snapshot.Outline.Fields) == 0
}

// disabledJoinTime is how long the join button must be disabled after it was
// pressed before the page counts as the lobby.
const disabledJoinTime = 3 * time.Second

// classifyLobbyOverPreJoin recognizes a page that still shows parts of the pre-join
// screen as the lobby, by a lobby's words anywhere or a join button that stays disabled
// after it was pressed. A page that offers to join is not the lobby.
func (p *Profile) classifyLobbyOverPreJoin(snapshot Snapshot, past History) (classification, bool) {
	switch {
	case past.Admitted, snapshot.clickable(joinButton), snapshot.Visible(nameInput) && !past.Requested, snapshot.asksForName():
		return classification{}, false
	case snapshot.LobbyText != "":
		return classified(Lobby, lobbyEvidence(snapshot)), true
	case past.JoinedFor < disabledJoinTime:
		return classification{}, false
	}
	if found := p.classifyByWords(snapshot, past); found.screen != Unknown {
		return found, true
	}
	return classified(Lobby, requestedEvidence(), durationEvidence("the join button has been disabled for %s", past.JoinedFor)), true
}

// lobbyEvidence returns the evidence of a lobby's words on the page.
func lobbyEvidence(snapshot Snapshot) Evidence {
	return textEvidence(snapshot.LobbyText, "admission.lobbyTexts", minWeight)
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
