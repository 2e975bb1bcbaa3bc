package meeting

import (
	"encoding/json"
	"maps"
	"slices"
)

// The elements of profiles that an adapter presses, types into or reads. A
// profile may define others, for the rules of its screens.
const (
	// Before the meeting.
	launchApp      = "launchApp"  // tries to start the platform's program
	useBrowser     = "useBrowser" // continues in the browser
	nameInput      = "nameInput"
	passcodeInput  = "passcodeInput"
	passcodeSubmit = "passcodeSubmit" // used where the passcode is a separate step
	computerAudio  = "computerAudio"  // not chosen yet; without it the meeting is silent
	joinAudio      = "joinAudio"      // opens the dialog with computerAudio, in the meeting
	joinButton     = "joinButton"
	joinInDialog   = "joinInDialog"
	captcha        = "captcha"
	refusal        = "refusal" // the platform lets nobody in; why, is in its text

	// Devices.
	shareScreen   = "shareScreen" // while the bot shares none
	shareChoice   = "shareChoice" // chooses the screen in what shareScreen opens
	stopSharing   = "stopSharing" // while the bot shares its screen
	microphoneOn  = "microphoneOn"
	microphoneOff = "microphoneOff"
	cameraOn      = "cameraOn"
	cameraOff     = "cameraOff"

	// Dialogs and notices.
	dialog         = "dialog"
	acceptTerms    = "acceptTerms" // of the meeting's company
	answerCookies  = "answerCookies"
	allowDevices   = "allowDevices"
	withoutDevices = "continueWithoutDevices"
	acceptNotice   = "acceptNotice"
	dismissTip     = "dismissTip"

	// In the meeting.
	chatButton   = "chatButton"
	peopleButton = "peopleButton" // opens and closes the list of people
	chatInput    = "chatInput"
	leaveButton  = "leaveButton"
	confirmLeave = "confirmLeave"
	pinItem      = "pinItem" // item of the menu that a participant's tile opens

	// The platform's own request for permission to record.
	moreButton        = "moreButton"
	recordButton      = "recordButton"
	requestPermission = "requestPermission"
	closePermission   = "closePermission"
)

// requiredElements are the elements that every profile defines.
func requiredElements() []string {
	return []string{
		nameInput, joinButton, microphoneOn, microphoneOff, cameraOn, cameraOff,
		dialog, answerCookies, withoutDevices, acceptNotice, dismissTip,
		chatButton, chatInput, leaveButton, confirmLeave,
	}
}

// usableElements are all elements that an adapter can use.
func usableElements() []string {
	return append(requiredElements(),
		launchApp, useBrowser, passcodeInput, passcodeSubmit, computerAudio, joinAudio, joinInDialog, captcha, refusal, pinItem, allowDevices,
		acceptTerms, peopleButton, moreButton, recordButton, requestPermission, closePermission, shareScreen, shareChoice, stopSharing)
}

// dismissals are the buttons of dialogs and notices that block the page, in the
// order in which they are pressed.
func dismissals() []string {
	return []string{answerCookies, acceptTerms, allowDevices, withoutDevices, acceptNotice, joinInDialog, dismissTip}
}

// ExpectedElements returns the elements that a page with a screen should have:
// those that a bot uses on it.
func (p *Profile) ExpectedElements(screen Screen, snapshot Snapshot) []string {
	either := func(a, b string) []string {
		if snapshot.present(a) || snapshot.present(b) {
			return nil
		}
		return []string{a, b}
	}
	devices := slices.Concat(either(microphoneOn, microphoneOff), either(cameraOn, cameraOff))
	switch screen {
	case PreJoin:
		return append([]string{nameInput, joinButton}, devices...)
	case Lobby:
		return []string{leaveButton}
	case InMeeting:
		return slices.Concat([]string{leaveButton, chatButton}, devices, p.Admission.Controls)
	}
	return nil
}

// MayHaveLabel reports whether a control whose label the profile does not know may be
// an element: it has no label of another control of the profile, and no word of what a
// bot does not press, such as "Sign in", that the element's own labels do not have.
func (p *Profile) MayHaveLabel(element, label string) bool {
	own, _ := json.Marshal(p.Elements[element]) // texts always encode
	others := slices.Concat(slices.Collect(maps.Values(p.Elements))...)
	known := func(c Candidate) bool {
		return c.Text != nil && TextMatch{Equals: c.Text.Equals, StartsWith: c.Text.StartsWith}.matches(label)
	}
	return slices.ContainsFunc(p.Elements[element], known) || !slices.ContainsFunc(append(others, p.Roster.Ignore...), known) &&
		!slices.ContainsFunc(knownWords().Dialogs.Never, func(words phrase) bool {
			return hasPhrase(label, phrases{words}) && !hasPhrase(string(own), phrases{words})
		})
}

// pendingActions lists the elements that should be pressed after joining was
// requested.
func pendingActions(snapshot Snapshot, screen Screen) []string {
	wanted := dismissals()
	switch screen {
	case PreJoin:
		// Only for the button that came back. A page that starts over asks for
		// the name and needs another Join.
		if field, visible := snapshot.Elements[nameInput]; !visible || field.Value != "" {
			wanted = append(wanted, joinButton)
		}
	case HostAbsent, Lobby:
		wanted = append(wanted, microphoneOn, cameraOn)
	case InMeeting:
		wanted = slices.DeleteFunc(wanted, func(element string) bool { return element == joinInDialog })
		wanted = append(wanted, computerAudio, microphoneOn, cameraOn)
	}
	return slices.DeleteFunc(wanted, func(element string) bool { return !snapshot.clickable(element) })
}
