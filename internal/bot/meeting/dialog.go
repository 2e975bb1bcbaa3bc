package meeting

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"standin/internal/bot/browser"
)

const (
	// dialogTime is how long a dialog that the profile does not know stays until
	// the bot closes it. Pages close some themselves.
	dialogTime = 1500 * time.Millisecond
	// knownDialogTime is the same while the profile knows something to press, which
	// may be elsewhere.
	knownDialogTime = 3 * dialogTime
	// maxDialogTries limits how often one dialog is closed. The last try is the
	// Escape key.
	maxDialogTries = 4
)

// DialogAction closes a dialog that the profile does not know.
type DialogAction struct {
	Button int    // index of the button; -1 for the Escape key, -2 for the box to check
	Label  string // label of the button
}

// dialogState is what a visit remembers of the dialog over the page.
type dialogState struct {
	text    string
	since   time.Time
	triedAt time.Time
	tries   int

	acknowledged acknowledgement // outlasts its dialog
}

// acknowledgement is a dialog that only asked to be acknowledged, and was.
type acknowledgement struct {
	text  string
	at    time.Time // when it was first acknowledged
	times int       // how often it came and was acknowledged
}

// recentlyAcknowledged returns the acknowledged dialog while it explains what the page shows.
func (d *dialogState) recentlyAcknowledged(now time.Time) (text string, since time.Duration, times int) {
	known := d.acknowledged
	if known.text == "" || now.Sub(known.at) > rememberTime {
		return "", 0, 0
	}
	return known.text, now.Sub(known.at), known.times
}

// next returns how to close the dialog that a snapshot shows, or nil while it is
// not time or when nothing is safe. Dialogs that the profile knows are left to it.
func (d *dialogState) next(snapshot Snapshot, stage stage, now time.Time) *DialogAction {
	over := snapshot.Over
	if over == nil || slices.ContainsFunc([]string{requestPermission, closePermission, captcha, allowDevices}, snapshot.Visible) {
		*d = dialogState{acknowledged: d.acknowledged}
		return nil
	}
	if !sameDialog(d.text, over.Text) {
		*d = dialogState{text: over.Text, since: now, acknowledged: d.acknowledged}
	}
	delay := dialogTime
	if over.gate() == noButton && slices.ContainsFunc(dismissals(), snapshot.clickable) {
		delay = knownDialogTime
	}
	if now.Sub(d.since) < delay || now.Sub(d.triedAt) < dialogTime || d.tries >= maxDialogTries {
		return nil
	}
	d.triedAt = now
	d.tries++
	if over.Unchecked && slices.ContainsFunc(over.Buttons, func(b DialogButton) bool { return b.Disabled }) {
		return &DialogAction{Button: boxToCheck}
	}
	if index := safestButton(*over, stage); index != noButton && d.tries < maxDialogTries {
		if over.isAnnouncement() {
			_, _, times := d.recentlyAcknowledged(now)
			switch {
			case times == 0 || !sameDialog(d.acknowledged.text, over.Text):
				d.acknowledged = acknowledgement{text: over.Text, at: now, times: 1}
			case d.tries == 1: // it came back
				d.acknowledged.times++
			}
		}
		return &DialogAction{Button: index, Label: over.Buttons[index].Label}
	}
	if over.Marked && stage == inCall && !isRecordingNotice(*over) {
		return &DialogAction{Button: noButton}
	}
	return nil
}

// closeDialog closes a dialog.
func (d driver) closeDialog(ctx context.Context, page Page, action DialogAction) error {
	switch action.Button {
	case boxToCheck:
		return page.ClickElement(ctx, d.probe.find(map[string]bool{"dialogBox": true}))
	case noButton:
		return pressKey(ctx, page, "Escape", browser.KeyEscape)
	default:
		return page.ClickElement(ctx, d.probe.find(map[string]any{"dialogButton": action.Button, "label": action.Label}))
	}
}

// digits matches the numbers of a countdown.
var digits = regexp.MustCompile(`\d+`)

// sameDialog reports whether two texts are of one dialog, which may count down.
func sameDialog(text, other string) bool {
	return text == other || digits.ReplaceAllString(text, "") == digits.ReplaceAllString(other, "")
}

// isRecordingNotice reports whether a dialog says that the meeting is recorded.
func isRecordingNotice(dialog Dialog) bool {
	return hasPhrase(dialog.Text, knownWords().Dialogs.Recorded)
}

// gate returns the index of the button that stays in the call, in a dialog that otherwise only
// lets the bot leave: until it is pressed, a platform may send no media. It is noButton for other
// dialogs, also for those that offer to move the call here or to join another one.
func (d Dialog) gate() int {
	known, joins, leaves, index := knownWords(), 0, 0, noButton
	for i, button := range d.Buttons {
		switch {
		case button.isOneOf(known.Labels[leaveButton]):
			leaves++
		case button.isOneOf(known.Labels[joinButton], known.Dialogs.Join):
			joins, index = joins+1, i
		}
	}
	if !d.Marked || joins != 1 || leaves != 1 || hasPhrase(d.Text, known.Dialogs.Elsewhere) {
		return noButton
	}
	return index
}

const (
	noButton   = -1 // no button of the dialog closes it safely
	boxToCheck = -2 // a box has to be checked first
)

// safestButton returns the index of the button that closes a dialog of which the
// profile knows nothing, or noButton. After the bot asked to join, that is the one that opens a
// gate. Apart from it, a button that may leave, join another call,
// sign in, start something or open another page is never safe. Before entry, one that keeps the
// devices off comes first. One that agrees, to
// the terms of the meeting's company or to stay, comes first, because the other one
// may end the visit. Otherwise, a button that closes is safer than one that
// acknowledges, and this is safer than one that declines; then comes an icon in the
// corner, and then the only button. A notice that the meeting is recorded must be
// accepted, not closed: a platform may remove visitors who close it. In the lobby,
// "Cancel" may end the wait. Before entry, it may refuse the terms of a company, so the
// other button is pressed.
func safestButton(dialog Dialog, stage stage) int {
	if gate := dialog.gate(); gate != noButton && stage != beforeEntry {
		if !dialog.Buttons[gate].usable() {
			return noButton // it will be
		}
		return gate
	}
	known := knownWords().Dialogs
	recorded := isRecordingNotice(dialog)
	without := func(b DialogButton) bool { return b.usable() && hasPhrase(b.Label, known.Without) }
	if i := slices.IndexFunc(dialog.Buttons, without); i >= 0 && stage != inCall {
		return i
	}
	lists := []labels{known.Agree, known.Close, known.Acknowledge, known.Decline, known.Cancel}
	lobby := stage == inLobby && hasPhraseOf(dialog.Text, Lobby)
	switch {
	case lobby:
		lists = lists[:1]
	case recorded:
		lists = []labels{known.Accept}
	case stage == inLobby:
		lists = lists[:3]
	case stage == beforeEntry:
		if other := otherThanCancel(dialog); other >= 0 {
			if !dialog.Buttons[other].usable() {
				return noButton // it will be
			}
			return other
		}
	}
	for _, wanted := range lists {
		if i := slices.IndexFunc(dialog.Buttons, func(b DialogButton) bool { return b.usable() && b.says(wanted) }); i >= 0 {
			return i
		}
	}
	if lobby || !dialog.Marked {
		return noButton // it may be a part of the page
	}
	only, count := noButton, 0
	for i, button := range dialog.Buttons {
		switch {
		case !button.usable() || button.isDangerous():
			continue
		case button.Icon && button.Corner && !recorded:
			return i
		}
		only, count = i, count+1
	}
	if len(dialog.Buttons) == 1 && count == 1 && stage != inLobby {
		return only
	}
	if len(dialog.Buttons) == 2 && count == 1 && stage == inCall {
		accepts := !recorded || !dialog.Buttons[only].says(slices.Concat(known.Close, known.Decline, known.Cancel))
		if dialog.Buttons[1-only].isDangerous() && accepts {
			return only // to stay, in unknown words
		}
	}
	return noButton
}

// otherThanCancel returns the button beside one that cancels, if there is exactly one
// and it is safe, or else noButton. It may be disabled.
func otherThanCancel(dialog Dialog) int {
	known, cancels, other, others := knownWords().Dialogs, false, noButton, 0
	for i, button := range dialog.Buttons {
		switch {
		case button.isOneOf(known.Cancel):
			cancels = true
		case button.Icon || button.Link || button.isOneOf(known.Close):
		case (button.Disabled || button.usable()) && (button.isOneOf(known.Agree) || !button.isDangerous()):
			other, others = i, others+1
		}
	}
	if !cancels || others != 1 {
		return noButton
	}
	return other
}

// stage is how far a visit is, which decides what is safe in a dialog.
type stage int

const (
	inCall      stage = iota
	beforeEntry       // joining was not requested yet
	inLobby           // joining was requested
)

// isOneOf reports whether the button's label is one of some labels.
func (b DialogButton) isOneOf(lists ...labels) bool {
	label := fold(b.Label)
	return slices.ContainsFunc(lists, func(list labels) bool { return slices.Contains(list, label) })
}

// isDangerous reports whether the button may leave, join another call, sign in, start
// something or open another page.
func (b DialogButton) isDangerous() bool { return hasPhrase(b.Label, knownWords().Dialogs.Never) }

// says is isOneOf for one list. The label of an icon may go on, as in "Close dialog".
func (b DialogButton) says(labels []string) bool {
	label := fold(b.Label)
	return slices.ContainsFunc(labels, func(wanted string) bool { return label == wanted || b.Icon && strings.HasPrefix(label, wanted+" ") })
}

// usable reports whether a click would reach the button and stay on the page.
func (b DialogButton) usable() bool {
	return !b.Disabled && !b.Covered && !b.Link && (b.Icon || strings.TrimSpace(b.Label) != "")
}
