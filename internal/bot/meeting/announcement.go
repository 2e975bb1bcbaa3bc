package meeting

import (
	"slices"
	"strings"
	"time"
)

const (
	// finalTime is how long a dialog that was acknowledged must stay until it is final.
	finalTime = 2500 * time.Millisecond
	// rememberTime is how long a dialog that was acknowledged explains what the page
	// shows next.
	rememberTime = 20 * time.Second
)

// isAnnouncement reports whether a dialog asks for nothing but to be acknowledged. It may
// offer links and upgrades beside that.
func (d Dialog) isAnnouncement() bool {
	known := knownWords().Dialogs
	closes := func(b DialogButton) bool { return b.isOneOf(known.Acknowledge, known.Close) }
	asks := func(b DialogButton) bool { return b.isOneOf(known.Agree, known.Cancel, known.Decline) }
	return slices.ContainsFunc(d.Buttons, closes) && !slices.ContainsFunc(d.Buttons, asks) && !isRecordingNotice(d)
}

// asksToSignIn reports whether the only way on from a dialog is to sign in.
func (d Dialog) asksToSignIn() bool {
	cancels := func(b DialogButton) bool { return b.isOneOf(knownWords().Dialogs.Cancel) }
	return len(d.Buttons) == 2 && slices.ContainsFunc(d.Buttons, cancels) && hasPhraseOf(d.Text, SignInWall)
}

// classifyDialog recognizes a refusal that a dialog announces before admission, and an end
// that a dialog announced: by the words of the dialog, or because it stays, or comes back,
// after it was acknowledged.
func (p *Profile) classifyDialog(snapshot Snapshot, past History) (classification, bool) {
	switch {
	case past.Admitted:
		return p.classifyAnnouncedEnd(snapshot, past)
	case !past.Requested || p.isConnected(snapshot):
		return classification{}, false
	}
	var announced string
	evidence := requestedEvidence()
	switch {
	case snapshot.Over != nil && (snapshot.Over.isAnnouncement() || snapshot.Over.asksToSignIn() && snapshot.LobbyText == "" &&
		!snapshot.present(leaveButton)):
		announced = snapshot.Over.Text
	case past.Acknowledged != "" && snapshot.clickable(joinButton):
		announced = past.Acknowledged
		evidence.What = "the page asks to join again"
	case past.Acknowledged != "" && p.callIsGone(snapshot) && snapshot.Over == nil && snapshot.LobbyText == "":
		announced = past.Acknowledged
		evidence = callGoneEvidence()
	default:
		return classification{}, false
	}
	text := textEvidence(announced, "a dialog", weakWeight)
	if found, ok := firstSaid(text, announced, evidence, LobbyTimedOut, Denied, Removed, NotFound, Ended, SignInWall, BotWall, HostAbsent,
		CannotConnect); ok {
		return found, true
	}
	if past.Acknowledged != announced || snapshot.Over == nil || snapshot.LobbyText != "" || snapshot.present(leaveButton) ||
		past.AcknowledgedFor < finalTime && past.AcknowledgedTimes < 2 {
		return classification{}, false
	}
	return classified(Denied, text, weakEvidence(EvidenceDuration, "the dialog stays, or comes back, after it was acknowledged")), true
}

// classifyAnnouncedEnd recognizes the end of a call that a dialog announced, once the call is
// gone or the dialog stays although it was acknowledged.
func (p *Profile) classifyAnnouncedEnd(snapshot Snapshot, past History) (classification, bool) {
	if past.Acknowledged == "" || snapshot.Media > 0 {
		return classification{}, false
	}
	var over Evidence
	switch stays := snapshot.Over != nil && snapshot.Over.Text == past.Acknowledged && past.AcknowledgedFor >= finalTime; {
	case stays:
		over = weakEvidence(EvidenceDuration, "the dialog stays after it was acknowledged")
	case p.callIsGone(snapshot):
		over = callGoneEvidence()
	case snapshot.Visible(joinButton) && len(p.callControls(snapshot)) == 0:
		over = weakEvidence(EvidenceElement, "the page asks to join again")
	default:
		return classification{}, false
	}
	return firstSaid(textEvidence(past.Acknowledged, "a dialog", weakWeight), past.Acknowledged, over, Removed, Ended)
}

// firstSaid recognizes the first of some screens of which a text has a phrase, beside other evidence.
func firstSaid(text Evidence, said string, beside Evidence, screens ...Screen) (classification, bool) {
	i := slices.IndexFunc(screens, func(screen Screen) bool { return hasPhraseOf(said, screen) })
	if i < 0 {
		return classification{}, false
	}
	return classified(screens[i], text, beside), true
}

// refusedOverForm recognizes a refusal that a notice announces over a page that offers to
// join again.
func refusedOverForm(snapshot Snapshot, past History) (classification, bool) {
	if !past.Requested || past.Admitted || !snapshot.Visible(joinButton) {
		return classification{}, false
	}
	said := strings.Join(snapshot.Outline.Notices, ". ")
	return firstSaid(textEvidence(said, "a notice", weakWeight), said, requestedEvidence(), LobbyTimedOut, Denied)
}

// hostAbsentAnywhere recognizes an absent host by a text anywhere on a page that does
// not ask for anything the bot could still do.
func (p *Profile) hostAbsentAnywhere(snapshot Snapshot, past History) (classification, bool) {
	if past.Admitted || snapshot.clickable(joinButton) || p.isConnected(snapshot) || snapshot.asksForName() ||
		snapshot.Visible(passcodeInput) {
		return classification{}, false
	}
	if snapshot.HostText != "" {
		return classified(HostAbsent, textEvidence(snapshot.HostText, "admission.hostTexts", minWeight)), true
	}
	texts, _ := snapshot.Outline.messages()
	text, ok := findPhrase(notStartedPhrase, texts)
	if !ok && snapshot.Visible(nameInput) && snapshot.LobbyText == "" { // the form stays, and nothing but the text has changed
		text, ok = findPhrase(HostAbsent, texts)
	}
	if !ok || !past.Requested || p.classifyByWords(snapshot, past).screen.Terminal() {
		return classification{}, false
	}
	return classified(HostAbsent, textEvidence(text, "words.yaml", weakWeight), requestedEvidence()), true
}
