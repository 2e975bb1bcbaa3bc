package meeting

import (
	"context"
	"fmt"
	"html"
	"strings"
	"testing"

	"standin/internal/bot/browser"
	"standin/internal/job"
)

// Parts of Teams and Zoom pages.
const (
	teamsBar = `<div role=toolbar><button id=callingButtons-showMoreBtn>More</button><button id=raisehands-button>Raise</button>
		<button id=chat-button>Chat</button><button id=hangup-button aria-label=Leave>Leave</button></div>`
	teamsTile = `<div data-cid="calling-participant-stream" aria-label="Ada Quill, muted"><div data-stream-type=Video data-tid="Ada Quill">Ada Quill</div></div>`
	teamsEnd  = `<div><div id=calling-retry-screen-title role=heading>%s</div><button data-tid="calling-retry-cancelbutton">Dismiss</button></div>`
	zoomBar   = `<footer id=wc-footer><button aria-label="mute my microphone">m</button><button aria-label="open the participants list pane, 2 participants">p</button>
		<button aria-label="open the chat panel">c</button><button aria-label=Leave>Leave</button></footer>`
	zoomTile  = `<div class="video-avatar__avatar"><div class="video-avatar__avatar-footer"><span>Ada Quill</span></div></div>`
	zoomModal = `<div role=dialog class=zm-modal><div class="zm-modal-body-title">%s</div><div>%s</div><button>OK</button></div>`
)

// framed returns a document with another in a same-origin frame.
func framed(document string) string {
	return `<main><iframe id=webclient style="width:1000px;height:600px" srcdoc="` + html.EscapeString(document) + `"></iframe></main>`
}

// testProbeOnPlatforms classifies documents of Teams and Zoom, and documents that
// only resemble them.
func testProbeOnPlatforms(t *testing.T, ctx context.Context, running *browser.Browser) {
	page := openPage(t, ctx, running)
	said := func(text string) string { return fmt.Sprintf(teamsEnd, text) }
	modal := func(title, text string) string { return fmt.Sprintf(zoomModal, title, text) }
	for _, c := range []struct {
		platform       job.Platform
		name, document string
		want           Screen
	}{
		{job.Teams, "empty page", ``, Unknown},
		{job.Teams, "launcher", `<main><button aria-label="Join meeting from this browser">Continue on this browser</button></main>`, PreJoin},
		{job.Teams, "pre-join", `<main><input data-tid="prejoin-display-name-input"><button data-tid="prejoin-join-button">Join now</button></main>`, PreJoin},
		{job.Teams, "lobby with controls", `<main><p>Someone will let you in shortly</p><button id=callingButtons-showMoreBtn>More</button><button id=hangup-button>Leave</button></main>`, Lobby},
		{job.Teams, "lobby by name", `<main><h1>Hi Standin, someone in the meeting should let you in soon.</h1></main>`, Lobby},
		{job.Teams, "connecting, with the button to leave", `<main><p>Joining...</p><button id=hangup-button>Leave</button></main>`, Unknown},
		{job.Teams, "meeting", `<main>` + teamsTile + teamsBar + `</main>`, InMeeting},
		{job.Teams, "meeting with hidden toolbar", `<main>` + teamsTile + `</main><div style="visibility:hidden">` + teamsBar + `</div>`, InMeeting},
		{job.Teams, "meeting with bubbles and chat of ends", `<main>` + teamsTile + teamsBar + `<div><p>Meeting ended</p><p>You're in the lobby</p>
			<p>Sorry, but you were denied access to the meeting</p><p>Your request to join was declined</p></div></main>
			<div data-tid="message-pane-list"><h1>You've been removed from this meeting</h1></div>`, InMeeting},
		{job.Teams, "a participant called like an end", `<main>` + teamsBar + strings.ReplaceAll(teamsTile, "Ada Quill", "Call ended") + `</main>`, InMeeting},
		{job.Teams, "removed", said("You've been removed from this meeting"), Removed},
		{job.Teams, "denied", said("Sorry, but you were denied access to the meeting"), Denied},
		{job.Teams, "cannot connect, with the same button", said("Sorry, we couldn't connect you"), CannotConnect},
		{job.Teams, "the button alone", said("Something went wrong"), Unknown},
		{job.Teams, "ended", `<main><h1>Meeting ended</h1></main>`, Ended},
		{job.Teams, "ended by its screen", `<div data-tid="calling-e2ee-end-screen">Thanks for joining</div>`, Ended},
		{job.Teams, "unknown meeting", `<div data-tid="calling-retry-screen"><h2 id="calling-retry-screen-description">We couldn't find a meeting matching this ID and passcode.</h2>
			<input data-tid="meeting-code-input" value=1><input data-tid="meeting-passcode-input" value=x><button disabled>Rejoin call</button></div>`, NotFound},
		{job.Teams, "unknown meeting in another language", `<div data-tid="calling-retry-screen"><h2>…</h2><input data-tid="meeting-code-input" value=1></div>`, NotFound},
		{job.Teams, "sign-in of another kind", `<main><h1>Sign in to join this meeting</h1></main>`, SignInWall},
		{job.Teams, "lobby text in a span", `<div><span id="call-status">Someone will let you in soon</span></div><button disabled data-tid="prejoin-join-button">Join now</button>`, Lobby},
		{job.Teams, "left before admission", `<main><h1>You left the meeting</h1></main>`, Denied},
		{job.Teams, "not found", `<main><h1>Looks like the meeting URL is incorrect. Please check the URL and try again.</h1></main>`, NotFound},
		{job.Teams, "sign-in", `<main><input name=loginfmt type=email></main>`, SignInWall},
		{job.Meet, "sign-in in German", `<main><h1>Anmelden</h1><p>Mit Ihrem Google-Konto</p><input type=email id=identifierId></main>`, SignInWall},
		{job.Meet, "denied, in an element without a role", `<div class="roSPhc" jsname="r4nke">Someone in the call denied your request to join</div>`, Denied},
		{job.Meet, "a sentence of the profile in another element", `<div><span>The call ended</span></div><button>Return to home screen</button>`, Ended},
		{job.Meet, "an end in German", `<div><span>Der Videoanruf wurde beendet</span></div>`, Ended},
		{job.Meet, "loading", `<div>Getting ready…</div><p>System info will be sent to confirm you're not a bot</p>`, Unknown},
		{job.Teams, "launcher by its link", `<main><a href="/light-meetings/launch">Weiter</a></main>`, PreJoin},
		{job.Teams, "launcher in Spanish", `<main><button>Continuar en este explorador</button></main>`, PreJoin},
		{job.Teams, "sign-in by text", `<main><h1>Due to org policy, you need to sign in</h1></main>`, SignInWall},
		{job.Teams, "captcha", `<main><h1>Verify you're a real person</h1></main>`, BotWall},
		{job.Teams, "lost connection", `<main>` + teamsTile + teamsBar + `</main><div role=alert>Your network connection was lost. Trying to reconnect</div>`, Reconnecting},
		{job.Teams, "host absent", `<main><p>When the meeting starts, we'll let people know you're waiting</p></main>`, HostAbsent},
		{job.ZoomWeb, "launcher", `<main><div role=button>Launch Meeting</div></main>`, PreJoin},
		{job.ZoomWeb, "launcher by its link", `<main><a href="https://app.zoom.us/wc/123/join">…</a></main>`, PreJoin},
		{job.ZoomWeb, "captcha with its field", `<div><p>Check Captcha</p><input type=text><button>Check Captcha</button></div>`, BotWall},
		{job.ZoomWeb, "invalid in German", `<div><p>Dieser Meeting-Link ist ungültig (3,001)</p></div>`, HostAbsent},
		{job.ZoomWeb, "bots not allowed, in an element without a role", `<div>Automated bots aren’t allowed to join this meeting.</div>`, BotWall},
		{job.ZoomWeb, "pre-join", `<input id=input-for-name><button class="preview-join-button disabled">Join</button>`, PreJoin},
		{job.ZoomWeb, "pre-join in a frame", framed(`<input id=input-for-name><button class="preview-join-button">Join</button>`), PreJoin},
		{job.ZoomWeb, "lobby within the meeting's element", `<div class=meeting-app><span>Please wait, the meeting host will let you in soon.</span><button aria-label=Leave>Leave</button></div>`, Lobby},
		{job.ZoomWeb, "lobby in a frame", framed(`<div class=meeting-app><span>Please wait, the meeting host will let you in soon.</span><button aria-label=Leave>Leave</button></div>`), Lobby},
		{job.ZoomWeb, "lobby in a hidden frame", strings.Replace(framed(`<div class=meeting-app>Please wait, the meeting host will let you in soon.</div>`), "<main>", `<main style="visibility:hidden">`, 1), Unknown},
		{job.ZoomWeb, "host absent", `<div class=meeting-app><p>Waiting for the host to start this meeting.</p></div>`, HostAbsent},
		{job.ZoomWeb, "meeting", `<div class=meeting-app>` + zoomTile + zoomBar + `</div>`, InMeeting},
		{job.ZoomWeb, "meeting in a frame", framed(`<div class=meeting-app>` + zoomTile + zoomBar + `</div>`), InMeeting},
		{job.ZoomWeb, "the button to leave alone", `<div class=meeting-app><button aria-label=Leave>Leave</button></div>`, Unknown},
		{job.ZoomWeb, "meeting with chat of ends", `<div class=meeting-app>` + zoomTile + zoomBar + `<div><p>Passcode wrong</p><p>Please wait, the meeting host will let you in soon.</p></div>
			<div aria-label="Chat Message List"><div id=chat-message-1 role=dialog>This meeting has been ended by host</div></div></div>`, InMeeting},
		{job.ZoomWeb, "a participant called like an end", `<div class=meeting-app>` + zoomBar + strings.ReplaceAll(zoomTile, "Ada Quill", "You have been removed") + `</div>`, InMeeting},
		{job.ZoomWeb, "removed, over the meeting", `<div class=meeting-app>` + zoomTile + zoomBar + `</div>` + modal("You have been removed", "The host has removed you from this meeting."), Removed},
		{job.ZoomWeb, "denied, over the lobby", `<div class=meeting-app>Please wait, the meeting host will let you in soon.</div>` + modal("You have been removed", "The host has removed you from the waiting room."), Denied},
		{job.ZoomWeb, "ended, over the meeting", `<div class=meeting-app>` + zoomTile + zoomBar + `</div>` + modal("This meeting has been ended by host", "Thank you."), Ended},
		{job.ZoomWeb, "ended in a frame", framed(modal("This meeting has been ended by host", "Thank you.")), Ended},
		{job.ZoomWeb, "ended by its label", `<div role=dialog aria-label="Meeting is end now">Thank you</div>`, Ended},
		{job.ZoomWeb, "invalid, or not started", `<main><h1>This meeting link is invalid (3,001)</h1></main>`, HostAbsent},
		{job.ZoomWeb, "authentication required", `<main><h1>This meeting requires authentication</h1></main>`, SignInWall},
		{job.ZoomWeb, "left before admission", `<main><h1>You have left the meeting</h1></main>`, Denied},
		{job.ZoomWeb, "wrong passcode", `<main><input type=password><p>Passcode wrong. Please try again.</p></main>`, NotFound},
		{job.ZoomWeb, "sign-in", `<main><h1>Sign in to join this meeting</h1></main>`, SignInWall},
		{job.ZoomWeb, "bots not allowed", `<main><p>Automated bots aren't allowed to join this meeting</p></main>`, BotWall},
		{job.ZoomWeb, "no browser allowed", `<main><p>Sorry, your organization has disabled access to Zoom from the browser.</p></main>`, BotWall},
		{job.ZoomWeb, "lost connection", `<div class=meeting-app>` + zoomTile + zoomBar + `</div><div role=alert>Reconnecting…</div>`, Reconnecting},
	} {
		t.Run(string(c.platform)+"/"+c.name, func(t *testing.T) {
			showDocument(t, ctx, page, c.document)
			observation := observeDocument(t, ctx, c.platform, page, showsCall(c.want))
			if observation.Screen != c.want {
				t.Errorf("screen = %s by %s, want %s", observation.Screen, observation.Evidence, c.want)
			}
		})
	}
}
