package replica

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

const (
	zoomName  = "#input-for-name"
	zoomJoin  = "button.preview-join-button"
	zoomLeave = `footer button[aria-label="Leave"]`
	zoomTitle = `document.querySelector(".zm-modal-body-title")?.innerText`
)

// The tests share two browsers, with and without devices.
func TestZoomWithDevices(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	media, _ := mediaForTest(t)
	p := openTab(t, true)
	t.Run("from launcher to leave", func(t *testing.T) { testZoomFromLauncherToLeave(p.in(t), startServer(t, media)) })
	t.Run("traps before joining", func(t *testing.T) { testZoomTrapsBeforeJoining(p.in(t), startServer(t, nil)) })
}

func TestZoomWithoutDevices(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	p := openTab(t, false)
	t.Run("endings", func(t *testing.T) { testZoomEndings(p.in(t), startServer(t, nil)) })
	t.Run("refusals", func(t *testing.T) { testZoomRefusals(p.in(t), startServer(t, nil)) })
	t.Run("in the meeting", func(t *testing.T) { testZoomInTheMeeting(p.in(t), startServer(t, nil)) })
}

// in returns the same tab for a subtest.
func (p *tab) in(t *testing.T) *tab { return &tab{t: t, ctx: p.ctx} }

// stayInBrowser keeps pages from starting external programs. Otherwise Chromium shows a
// dialog, and the page receives no mouse and key events.
func (p *tab) stayInBrowser() {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `navigation.addEventListener("navigate", (event) => {
			if (event.destination.url.startsWith("http")) return;
			event.preventDefault();
			window.program = event.destination.url;
		});`,
	}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) typeZoomName(name string) {
	p.t.Helper()
	p.do("type the name", chromedp.SendKeys(chromedp.CSS(zoomName), name))
}

// joinZoom asks to join in a browser without devices.
func (p *tab) joinZoom(m *Meeting, name string) {
	p.t.Helper()
	p.open(m.URL())
	for range 2 { // once for each device
		p.clickText("Continue without microphone and camera")
	}
	p.waitUntil(`!document.querySelector(".zm-modal")`)
	p.typeZoomName(name)
	p.click(zoomJoin)
}

func zoomTile(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(".gallery-video-container__video-frame")].find((tile) =>
		tile.querySelector("video") && tile.querySelector(".video-avatar__avatar-footer").textContent === %q)`, name)
}

// A guest joins from the launcher, receives media and leaves with the second button.
func testZoomFromLauncherToLeave(p *tab, s *Server) {
	p.t.Helper()
	m := openMeeting(p.t, s, Settings{Platform: Zoom, Passcode: "s3cret", CookieBanner: true, DeviceDialog: true, Notices: []Notice{NoticeRecorded}})
	p.stayInBrowser()

	zoomLauncher(p, m)
	waitForEvent(p.t, m, EventOpened)
	p.clickText("Continue without microphone and camera")
	p.waitVisible(`#preview-audio-control-button[aria-label="Unmute"]`)
	p.click(`#preview-video-control-button[aria-label="Start Video"]`)
	p.waitVisible(`#preview-video-control-button[aria-label="Stop Video"]`)
	p.click("#preview-video-control-button")
	if p.count(`[data-passcode]:not([hidden])`) != 0 {
		p.t.Error("the page asks for the passcode that its address brought")
	}
	if evalAs[bool](p, `(() => {
		const input = document.querySelector("#input-for-name");
		input.value = "Scripted";
		input.dispatchEvent(new Event("input", { bubbles: true }));
		const open = !document.querySelector(".preview-join-button").disabled;
		input.value = "";
		return open;
	})()`) {
		p.t.Error("a script can fill in the name")
	}
	p.typeZoomName(strings.Repeat("Stand-in ", 8))
	p.click(zoomJoin)
	waitForEvent(p.t, m, EventKind(StateLobby))
	if name := m.Guests()[0].Name; name != strings.Repeat("Stand-in ", 8)[:64] {
		p.t.Errorf("the name became %q", name)
	}

	// The lobby is similar to the meeting.
	p.waitForText("Please wait, the meeting host will let you in soon.")
	p.waitVisible(".meeting-app " + zoomLeave)
	if p.count("#wc-footer, .gallery-video-container") != 0 {
		p.t.Error("the lobby shows what only the meeting has")
	}

	m.Admit()
	waitForEvent(p.t, m, EventMediaConnected)
	p.waitUntil(zoomTitle + ` === "This meeting is being recorded"`)
	p.click(".zm-modal .zm-btn--primary")
	waitForEvent(p.t, m, EventNoticeAccepted)
	p.click(`[aria-label="Tip"] button`)
	playsMedia(p, zoomTile("Ada Quill"))
	playsMedia(p, zoomTile("Ben Okafor"))
	p.waitUntil(`document.querySelector(".gallery-video-container__video-frame--active")`)
	zoomConnection(p, m)
	zoomLeaves(p, m)
}

// zoomLauncher opens the web client from the launcher. The cookie banner covers the
// bottom of the page, and the link appears only after an attempt to start the app.
func zoomLauncher(p *tab, m *Meeting) {
	p.t.Helper()
	p.open(m.URL() + "&tk=token")
	p.waitVisible("#onetrust-accept-btn-handler")
	if p.count("[data-browser]:not([hidden])") != 0 {
		p.t.Error("the way to the web client is there from the start")
	}
	p.click(".launch")
	p.waitVisible("[data-browser] a")
	if program := evalAs[string](p, `window.program`); !strings.HasPrefix(program, "zoommtg://") {
		p.t.Errorf("the launcher started %q", program)
	}
	const covered = `(() => {
		const box = document.querySelector("[data-browser] a").getBoundingClientRect();
		const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
		return top.closest("#onetrust-banner-sdk") !== null;
	})()`
	if !evalAs[bool](p, covered) {
		p.t.Error("the cookie banner leaves the way to the web client free")
	}
	p.click("#onetrust-accept-btn-handler")
	if evalAs[bool](p, covered) {
		p.t.Error("the cookie banner is still there")
	}
	p.click("[data-browser] a")
	p.waitVisible(zoomName)
	if address := evalAs[string](p, `location.pathname + location.search`); address != "/wc/"+m.Code()+"/join?pwd=s3cret&tk=token" {
		p.t.Errorf("the launcher leads to %s", address)
	}
}

// zoomConnection disconnects and reconnects.
func zoomConnection(p *tab, m *Meeting) {
	p.t.Helper()
	picture := zoomTile("Ada Quill") + `.querySelector("video").srcObject`
	evalAs[bool](p, `(() => { window.lost = `+picture+`; return true; })()`)
	m.Disconnect()
	p.waitForText("Reconnecting…")
	m.Reconnect()
	p.waitUntil(`!document.querySelector(".reconnecting")`)
	if _, err := m.WaitFor(p.ctx, nth(EventMediaConnected, 2)); err != nil {
		p.t.Fatal(err)
	}
	p.waitUntil(picture + ` !== window.lost`)
	playsMedia(p, zoomTile("Ada Quill"))
}

// zoomLeaves leaves the meeting. The controls are hidden until the mouse moves, and the
// first button only opens a menu.
func zoomLeaves(p *tab, m *Meeting) {
	p.t.Helper()
	if visible := evalAs[string](p, `getComputedStyle(document.querySelector("#wc-footer")).visibility`); visible != "hidden" {
		p.t.Errorf("the controls are %s before the mouse moves", visible)
	}
	p.moveMouse()
	p.click(zoomLeave)
	p.waitVisible("button.leave-meeting-options__btn--danger")
	if state := m.Guests()[0].State; state != StateAdmitted {
		p.t.Errorf("without the confirmation the guest is %s", state)
	}
	p.click("button.leave-meeting-options__btn--danger")
	waitForEvent(p.t, m, EventKind(StateLeft))
	p.waitForText("You have left the meeting")
	if guest := m.Guests()[0]; guest.Vanished || guest.Microphone || guest.Camera {
		p.t.Errorf("the guest is %+v", guest)
	}
}

// A dialog shows the result of each control method.
func testZoomEndings(p *tab, s *Server) {
	p.t.Helper()
	for _, test := range []struct {
		name     string
		settings Settings
		admit    bool
		verb     func(*Meeting) int
		title    string
		content  string
	}{
		{name: "denied", verb: func(m *Meeting) int { return m.Deny() }, title: "You have been removed", content: "The host has removed you from the waiting room."},
		{name: "lobby timeout", verb: func(m *Meeting) int { return m.LobbyTimeout() }, title: "The host did not let you in"},
		{name: "ended in the lobby", verb: (*Meeting).End, title: "This meeting has been ended by host"},
		{name: "removed", admit: true, verb: func(m *Meeting) int { return m.Remove() }, title: "You have been removed", content: "The host has removed you from this meeting."},
		{name: "ended", admit: true, verb: (*Meeting).End, title: "This meeting has been ended by host"},
		{name: "blocked", admit: true, verb: func(m *Meeting) int { return m.Block() }, title: "Joining Meeting Timeout or Browser restriction"},
		{
			name: "another wording", admit: true, verb: (*Meeting).End, title: "The host ended the meeting",
			settings: Settings{Texts: map[State]string{StateEnded: "The host ended the meeting"}},
		},
		{
			name: "known by its label", admit: true, verb: (*Meeting).End, content: "Thank you for attending.",
			settings: Settings{Texts: map[State]string{StateEnded: "Meeting is end now"}},
		},
	} {
		test.settings.Platform, test.settings.NoLauncher = Zoom, true
		m := openMeeting(p.t, s, test.settings)
		p.joinZoom(m, "Stand-in")
		p.waitVisible(".waiting-room-container")
		if test.admit {
			m.Admit()
			p.waitUntil(`document.querySelector("#wc-footer")`)
		}
		if moved := test.verb(m); moved != 1 {
			p.t.Fatalf("%s: moved %d guests", test.name, moved)
		}
		p.waitUntil(zoomTitle + fmt.Sprintf(` === %q`, test.title))
		p.waitUntil(fmt.Sprintf(`document.querySelector(".zm-modal-body-content").innerText.includes(%q)`, test.content))
		if beneath := p.count(".meeting-app " + zoomLeave); beneath != 1 {
			p.t.Errorf("%s: what was on the screen is gone from beneath the dialog", test.name)
		}
		labelled := p.count(`[role="dialog"][aria-label="Meeting is end now"]`) == 1
		if want := strings.HasPrefix(test.name, "ended") || test.title == ""; labelled != want {
			p.t.Errorf("%s: the dialog has the label of the end: %t", test.name, labelled)
		}
	}
}

// Each refusal has its own page, and a session cookie skips the sign-in page.
func testZoomRefusals(p *tab, s *Server) {
	p.t.Helper()
	const heading = `document.querySelector("h1")?.innerText`
	const invalid = `document.title === "Error - Zoom" && document.body.innerText.includes("This meeting link is invalid (3,001)")`
	for _, test := range []struct {
		refusal Refusal
		text    string
		mark    string
	}{
		{RefusalNotFound, "", invalid},
		{RefusalBlocked, "", zoomTitle + ` === "Joining Meeting Timeout or Browser restriction"`},
		{RefusalSignIn, "", heading + ` === "Sign in to join this meeting"`},
		{RefusalSignIn, "The host requires authentication", heading + ` === "The host requires authentication"`},
		{RefusalCaptcha, "", heading + ` === "We detected you may be a bot" && document.body.innerText.includes("Automated bots aren't allowed")`},
		{RefusalCaptcha, "check captcha", heading + ` === "check captcha" && !document.body.innerText.includes("bots")`},
	} {
		m := openMeeting(p.t, s, Settings{Platform: Zoom, NoLauncher: true, Refusal: test.refusal, Texts: map[State]string{State(test.refusal): test.text}})
		p.open(m.URL())
		p.waitUntil(test.mark)
		waitForEvent(p.t, m, EventKind(test.refusal))
	}
	for _, path := range []string{"/j/9876543210", "/wc/9876543210/join", "/my/ada"} {
		p.open(s.URL() + path)
		p.waitUntil(invalid)
	}

	m := openMeeting(p.t, s, Settings{Platform: Zoom, NoLauncher: true, Refusal: RefusalSignIn, SignInCookie: true})
	evalAs[bool](p, `(() => { document.cookie = "session=signed-in; path=/"; return true; })()`)
	p.open(m.URL())
	p.waitVisible(zoomName)
}

// Special cases before the meeting: missing and wrong passcode, absent host, web client
// in a frame, another language.
func testZoomTrapsBeforeJoining(p *tab, s *Server) {
	p.t.Helper()
	m := openMeeting(p.t, s, Settings{Platform: Zoom, Passcode: "s3cret", HostAbsent: true})
	const passcode = `input[type="password"]`
	p.open(s.URL() + "/wc/" + m.Code() + "/join")
	p.waitVisible(passcode)
	p.typeZoomName("Stand-in")
	if !evalAs[bool](p, `document.querySelector(".preview-join-button").disabled`) {
		p.t.Error("one can join without the passcode")
	}
	p.do("type a wrong passcode", chromedp.SendKeys(chromedp.CSS(passcode), "sesame"))
	p.click(zoomJoin)
	p.waitForText("Passcode wrong")
	p.do("type over it", chromedp.SendKeys(chromedp.CSS(passcode), strings.Repeat("\b", len("sesame"))+"s3cret"))
	p.click(zoomJoin)
	waitForEvent(p.t, m, EventKind(StateWaitingForHost))
	p.waitForText("Waiting for the host to start this meeting")
	m.HostArrives()
	p.waitForText("Host has joined. We've let them know you're here")
	p.click(zoomLeave)
	p.click("button.leave-meeting-options__btn--danger")
	waitForEvent(p.t, m, EventKind(StateLeft))

	p.open(s.URL() + "/wc/" + m.Code() + "/join?pwd=sesame")
	p.waitForText("Passcode wrong")

	zoomInFrame(p, openMeeting(p.t, s, Settings{Platform: Zoom, NoLauncher: true, NoLobby: true, Framed: true}))

	if _, err := chromedp.Call(p.ctx, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{
		Headers: network.Headers{"Accept-Language": "de-AT,de;q=0.9,en;q=0.8"},
	}); err != nil {
		p.t.Fatal(err)
	}
	german := openMeeting(p.t, s, Settings{Platform: Zoom})
	p.open(german.URL())
	p.waitForText("Meeting eröffnen")
	p.open(s.URL() + "/wc/" + german.Code() + "/join")
	p.typeZoomName("Stand-in")
	p.clickText("Beitreten")
	p.waitForText("Bitte warten Sie, der Meeting-Host lässt Sie in Kürze eintreten.")
	p.waitVisible(`button[aria-label="Verlassen"]`)
}

// zoomInFrame joins with the web client in a frame.
func zoomInFrame(p *tab, m *Meeting) {
	p.t.Helper()
	p.open(m.URL())
	const inner = `document.querySelector("iframe#webclient")?.contentDocument`
	p.waitUntil(inner + `?.querySelector("#input-for-name")?.matches(":focus")`)
	if outside := p.count("#input-for-name"); outside != 0 {
		p.t.Error("the name field is outside the frame")
	}
	p.do("press a key in the frame", clickIn(p, inner, zoomName), chromedp.KeyEvent("Stand-in"))
	p.waitUntil(`!` + inner + `.querySelector(".preview-join-button").disabled`)
	p.do("join", clickIn(p, inner, zoomJoin))
	waitForEvent(p.t, m, EventKind(StateAdmitted))
	p.waitUntil(inner + `.querySelector("#wc-footer") !== null`)
	p.moveMouse()
	p.waitUntil(`document.querySelector("iframe").contentWindow.getComputedStyle(` + inner + `.querySelector("#wc-footer")).visibility === "visible"`)
}

// clickIn clicks the center of an element in a frame that fills the page.
func clickIn(p *tab, document, selector string) chromedp.Action[chromedp.Void] {
	p.t.Helper()
	middle := evalAs[[]float64](p, fmt.Sprintf(`(() => {
		const box = %s.querySelector(%q).getBoundingClientRect();
		return [box.x + box.width / 2, box.y + box.height / 2];
	})()`, document, selector))
	return chromedp.MouseClickXY(middle[0], middle[1])
}

// The roster, the chat, pinning and recording permission.
func testZoomInTheMeeting(p *tab, s *Server) {
	p.t.Helper()
	m := openMeeting(p.t, s, Settings{Platform: Zoom, NoLauncher: true, NoLobby: true, NoTips: true})
	p.joinZoom(m, "Stand-in")
	waitForEvent(p.t, m, EventKind(StateAdmitted))

	// The guest's own tile exists twice; the count includes the guest once.
	p.waitUntil(`document.querySelectorAll(".video-avatar__avatar-footer").length === 4`)
	p.moveMouse()
	p.click(`#wc-footer button[aria-label$="3 participants"]`)
	const roster = `[...document.querySelectorAll("#participants-ul li")].map((item) => item.innerText.replace(/\s+/g, " ")).join()`
	p.waitUntil(roster + ` === "Stand-in (Me),Ada Quill (Host),Ben Okafor"`)
	if err := m.Join(Participant{Name: "Cleo Marsh"}); err != nil {
		p.t.Fatal(err)
	}
	p.waitUntil(roster + ` === "Stand-in (Me),Ada Quill (Host),Ben Okafor,Cleo Marsh"`)
	if err := m.Leave("Ada Quill"); err != nil {
		p.t.Fatal(err)
	}
	p.waitUntil(roster + ` === "Stand-in (Me),Ben Okafor (Host),Cleo Marsh"`)

	zoomChat(p, m)
	p.do("open the tile's menu", chromedp.Click(chromedp.CSS(`[aria-label="More options for Cleo Marsh"]`)))
	p.do("pin", chromedp.Click(chromedp.CSS(`.avatar-more .dropdown-menu:not([hidden]) .dropdown-item`), chromedp.NodeVisible))
	if pinned := waitForEvent(p.t, m, EventPinned); pinned.Text != "Cleo Marsh" {
		p.t.Errorf("the guest pinned %q", pinned.Text)
	}
	zoomPermission(p, m)

	// Without a microphone the page offers to join audio.
	p.moveMouse()
	p.click(`[aria-label="Join Audio"]`)
	p.waitUntil(zoomTitle + ` === "Join Audio"`)
	p.clickText("Close")
	m.Reload()
	p.waitVisible(zoomName)
}

func zoomChat(p *tab, m *Meeting) {
	p.t.Helper()
	if err := m.Say("Ben Okafor", "You have been removed"); err != nil {
		p.t.Fatal(err)
	}
	p.waitForText("You have been removed") // as a message that pops up
	p.moveMouse()
	p.click(`button[aria-label="open the chat panel"]`)
	p.do("write", chromedp.SendKeys(chromedp.CSS("textarea"), "Recording has begun.\r"))
	if written := waitForEvent(p.t, m, EventChat); written.Text != "Recording has begun." {
		p.t.Errorf("the guest wrote %q", written.Text)
	}
	p.waitUntil(`[...document.querySelectorAll('[aria-label="Chat Message List"] [id^="chat-message-"]')].map((message) =>
		message.querySelector(".chat-item__sender").innerText + ": " + message.querySelector(".chat-message__text-box").innerText
	).join() === "Ben Okafor: You have been removed,You: Recording has begun."`)
	if p.count(".zm-modal") != 0 {
		p.t.Error("a message opened a dialog")
	}
}

// zoomPermission requests permission to record twice: it is denied, then granted.
func zoomPermission(p *tab, m *Meeting) {
	p.t.Helper()
	for i, answer := range []struct {
		granted bool
		text    string
	}{
		{false, "The host has denied your request to record"},
		{true, "The host has granted your request to record"},
	} {
		p.moveMouse()
		p.click(`button[aria-label="More meeting control"]`)
		p.click(`[role="menuitem"][aria-label="Record"]`)
		p.waitUntil(zoomTitle + ` === "Permission needed from Meeting Host"`)
		p.clickText("Request Permission")
		if _, err := m.WaitFor(p.ctx, nth(EventPermissionAsked, i+1)); err != nil {
			p.t.Fatal(err)
		}
		p.waitForText("Your request was sent to the host")
		if answered := m.AnswerPermission(answer.granted); answered != 1 {
			p.t.Errorf("%d requests were answered", answered)
		}
		p.waitForText(answer.text)
	}
	p.click(".zm-notification button")
	p.moveMouse()
	p.click(`button[aria-label="More meeting control"]`)
	p.click(`[role="menuitem"][aria-label="Record"]`)
	p.waitVisible(".recording-indicator")
}
