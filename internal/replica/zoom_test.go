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

// Two browsers are enough for all of Zoom's page: what a browser grants is a
// setting of the whole.
func TestZoomWithDevices(t *testing.T) {
	t.Parallel()
	media, _ := mediaForTest(t)
	p := openTab(t, true)
	t.Run("from launcher to leave", func(t *testing.T) { testZoomFromLauncherToLeave(p.in(t), startServer(t, media)) })
	t.Run("traps before joining", func(t *testing.T) { testZoomTrapsBeforeJoining(p.in(t), startServer(t, nil)) })
}

func TestZoomWithoutDevices(t *testing.T) {
	t.Parallel()
	p := openTab(t, false)
	t.Run("endings", func(t *testing.T) { testZoomEndings(p.in(t), startServer(t, nil)) })
	t.Run("walls", func(t *testing.T) { testZoomWalls(p.in(t), startServer(t, nil)) })
	t.Run("in the meeting", func(t *testing.T) { testZoomInTheMeeting(p.in(t), startServer(t, nil)) })
}

// in is the same tab for a part of a test.
func (p *tab) in(t *testing.T) *tab { return &tab{t: t, ctx: p.ctx} }

// stayInBrowser keeps pages from starting programs. The page of a real launcher
// does, Chromium then asks in a window of its own whether it may, and from there
// on the tab takes neither mouse nor keys, wherever it goes.
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

// joinZoom walks from the web client's pre-join page, in a browser that grants no
// devices, to the request.
func (p *tab) joinZoom(m *Meeting, name string) {
	p.t.Helper()
	p.open(m.URL())
	for range 2 { // once for each device
		p.clickText("Continue without microphone and camera")
	}
	p.until(`!document.querySelector(".zm-modal")`)
	p.typeZoomName(name)
	p.click(zoomJoin)
}

func zoomTile(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(".gallery-video-container__video-frame")].find((tile) =>
		tile.querySelector("video") && tile.querySelector(".video-avatar__avatar-footer").textContent === %q)`, name)
}

// A guest comes by the launcher and through the lobby, gets everybody's sound and
// picture, and is gone only after the second button of leaving.
func testZoomFromLauncherToLeave(p *tab, s *Server) {
	p.t.Helper()
	m := openMeeting(p.t, s, Settings{Platform: Zoom, Passcode: "s3cret", CookieBanner: true, DeviceDialog: true, Notices: []Notice{NoticeRecorded}})
	p.stayInBrowser()

	zoomLauncher(p, m)
	happens(p.t, m, EventOpened)
	p.clickText("Continue without microphone and camera")
	p.sees(`#preview-audio-control-button[aria-label="Unmute"]`)
	p.click(`#preview-video-control-button[aria-label="Start Video"]`)
	p.sees(`#preview-video-control-button[aria-label="Stop Video"]`)
	p.click("#preview-video-control-button")
	if p.count(`[data-passcode]:not([hidden])`) != 0 {
		p.t.Error("the page asks for the passcode that its address brought")
	}
	if reads[bool](p, `(() => {
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
	happens(p.t, m, EventKind(StateLobby))
	if name := m.Guests()[0].Name; name != strings.Repeat("Stand-in ", 8)[:64] {
		p.t.Errorf("the name became %q", name)
	}

	// The lobby looks like the meeting to who does not look well.
	p.says("Please wait, the meeting host will let you in soon.")
	p.sees(".meeting-app " + zoomLeave)
	if p.count("#wc-footer, .gallery-video-container") != 0 {
		p.t.Error("the lobby shows what only the meeting has")
	}

	m.Admit()
	happens(p.t, m, EventMediaConnected)
	p.until(zoomTitle + ` === "This meeting is being recorded"`)
	p.click(".zm-modal .zm-btn--primary")
	happens(p.t, m, EventNoticeAccepted)
	p.click(`[aria-label="Tip"] button`)
	playsMedia(p, zoomTile("Ada Quill"))
	playsMedia(p, zoomTile("Ben Okafor"))
	p.until(`document.querySelector(".gallery-video-container__video-frame--active")`)
	zoomConnection(p, m)
	zoomGoes(p, m)
}

// zoomLauncher walks from the link to the web client. The cookie banner covers
// what is at the page's bottom, and the way to the client comes only after the
// program was tried.
func zoomLauncher(p *tab, m *Meeting) {
	p.t.Helper()
	p.open(m.URL() + "&tk=token")
	p.sees("#onetrust-accept-btn-handler")
	if p.count("[data-browser]:not([hidden])") != 0 {
		p.t.Error("the way to the web client is there from the start")
	}
	p.click(".launch")
	p.sees("[data-browser] a")
	if program := reads[string](p, `window.program`); !strings.HasPrefix(program, "zoommtg://") {
		p.t.Errorf("the launcher started %q", program)
	}
	const covered = `(() => {
		const box = document.querySelector("[data-browser] a").getBoundingClientRect();
		const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
		return top.closest("#onetrust-banner-sdk") !== null;
	})()`
	if !reads[bool](p, covered) {
		p.t.Error("the cookie banner leaves the way to the web client free")
	}
	p.click("#onetrust-accept-btn-handler")
	if reads[bool](p, covered) {
		p.t.Error("the cookie banner is still there")
	}
	p.click("[data-browser] a")
	p.sees(zoomName)
	if address := reads[string](p, `location.pathname + location.search`); address != "/wc/"+m.Code()+"/join?pwd=s3cret&tk=token" {
		p.t.Errorf("the launcher leads to %s", address)
	}
}

// zoomConnection loses the meeting and finds it again.
func zoomConnection(p *tab, m *Meeting) {
	p.t.Helper()
	picture := zoomTile("Ada Quill") + `.querySelector("video").srcObject`
	reads[bool](p, `(() => { window.lost = `+picture+`; return true; })()`)
	m.Disconnect()
	p.says("Reconnecting…")
	m.Reconnect()
	p.until(`!document.querySelector(".reconnecting")`)
	if _, err := m.WaitFor(p.ctx, nth(EventMediaConnected, 2)); err != nil {
		p.t.Fatal(err)
	}
	p.until(picture + ` !== window.lost`)
	playsMedia(p, zoomTile("Ada Quill"))
}

// zoomGoes leaves: the controls are hidden until the mouse moves, and the first
// button alone changes nothing.
func zoomGoes(p *tab, m *Meeting) {
	p.t.Helper()
	if visible := reads[string](p, `getComputedStyle(document.querySelector("#wc-footer")).visibility`); visible != "hidden" {
		p.t.Errorf("the controls are %s before the mouse moves", visible)
	}
	p.moveMouse()
	p.click(zoomLeave)
	p.sees("button.leave-meeting-options__btn--danger")
	if state := m.Guests()[0].State; state != StateAdmitted {
		p.t.Errorf("without the confirmation the guest is %s", state)
	}
	p.click("button.leave-meeting-options__btn--danger")
	happens(p.t, m, EventKind(StateLeft))
	p.says("You have left the meeting")
	if guest := m.Guests()[0]; guest.Vanished || guest.Microphone || guest.Camera {
		p.t.Errorf("the guest is %+v", guest)
	}
}

// What the control verbs do is what a dialog over the last screen then says.
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
		p.sees(".waiting-room-container")
		if test.admit {
			m.Admit()
			p.until(`document.querySelector("#wc-footer")`)
		}
		if moved := test.verb(m); moved != 1 {
			p.t.Fatalf("%s: moved %d guests", test.name, moved)
		}
		p.until(zoomTitle + fmt.Sprintf(` === %q`, test.title))
		p.until(fmt.Sprintf(`document.querySelector(".zm-modal-body-content").innerText.includes(%q)`, test.content))
		if beneath := p.count(".meeting-app " + zoomLeave); beneath != 1 {
			p.t.Errorf("%s: what was on the screen is gone from beneath the dialog", test.name)
		}
		labelled := p.count(`[role="dialog"][aria-label="Meeting is end now"]`) == 1
		if want := strings.HasPrefix(test.name, "ended") || test.title == ""; labelled != want {
			p.t.Errorf("%s: the dialog has the label of the end: %t", test.name, labelled)
		}
	}
}

// Walls stand before the meeting, each with its own marks, and one of them falls
// to who is signed in.
func testZoomWalls(p *tab, s *Server) {
	p.t.Helper()
	const heading = `document.querySelector("h1")?.innerText`
	const invalid = `document.title === "Error - Zoom" && document.body.innerText.includes("This meeting link is invalid (3,001)")`
	for _, test := range []struct {
		wall Refusal
		text string
		mark string
	}{
		{RefusalNotFound, "", invalid},
		{RefusalBlocked, "", zoomTitle + ` === "Joining Meeting Timeout or Browser restriction"`},
		{RefusalSignIn, "", heading + ` === "Sign in to join this meeting"`},
		{RefusalSignIn, "The host requires authentication", heading + ` === "The host requires authentication"`},
		{RefusalCaptcha, "", heading + ` === "We detected you may be a bot" && document.body.innerText.includes("Automated bots aren't allowed")`},
		{RefusalCaptcha, "check captcha", heading + ` === "check captcha" && !document.body.innerText.includes("bots")`},
	} {
		m := openMeeting(p.t, s, Settings{Platform: Zoom, NoLauncher: true, Refusal: test.wall, Texts: map[State]string{State(test.wall): test.text}})
		p.open(m.URL())
		p.until(test.mark)
		happens(p.t, m, EventKind(test.wall))
	}
	for _, path := range []string{"/j/9876543210", "/wc/9876543210/join", "/my/ada"} {
		p.open(s.URL() + path)
		p.until(invalid)
	}

	m := openMeeting(p.t, s, Settings{Platform: Zoom, NoLauncher: true, Refusal: RefusalSignIn, SignInCookie: true})
	reads[bool](p, `(() => { document.cookie = "session=signed-in; path=/"; return true; })()`)
	p.open(m.URL())
	p.sees(zoomName)
}

// The traps before the meeting: a passcode that is missing and then wrong, a host
// who comes late, the client in a frame, a page in another language.
func testZoomTrapsBeforeJoining(p *tab, s *Server) {
	p.t.Helper()
	m := openMeeting(p.t, s, Settings{Platform: Zoom, Passcode: "s3cret", HostAbsent: true})
	const passcode = `input[type="password"]`
	p.open(s.URL() + "/wc/" + m.Code() + "/join")
	p.sees(passcode)
	p.typeZoomName("Stand-in")
	if !reads[bool](p, `document.querySelector(".preview-join-button").disabled`) {
		p.t.Error("one can join without the passcode")
	}
	p.do("type a wrong passcode", chromedp.SendKeys(chromedp.CSS(passcode), "sesame"))
	p.click(zoomJoin)
	p.says("Passcode wrong")
	p.do("type over it", chromedp.SendKeys(chromedp.CSS(passcode), strings.Repeat("\b", len("sesame"))+"s3cret"))
	p.click(zoomJoin)
	happens(p.t, m, EventKind(StateWaitingForHost))
	p.says("Waiting for the host to start this meeting")
	m.HostArrives()
	p.says("Host has joined. We've let them know you're here")
	p.click(zoomLeave)
	p.click("button.leave-meeting-options__btn--danger")
	happens(p.t, m, EventKind(StateLeft))

	p.open(s.URL() + "/wc/" + m.Code() + "/join?pwd=sesame")
	p.says("Passcode wrong")

	zoomInFrame(p, openMeeting(p.t, s, Settings{Platform: Zoom, NoLauncher: true, NoLobby: true, Framed: true}))

	if _, err := chromedp.Call(p.ctx, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{
		Headers: network.Headers{"Accept-Language": "de-AT,de;q=0.9,en;q=0.8"},
	}); err != nil {
		p.t.Fatal(err)
	}
	german := openMeeting(p.t, s, Settings{Platform: Zoom})
	p.open(german.URL())
	p.says("Meeting eröffnen")
	p.open(s.URL() + "/wc/" + german.Code() + "/join")
	p.typeZoomName("Stand-in")
	p.clickText("Beitreten")
	p.says("Bitte warten Sie, der Meeting-Host lässt Sie in Kürze eintreten.")
	p.sees(`button[aria-label="Verlassen"]`)
}

// zoomInFrame joins where the outer page has nothing but the frame.
func zoomInFrame(p *tab, m *Meeting) {
	p.t.Helper()
	p.open(m.URL())
	const inner = `document.querySelector("iframe#webclient")?.contentDocument`
	p.until(inner + `?.querySelector("#input-for-name")?.matches(":focus")`)
	if outside := p.count("#input-for-name"); outside != 0 {
		p.t.Error("the name field is outside the frame")
	}
	p.do("press a key in the frame", clickIn(p, inner, zoomName), chromedp.KeyEvent("Stand-in"))
	p.until(`!` + inner + `.querySelector(".preview-join-button").disabled`)
	p.do("join", clickIn(p, inner, zoomJoin))
	happens(p.t, m, EventKind(StateAdmitted))
	p.until(inner + `.querySelector("#wc-footer") !== null`)
	p.moveMouse()
	p.until(`document.querySelector("iframe").contentWindow.getComputedStyle(` + inner + `.querySelector("#wc-footer")).visibility === "visible"`)
}

// clickIn clicks the middle of an element of a frame that fills the page.
func clickIn(p *tab, document, selector string) chromedp.Action[chromedp.Void] {
	p.t.Helper()
	middle := reads[[]float64](p, fmt.Sprintf(`(() => {
		const box = %s.querySelector(%q).getBoundingClientRect();
		return [box.x + box.width / 2, box.y + box.height / 2];
	})()`, document, selector))
	return chromedp.MouseClickXY(middle[0], middle[1])
}

// In the meeting: who is there, what they write, whom the guest pins, and the
// host's leave to record.
func testZoomInTheMeeting(p *tab, s *Server) {
	p.t.Helper()
	m := openMeeting(p.t, s, Settings{Platform: Zoom, NoLauncher: true, NoLobby: true, NoTips: true})
	p.joinZoom(m, "Stand-in")
	happens(p.t, m, EventKind(StateAdmitted))

	// The own tile is there twice, and the count has the guest once.
	p.until(`document.querySelectorAll(".video-avatar__avatar-footer").length === 4`)
	p.moveMouse()
	p.click(`#wc-footer button[aria-label$="3 participants"]`)
	const roster = `[...document.querySelectorAll("#participants-ul li")].map((item) => item.innerText.replace(/\s+/g, " ")).join()`
	p.until(roster + ` === "Stand-in (Me),Ada Quill (Host),Ben Okafor"`)
	if err := m.Join(Participant{Name: "Cleo Marsh"}); err != nil {
		p.t.Fatal(err)
	}
	p.until(roster + ` === "Stand-in (Me),Ada Quill (Host),Ben Okafor,Cleo Marsh"`)
	if err := m.Leave("Ada Quill"); err != nil {
		p.t.Fatal(err)
	}
	p.until(roster + ` === "Stand-in (Me),Ben Okafor (Host),Cleo Marsh"`)

	zoomChat(p, m)
	p.do("open the tile's menu", chromedp.Click(chromedp.CSS(`[aria-label="More options for Cleo Marsh"]`)))
	p.do("pin", chromedp.Click(chromedp.CSS(`.avatar-more .dropdown-menu:not([hidden]) .dropdown-item`), chromedp.NodeVisible))
	if pinned := happens(p.t, m, EventPinned); pinned.Text != "Cleo Marsh" {
		p.t.Errorf("the guest pinned %q", pinned.Text)
	}
	zoomPermission(p, m)

	// Without a microphone the page offers to join by sound, and that changes
	// nothing here.
	p.moveMouse()
	p.click(`[aria-label="Join Audio"]`)
	p.until(zoomTitle + ` === "Join Audio"`)
	p.clickText("Close")
	m.Reload()
	p.sees(zoomName)
}

func zoomChat(p *tab, m *Meeting) {
	p.t.Helper()
	if err := m.Say("Ben Okafor", "You have been removed"); err != nil {
		p.t.Fatal(err)
	}
	p.says("You have been removed") // as a message that pops up
	p.moveMouse()
	p.click(`button[aria-label="open the chat panel"]`)
	p.do("write", chromedp.SendKeys(chromedp.CSS("textarea"), "Recording has begun.\r"))
	if written := happens(p.t, m, EventChat); written.Text != "Recording has begun." {
		p.t.Errorf("the guest wrote %q", written.Text)
	}
	p.until(`[...document.querySelectorAll('[aria-label="Chat Message List"] [id^="chat-message-"]')].map((message) =>
		message.querySelector(".chat-item__sender").innerText + ": " + message.querySelector(".chat-message__text-box").innerText
	).join() === "Ben Okafor: You have been removed,You: Recording has begun."`)
	if p.count(".zm-modal") != 0 {
		p.t.Error("a message opened a dialog")
	}
}

// zoomPermission asks to record and is refused, asks again and is allowed.
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
		p.until(zoomTitle + ` === "Permission needed from Meeting Host"`)
		p.clickText("Request Permission")
		if _, err := m.WaitFor(p.ctx, nth(EventPermissionAsked, i+1)); err != nil {
			p.t.Fatal(err)
		}
		p.says("Your request was sent to the host")
		if answered := m.AnswerPermission(answer.granted); answered != 1 {
			p.t.Errorf("%d requests were answered", answered)
		}
		p.says(answer.text)
	}
	p.click(".zm-notification button")
	p.moveMouse()
	p.click(`button[aria-label="More meeting control"]`)
	p.click(`[role="menuitem"][aria-label="Record"]`)
	p.sees(".recording-indicator")
}
