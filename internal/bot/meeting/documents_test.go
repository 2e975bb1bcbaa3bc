package meeting

import (
	"context"
	"fmt"
	"html"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/jobs/job"
)

// Parts of pages.
const (
	callBar = `<div role=region aria-label="Call controls">
		<button aria-label="Turn on microphone">m</button><button aria-label="Turn on camera">c</button>
		<button aria-label="Leave call">x</button></div>`
	ownTile  = `<div data-participant-id="me"><span data-self-name="Standin">Standin</span></div>`
	adaTile  = `<div data-participant-id="ada"><span class=notranslate>Ada Quill</span><button aria-label="Pin Ada Quill to your main screen">pin</button></div>`
	teamsBar = `<div role=toolbar><button id=callingButtons-showMoreBtn>More</button><button id=raisehands-button>Raise</button>
		<button id=chat-button>Chat</button><button id=hangup-button aria-label=Leave>Leave</button></div>`
	teamsTile = `<div data-cid="calling-participant-stream" aria-label="Ada Quill, muted"><div data-stream-type=Video data-tid="Ada Quill">Ada Quill</div></div>`
	zoomBar   = `<footer id=wc-footer><button aria-label="mute my microphone">m</button><button aria-label="open the participants list pane, 2 participants">p</button>
		<button aria-label="open the chat panel">c</button><button aria-label=Leave>Leave</button></footer>`
	zoomTile = `<div class="video-avatar__avatar"><div class="video-avatar__avatar-footer"><span>Ada Quill</span></div></div>`
	zoomCall = `<div class=meeting-app>` + zoomTile + zoomBar + `</div>`
	preJoin  = `<input type=text aria-label="Your name" value=Standin><button>Ask to join</button>`
)

// framed returns a document with another in a same-origin frame.
func framed(document string) string {
	return `<main><iframe id=webclient style="width:1000px;height:600px" srcdoc="` + html.EscapeString(document) + `"></iframe></main>`
}

// modal returns a dialog over the page. The title of the document becomes the label of
// the button that is pressed.
func modal(text string, buttons ...string) string {
	document := `<div role=dialog aria-modal=true class=zm-modal style="position:fixed;inset:100px;background:#fff"><p>` + text + `</p>`
	for _, one := range buttons {
		document += `<button onclick="document.title=this.textContent;this.closest('[role=dialog]').remove()">` + one + `</button>`
	}
	return document + `</div>`
}

// document is a page of a platform, and what a bot concludes from it, as record.conclude
// describes that.
type document struct {
	platform         job.Platform
	name, html, want string
}

func documents() []document {
	quill := func(replaced, by string) string { return strings.Replace(adaTile, replaced, by, 1) }
	zoomDevices := func(microphone, camera string) string {
		return `<main><button id=preview-audio-control-button aria-label="ไมค์"><svg class="` + microphone + `" width=20 height=20></svg></button>
			<button id=preview-video-control-button><svg class="` + camera + `" width=20 height=20></svg></button></main>`
	}
	const outline = `<div data-cid="calling-participant-stream" aria-label="%[1]s, muted">%[1]s<div data-tid="voice-level-stream-outline" class="%[2]s" style="width:9px;height:9px"></div></div>`
	const unsaid, after = "Someone will let you in shortly", "The meeting has ended"
	return []document{
		{job.Meet, "empty", ``, "unknown"},
		{job.Meet, "pre-join", `<main><h1>What's your name?</h1><input type=text aria-label="Your name"><button disabled><i>videocam</i><span>Ask to join</span></button></main>`, "preJoin; camera on"},
		{job.Meet, "lobby with Leave call and call controls", `<main><div role=status><p>Asking to be let in...</p></div>` + callBar +
			`</main>`, "lobby"},
		{job.Meet, "lobby in a label", `<div aria-label="Please wait until a meeting host brings you into the call"><span>…</span></div>` +
			callBar, "lobby"},
		{job.Meet, "lobby, curly apostrophe, other case, broken lines", "<main><div>You\u2019ll Join the call\n\t when <b>someone</b> lets you in</div>" + callBar + `</main>`, "lobby"},
		{job.Meet, "effects control of the lobby's preview", `<main><div data-participant-id="me" aria-label="visual_effects Backgrounds and effects">fx</div>` + callBar + `</main>`, "unknown"},
		{job.Meet, "hidden lobby text", `<main><p style="display:none">Asking to be let in</p><div style="opacity:0"><p>Asking to be let in</p></div>
			<p style="visibility:hidden">Asking to be let in</p><div style="height:0;overflow:hidden"><p>Asking to be let in</p></div>
			<p style="position:absolute;left:-9999px">Asking to be let in</p>` + ownTile + callBar + `</main>`, "inMeeting, 0 others"},
		{job.Meet, "hidden meeting", `<main><div style="visibility:hidden">` + ownTile + callBar + `</div></main>`, "unknown"},
		{job.Meet, "own tile twice and nobody else", `<main>` + ownTile +
			`<div data-participant-id="me">Standin</div></main><button aria-label="People - 1 joined">p</button>`, "inMeeting, 0 others"},
		{job.Meet, "name by the pin button, number by the label", `<main>` + ownTile + quill("notranslate", "n") + ownTile +
			`</main><button aria-label="People - 12 joined">p</button>`, "inMeeting, 11 others: Ada Quill as ada"},
		{job.Meet, "number on a hidden toolbar", `<main>` + ownTile +
			`</main><div style="visibility:hidden"><button aria-label="People - 5 joined">p</button>` + callBar + `</div>`, "inMeeting, 4 others"},
		{job.Meet, "a tile that is gone from sight", `<main>` + ownTile + `<div style="display:none">` + adaTile +
			`</div></main>`, "inMeeting, 0 others"},
		{job.Meet, "speech on the live page", `<main>` + ownTile +
			quill("</div>", `<div class="HX2H7" style="width:9px;height:9px"></div></div>`) +
			`</main>`, "inMeeting, 1 others: Ada Quill as ada (speaking)"},
		{job.Meet, "silence on the live page", `<main>` + ownTile +
			quill("</div>", `<div class="HX2H7 gjg47c" style="width:9px;height:9px"></div></div>`) +
			`</main>`, "inMeeting, 1 others: Ada Quill as ada"},
		{job.Meet, "speech by a class", `<main>` + ownTile + quill("<div ", `<div class="tile speaking" `) +
			`</main>`, "inMeeting, 1 others: Ada Quill as ada (speaking)"},
		{job.Meet, "speech by the color of a border", `<main>` + ownTile + quill("<div ", `<div style="border: 3px solid #0b57d0" `) +
			`</main>`, "inMeeting, 1 others: Ada Quill as ada (speaking)"},
		{job.Meet, "speech by a mark without size", `<main>` + ownTile +
			quill("</div>", `<div class="Oaajhc" style="width:0;height:0"></div></div>`) +
			`</main>`, "inMeeting, 1 others: Ada Quill as ada (speaking)"},
		{job.Meet, "a hidden mark", `<main>` + ownTile + quill("</div>", `<div class="Oaajhc" style="display:none"></div></div>`) +
			`</main>`, "inMeeting, 1 others: Ada Quill as ada"},
		{job.Meet, "chat of unknown make", `<main>` + ownTile + adaTile + callBar + `<div><p>Someone in the call denied your request to join</p>
			<p>No one responded to your request to join the call</p><p>You can't join this video call</p><p>The call ended</p></div></main>`, "inMeeting, 1 others: Ada Quill as ada"},
		{job.Meet, "bubbles", `<main>` + ownTile + `</main><div aria-live=polite><b>Ada</b><p>Asking to be let in</p><p>You've been removed from the meeting</p></div>`, "inMeeting, 0 others"},
		{job.Meet, "people called like an end and like the bot", `<main>` + ownTile + `<div data-participant-id="eve"><h2><span class=notranslate>You've been removed from the meeting</span></h2></div>
			<div data-participant-id="bob"><i class="google-symbols notranslate">mic_off</i><span class=notranslate>Standin</span></div></main>`, "inMeeting, 2 others: You've been removed from the meeting as eve, Standin as bob"},
		{job.Meet, "people, presentations and chat", `<main>` + ownTile +
			`<div aria-label="Participants" role=list><div role=listitem aria-label="Ada">Ada</div>
			<div role=listitem aria-label="Merged audio">Merged audio</div></div><div data-participant-id=p1>Ada (Presentation)</div></main>
			<aside aria-label="Side panel"><div class="Ge9Kpc" aria-live=polite><div class="poVWob">Ada</div>
			<div data-message-id=m1><div jsname="dTKtvb">Hello, <b>Ben</b></div><button>React</button></div></div><textarea aria-label="Send a message"></textarea></aside>`, `inMeeting, 1 others: Ada; "Hello, Ben" by Ada`},
		{job.Meet, "the header's way home", `<header><a aria-label="Return to home screen" href="#">home</a></header><main>Getting ready…</main><p>System info will be sent to confirm you're not a bot</p>`, "unknown"},
		{job.Meet, "captcha", `<iframe title=reCAPTCHA src="/recaptcha/anchor" width=304 height=78></iframe>`, "botWall"},
		{job.Meet, "captcha's badge, mostly beside the page", `<div style="position:fixed;right:-186px;bottom:14px"><iframe title=reCAPTCHA src="/recaptcha/anchor" width=256 height=60></iframe></div>`, "unknown"},
		{job.Meet, "captcha, hidden", `<div style="visibility:hidden"><iframe title=reCAPTCHA src="/recaptcha/anchor" width=304 height=78></iframe></div>`, "unknown"},
		{job.Meet, "sign-in in German", `<main><h1>Anmelden</h1><p>Mit Ihrem Google-Konto</p><input type=email id=identifierId></main>`, "signInWall"},
		{job.Meet, "an end in an element without a role", `<div><span>The call ended</span></div><button>Return to home screen</button>`, "ended"},
		{job.Meet, "an end in German", `<div><span>Der Videoanruf wurde beendet</span></div>`, "ended"},
		{job.Meet, "devices by icons, in Thai", `<main><button aria-label="ไมค์"><i>mic</i></button><div role=button aria-label="กล้อง"><span>videocam</span></div></main>`, "unknown; microphone on; camera on"},
		{job.Meet, "devices that are off, by icons, in Thai", `<main><button aria-label="ไมค์"><i>mic_off</i></button><div role=button aria-label="กล้อง"><span>videocam_off</span></div></main>`, "unknown"},
		{job.Meet, "a device by its attribute", `<main><button data-is-muted=false aria-label="ปิดกล้อง">x</button></main>`, "unknown; microphone on"},
		{job.Meet, "a device that is off, beside a participant's", `<main><button data-is-muted=true aria-label="ปิดกล้อง">x</button><div data-participant-id=p1><button data-is-muted="false">Ada</button></div></main>`, "unknown"},
		{job.Meet, "a device that contradicts itself", `<main><button data-is-muted="true" aria-label="Turn on microphone"><i class="google-symbols" aria-hidden="true">mic</i></button></main>`, "unknown"},
		{job.Meet, "a device whose attribute and label disagree", `<main><button data-is-muted="false" aria-label="Turn on microphone">x</button></main>`, "unknown; microphone on"},
		{job.Meet, "an attribute of both devices", `<main><button data-is-muted="true" aria-label="Turn on microphone">x</button><button data-is-muted="false" aria-label="Turn off camera">x</button></main>`, "unknown; camera on"},
		{job.Meet, "whether people should hear", preJoin + modal("Do you want people to hear you in the meeting?", "Use microphone",
			"Continue without microphone"), `preJoin; ready to join; press continueWithoutDevices, joinButton; press "Continue without microphone"`},
		{job.Meet, "whether people should hear, in German", preJoin + modal("Sollen andere Sie hören?", "Mikrofon verwenden",
			"Ohne Mikrofon fortfahren"), `preJoin; ready to join; press joinButton; press "Ohne Mikrofon fortfahren"`},
		{job.Meet, "nudge", preJoin + modal("Sign in with your Google Account. Instead of waiting to be let in, join meetings directly",
			"Sign in", "Dismiss"), `preJoin; ready to join; press dismissTip, joinButton; press "Dismiss"`},
		{job.Meet, "nobody else", preJoin + modal("Are you still there?", "Leave now",
			"Stay in the call"), `preJoin; ready to join; press joinButton; press "Stay in the call"`},
		{job.Meet, "account chooser", preJoin +
			modal("Choose an account", "ada@example.org", "Use without an account"), "preJoin; ready to join; press dismissTip, joinButton"},
		{job.Meet, "devices", preJoin + modal("Do you want people to see and hear you in the meeting?", "Use microphone and camera",
			"Continue without microphone and camera"), `preJoin; ready to join; press continueWithoutDevices, joinButton; press "Continue without microphone and camera"`},
		{job.Meet, "consent in Japanese", preJoin + modal("このビデオ通話は録画されています", "会議から退出",
			"今すぐ参加"), `preJoin; ready to join; press joinButton; press "今すぐ参加"`},
		{job.Meet, "unknown words over a tip", preJoin + `<button>Got it</button>` +
			modal("Something fresh", "Try it", "Not now"), `preJoin; ready to join; press dismissTip, joinButton; press "Not now"`},
		{job.Teams, "launcher by its link", `<main><a href="/light-meetings/launch">Weiter</a></main>`, "preJoin"},
		{job.Teams, "launcher in Spanish", `<main><button>Continuar en este explorador</button></main>`, "preJoin"},
		{job.Teams, "lobby with controls", `<main><p>Someone will let you in shortly</p><button id=callingButtons-showMoreBtn>More</button><button id=hangup-button>Leave</button></main>`, "lobby"},
		{job.Teams, "lobby in a span, over the form", `<div><span id="call-status">Someone will let you in soon</span></div><button disabled data-tid="prejoin-join-button">Join now</button>`, "lobby"},
		{job.Teams, "connecting, with the button to leave", `<main><p>Joining...</p><button id=hangup-button>Leave</button></main>`, "unknown"},
		{job.Teams, "meeting with hidden toolbar", `<main>` + teamsTile + `</main><div style="visibility:hidden">` + teamsBar +
			`</div>`, "inMeeting, 1 others: Ada Quill"},
		{job.Teams, "meeting with bubbles and chat of ends", `<main>` + teamsTile + teamsBar +
			`<div><p>Meeting ended</p><p>You're in the lobby</p>
			<p>Sorry, but you were denied access to the meeting</p><p>Your request to join was declined</p></div></main>
			<div data-tid="message-pane-list"><h1>You've been removed from this meeting</h1></div>`, "inMeeting, 1 others: Ada Quill"},
		{job.Teams, "the retry screen's button alone", `<div><div id=calling-retry-screen-title role=heading>Something went wrong</div><button data-tid="calling-retry-cancelbutton">Dismiss</button></div>`, "cannotConnect"},
		{job.Teams, "ended by its screen", `<div data-tid="calling-e2ee-end-screen">Thanks for joining</div>`, "ended"},
		{job.Teams, "left before admission", `<main><h1>You left the meeting</h1></main>`, "denied"},
		{job.Teams, "sign-in", `<main><input name=loginfmt type=email></main>`, "signInWall"},
		{job.Teams, "speech", `<main>` + fmt.Sprintf(outline, "Ada", "") + fmt.Sprintf(outline, "Ben", "vdi-frame-occlusion") + teamsBar +
			`</main>`, "inMeeting, 2 others: Ada, Ben (speaking)"},
		{job.Teams, "people and chat", `<main>` + teamsBar + `</main><div aria-label="Attendees" role=tree><div role=treeitem data-cid="roster-participant" aria-label="Ada External unfamiliar, muted"><span data-tid="participant-info-nametag">Ada</span></div></div>
			<div data-tid="chat-pane-message" data-mid="1"><span data-tid="message-author-name">Ada</span><div id="content-1">Hello</div></div>`, `inMeeting, 1 others: Ada; "Hello" by Ada`},
		{job.Teams, "who was only invited, and names with commas", `<main><div data-cid="calling-participant-stream" aria-label="Smith, John">Smith, John</div>` + teamsBar + `</main><div aria-label="Attendees" role=tree>
			<div role=treeitem data-cid="roster-participant" aria-label="Smith, John, Muted, Context menu is available">S</div><div role=treeitem data-cid="roster-participant" aria-label="Mira Holt, Unmuted">M</div>
			<h3>Others invited (2)</h3><div role=treeitem data-cid="roster-participant" data-tid="participantsInvited-1" aria-label="Ben Ode">B</div><div role=treeitem data-cid="roster-participant" aria-label="Cora Li, Not in the meeting">C</div></div>`, "inMeeting, 2 others: Smith, John, Mira Holt"},
		{job.Teams, "a join button by its label", `<main><input placeholder="Type your name" value=Standin><button>Join meeting</button></main>`, "preJoin; ready to join; press joinButton"},
		{job.Teams, "the first document failed", `<main><h1>Oops! Something went wrong</h1><button>Refresh</button></main>`, "cannotConnect"},
		{job.Teams, "devices by their state, in Thai", `<main><button id=microphone-button data-state="mic" aria-label="ไมค์">m</button><button id=video-button data-state="call-video">v</button></main>`, "unknown; microphone on; camera on"},
		{job.Teams, "devices that are off, by their state", `<main><button id=microphone-button data-state="mic-off" aria-label="ไมค์">m</button><button id=video-button data-state="call-video-off">v</button></main>`, "unknown"},
		{job.Teams, "a device by its action", `<main><button data-track-action-scenario="preJoinMute">ไมค์</button></main>`, "unknown; microphone on"},
		{job.Teams, "transparent switches", `<main><div class="fui-Switch" style="position:relative;width:40px;height:20px">
			<input type=checkbox role=switch data-tid="toggle-mute" checked style="opacity:0;position:absolute;width:40px;height:20px;margin:0"></div>
			<div class="fui-Switch" style="position:relative;width:40px;height:20px;opacity:0"><input type=checkbox role=switch data-tid="toggle-video" checked></div></main>`, "unknown; microphone on"},
		{job.Teams, "sentences in scripts, fields and hidden parts",
			fmt.Sprintf(`<main><h1>Join<script>// %[1]s</script></h1><p>Teams<script>// %[1]s</script></p>
			<div role=status><style>/* %[2]s */</style><template>%[1]s</template><noscript>%[2]s</noscript>Loading <span hidden>%[2]s</span><i style="opacity:0">%[1]s</i></div>
			<select><option>You're in the lobby</option></select><textarea>%[1]s</textarea><!-- %[1]s --><input placeholder="%[1]s">
			<div role=dialog aria-modal=true style="position:fixed;inset:100px">News<script>// %[2]s</script><button>OK<script>// x</script></button></div></main>`, unsaid, after), `unknown; press "OK"`},
		{job.Teams, "no devices in Arabic", preJoin +
			modal("هل أنت متأكد؟", "المتابعة بدون صوت أو فيديو"), `preJoin; press continueWithoutDevices; press "المتابعة بدون صوت أو فيديو"`},
		{job.ZoomWeb, "launcher by its link", `<main><a href="https://app.zoom.us/wc/123/join">…</a></main>`, "preJoin"},
		{job.ZoomWeb, "pre-join in a frame in a frame", framed(framed(`<input id=input-for-name value=Standin><button class="preview-join-button">Join</button>`)), "preJoin; ready to join; press joinButton"},
		{job.ZoomWeb, "pre-join in a frame that something covers", framed(`<input id=input-for-name><button class="preview-join-button">Join</button>`) + `<div style="position:fixed;inset:0;background:#fff"></div>`, "preJoin"},
		{job.ZoomWeb, "lobby in a frame, within the meeting's element", framed(`<div class=meeting-app><span>Please wait, the meeting host will let you in soon.</span><button aria-label=Leave>Leave</button></div>`), "lobby"},
		{job.ZoomWeb, "lobby in a hidden frame", strings.Replace(framed(`<div class=meeting-app>Please wait, the meeting host will let you in soon.</div>`), "<main>", `<main style="visibility:hidden">`, 1), "unknown"},
		{job.ZoomWeb, "the button to leave alone", `<div class=meeting-app><button aria-label=Leave>Leave</button></div>`, "unknown"},
		{job.ZoomWeb, "meeting with chat of ends", zoomCall +
			`<div><p>Passcode wrong</p><p>Please wait, the meeting host will let you in soon.</p></div>
			<div aria-label="Chat Message List"><div id=chat-message-1 role=dialog>This meeting has been ended by host</div></div>`, `inMeeting, 1 others: Ada Quill; microphone on; "This meeting has been ended by host" by ; press microphoneOn`},
		{job.ZoomWeb, "people and chat", `<div class=meeting-app>` + zoomBar +
			`<div class="participants-li" role=listitem aria-label="Ada (Host), computer audio muted">A</div>
			<div role=grid aria-label="Chat Message List"><div role=row aria-label="Ada to Everyone, Hello"><p class="new-chat-message__text-box">Hello</p></div></div></div>`, `inMeeting, 1 others: Ada; microphone on; "Hello" by Ada; press microphoneOn`},
		{job.ZoomWeb, "pictures of emoji", zoomCall + `<div aria-label="Chat Message List"><div id=chat-message-1><img alt="Ada Quill" width=9 height=9><span class="chat-item__sender">Ada</span><p class="new-chat-message__text-box">great <img alt="🎉" width=9 height=9><img alt="logo" width=9 height=9></p></div></div>`, `inMeeting, 1 others: Ada Quill; microphone on; "great 🎉" by Ada; press microphoneOn`},
		{job.ZoomWeb, "speech by the main tile", `<div class=meeting-app><div class="single-main-container__video-frame"><video-player></video-player><div class="video-avatar__avatar-footer">Ben</div></div>
			<div class="speaker-bar-container__video-frame"><div class="video-avatar__avatar-footer">Ada</div></div>` + zoomBar +
			`</div>`, "inMeeting, 2 others: Ben (speaking), Ada; microphone on; press microphoneOn"},
		{job.ZoomWeb, "speech while sharing", `<div class=meeting-app><div id=video-share-layout><video-player style="display:block;height:99px"></video-player></div>
			<div class="single-suspension-container__video-frame"><div class="video-avatar__avatar-footer">Ada</div></div>` + zoomBar +
			`</div>`, "inMeeting, 1 others: Ada (speaking); microphone on; press microphoneOn"},
		{job.ZoomWeb, "removed, over the meeting", zoomCall + `<div role=dialog class=zm-modal><div class="zm-modal-body-title">You have been removed</div><div>The host has removed you from this meeting.</div><button>OK</button></div>`, "removed; microphone on"},
		{job.ZoomWeb, "ended in a frame", framed(`<div role=dialog class=zm-modal><div class="zm-modal-body-title">This meeting has been ended by host</div><button>OK</button></div>`), "ended"},
		{job.ZoomWeb, "an error by its title", `<script>document.title = "Error - Zoom"</script>`, "hostAbsent"},
		{job.ZoomWeb, "authentication required", `<main><h1>This meeting requires authentication</h1></main>`, "signInWall"},
		{job.ZoomWeb, "left before admission", `<main><h1>You have left the meeting</h1></main>`, "denied"},
		{job.ZoomWeb, "captcha with its field", `<div><p>Check Captcha</p><input type=text><button>Check Captcha</button></div>`, "botWall"},
		{job.ZoomWeb, "no browser allowed", `<main><p>Sorry, your organization has disabled access to Zoom from the browser.</p></main>`, "botWall"},
		{job.ZoomWeb, "devices by pictures, in Thai", zoomDevices("SvgAudioMute", "SvgVideoOn"), "unknown; microphone on; camera on"},
		{job.ZoomWeb, "a device under the mouse", zoomDevices("SvgAudioMuteHovered", "SvgVideoOff"), "unknown; microphone on"},
		{job.ZoomWeb, "devices that are off, by pictures", zoomDevices("SvgAudioUnmute", "SvgVideoOff"), "unknown"},
		{job.ZoomWeb, "a device that is off, in the call", `<main><button class=join-audio-container__btn aria-label="unmute my microphone"><svg class="SvgAudioUnmute" width=20 height=20></svg></button></main>`, "unknown"},
		{job.ZoomWeb, "permission for devices", `<input id=input-for-name><button class="preview-join-button">Join</button>` +
			modal("Devices", "Continue without microphone and camera",
				"Allow"), "preJoin; ready to join; press allowDevices, continueWithoutDevices"},
		{job.ZoomWeb, "terms", zoomCall + modal("Terms of Example Inc.", "Cancel") +
			`<button id=disclaimer_agree onclick="document.title=this.textContent" style="position:fixed;top:10px;left:10px;z-index:9">Accept all of it</button>`, `inMeeting, 1 others: Ada Quill; microphone on; press acceptTerms, microphoneOn; press "Cancel"`},
		{job.ZoomWeb, "AI Companion", zoomCall +
			modal("AI Companion is on in this meeting",
				"OK"), `inMeeting, 1 others: Ada Quill; microphone on; press acceptNotice, microphoneOn; press "OK"`},
		{job.ZoomWeb, "a layer without a role", zoomCall + `<div style="position:fixed;inset:0;background:#eee"><p>A survey</p>
			<button>Start</button><button onclick="document.title=this.textContent;this.parentElement.remove()">No thanks</button></div>`, `inMeeting, 1 others: Ada Quill; microphone on; press "No thanks"`},
		{job.ZoomWeb, "only a way out", zoomCall +
			modal("Are you still there?", "Leave Meeting",
				"End call"), `inMeeting, 1 others: Ada Quill; microphone on; press microphoneOn; press ""`},
	}
}

// TestDocuments checks what a bot concludes from documents. Dialogs are answered.
func TestDocuments(t *testing.T) {
	t.Parallel()
	kept := readRecords(t, "documents")
	if testing.Short() {
		for _, c := range documents() {
			name := path.Join(string(c.platform), c.name)
			if kept.check(t, name); len(kept.Pages[name]) != 1 || kept.Pages[name][0].Shows != c.want {
				t.Errorf("%s is recorded as %+v, want %s", name, kept.Pages[name], c.want)
			}
		}
		return
	}
	ctx, running := launchBrowser(t)
	page := openPage(t, ctx, running)
	for _, c := range documents() {
		t.Run(path.Join(string(c.platform), c.name), func(t *testing.T) {
			showDocument(t, ctx, page, c.html)
			site := siteOf(t, c.platform)
			seen := record{Platform: c.platform, Known: History{Admitted: showsCall(c.want)}, Snapshot: snapshotOf(t, ctx, site, page)}
			kept.keep(t, path.Join(string(c.platform), c.name), true, seen)
			concluded, shows := seen.conclude(t, siteOf(t, c.platform))
			if shows != c.want {
				t.Errorf("the page shows %s, want %s", shows, c.want)
			}
			if strings.Contains(c.html, "document.title=this") {
				site.visit.past = seen.Known
				checkAnswer(t, ctx, site, page, concluded)
			}
		})
	}
}

// checkAnswer checks that the bot presses what it concluded, and nothing else: the
// dialogs of modal write what is pressed into the title.
func checkAnswer(t *testing.T, ctx context.Context, site *site, page Page, concluded Observation) {
	t.Helper()
	want, title := "Meet", "Meet"
	if len(concluded.Notices) > 0 && slices.Contains(dismissals(), concluded.Notices[0]) {
		want = concluded.Captured.Snapshot.Elements[concluded.Notices[0]].Text
	}
	if action := concluded.CloseDialog; action != nil && action.Button != noButton && (want == "Meet" || concluded.Notices[0] == dismissTip) {
		want = action.Label
	}
	now := time.Now()
	for try := 0; try < 5 && title == "Meet"; try++ {
		err := site.HandleNotices(ctx, page, site.observe(snapshotOf(t, ctx, site, page), now))
		if err == nil {
			err = page.EvalInPage(ctx, "document.title", &title)
		}
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(dialogTime)
	}
	if title != want {
		t.Errorf("pressed %q, want %q", title, want)
	}
}
