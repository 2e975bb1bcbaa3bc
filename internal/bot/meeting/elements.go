package meeting

// The elements of profiles that a site presses, types into or reads. A profile
// may hold others besides, for the signs of its screens.
const (
	// On the way in.
	launchApp      = "launchApp"  // tries the platform's program first
	useBrowser     = "useBrowser" // goes on without the program
	nameInput      = "nameInput"
	passcodeInput  = "passcodeInput"
	passcodeSubmit = "passcodeSubmit" // where the passcode has a step of its own
	computerAudio  = "computerAudio"  // not chosen yet, and without it the meeting is silent
	joinButton     = "joinButton"
	joinInDialog   = "joinInDialog"
	captcha        = "captcha"

	// Microphone and camera.
	microphoneOn  = "microphoneOn"
	microphoneOff = "microphoneOff"
	cameraOn      = "cameraOn"
	cameraOff     = "cameraOff"

	// What stands in the way.
	dialog         = "dialog"
	answerCookies  = "answerCookies"
	withoutDevices = "continueWithoutDevices"
	acceptNotice   = "acceptNotice"
	dismissTip     = "dismissTip"

	// In the meeting.
	chatButton   = "chatButton"
	chatInput    = "chatInput"
	leaveButton  = "leaveButton"
	confirmLeave = "confirmLeave"
	pinItem      = "pinItem" // of the menu that a participant's tile opens

	// The platform's own request for permission to record.
	moreButton        = "moreButton"
	recordButton      = "recordButton"
	requestPermission = "requestPermission"
	closePermission   = "closePermission"
)

// commonElements must stand in every profile.
func commonElements() []string {
	return []string{
		nameInput, joinButton, microphoneOn, microphoneOff, cameraOn, cameraOff,
		dialog, answerCookies, withoutDevices, acceptNotice, dismissTip,
		chatButton, chatInput, leaveButton, confirmLeave,
	}
}

// usableElements are all that a site can use; those of no platform's concern
// are simply never seen.
func usableElements() []string {
	return append(commonElements(),
		launchApp, useBrowser, passcodeInput, passcodeSubmit, computerAudio, joinInDialog, captcha, pinItem,
		moreButton, recordButton, requestPermission, closePermission)
}

// dismissals are the buttons of dialogs and notices that stand in the way, in
// the order in which they are answered.
func dismissals() []string {
	return []string{answerCookies, withoutDevices, acceptNotice, joinInDialog, dismissTip}
}
