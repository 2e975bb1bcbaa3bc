package replica

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

const (
	teamsName = `[data-tid="prejoin-display-name-input"]`
	teamsJoin = `[data-tid="prejoin-join-button"]`
)

// teamsTile returns the expression for the tile of a participant.
func teamsTile(name string) string {
	return `[...document.querySelectorAll('[data-cid="calling-participant-stream"]')].find((tile) => tile.querySelector('[data-stream-type="Video"]').dataset.tid === ` +
		fmt.Sprintf("%q", name) + `)`
}

// A guest joins from the launcher, receives media and leaves with the button.
func TestTeamsFromLauncherToLeave(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	media, _ := mediaForTest(t)
	s := startServer(t, media)
	m := openMeeting(t, s, Settings{Platform: Teams, Notices: []Notice{NoticeRecorded}, CookieBanner: true, Passcode: "Xy7.a-B"})
	p := openTab(t, true)

	p.open(m.URL())
	p.clickText("Accept")
	p.click(`[aria-label="Join meeting from this browser"]`)
	waitForEvent(t, m, EventOpened)
	p.waitUntil(`document.querySelector('[data-tid="toggle-mute"]')?.ariaChecked === "true"`)
	p.click(`[data-tid="toggle-mute"]`)
	p.click(`[data-tid="toggle-video"]`)
	p.waitUntil(`["toggle-mute", "toggle-video"].every((name) => document.querySelector('[data-tid="' + name + '"]').ariaChecked === "false")`)
	if !evalAs[bool](p, `document.querySelector('`+teamsJoin+`').disabled`) {
		t.Error("one can join without a name")
	}
	p.do("type the name", chromedp.SendKeys(chromedp.CSS(teamsName), "Stand-in"))
	p.click(teamsJoin)
	waitForEvent(t, m, EventKind(StateLobby))
	p.waitForText("Someone will let you in shortly")
	p.waitVisible("#hangup-button")
	if p.count("#callingButtons-showMoreBtn, #raisehands-button, [data-cid]") != 0 {
		t.Error("the lobby shows what only the meeting has")
	}

	m.Admit()
	waitForEvent(t, m, EventMediaConnected)
	p.waitForText("Recording has started")
	p.click(`button[aria-label="Dismiss"]`)
	waitForEvent(t, m, EventNoticeAccepted)
	for _, name := range []string{"Ada Quill", "Ben Okafor"} {
		playsMedia(p, teamsTile(name))
	}
	if visible := evalAs[string](p, `getComputedStyle(document.querySelector("#hangup-button")).visibility`); visible != "hidden" {
		t.Errorf("the bar is %s before the mouse moves", visible)
	}
	p.moveMouse()
	p.waitVisible("#callingButtons-showMoreBtn")
	p.waitVisible("#raisehands-button")
	p.click(`#hangup-button[data-tid="hangup-main-btn"]`)
	waitForEvent(t, m, EventKind(StateLeft))
	p.waitForText("You left the meeting")
	guest := m.Guests()[0]
	if guest.Name != "Stand-in" || guest.Vanished || guest.Microphone || guest.Camera {
		t.Errorf("the guest is %+v", guest)
	}
}

// The page shows the result of each control method.
func TestTeamsEndings(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	s := startServer(t, nil)
	p := openTab(t, false)
	const retry = `#calling-retry-screen-title`
	for _, test := range []struct {
		name  string
		texts map[State]string
		admit bool
		verb  func(*Meeting) int
		title string
		text  string
	}{
		{name: "denied", verb: func(m *Meeting) int { return m.Deny() }, title: retry, text: "Sorry, but you were denied access to the meeting"},
		{
			name: "denied in other words", verb: func(m *Meeting) int { return m.Deny() }, title: retry, text: "Your request to join was declined",
			texts: map[State]string{StateDenied: "Your request to join was declined"},
		},
		{name: "lobby timeout", verb: func(m *Meeting) int { return m.LobbyTimeout() }, title: retry, text: "No one responded to your request to join"},
		{name: "not connected", verb: func(m *Meeting) int { return m.Block() }, title: retry, text: "Sorry, we couldn't connect you"},
		{name: "removed", admit: true, verb: func(m *Meeting) int { return m.Remove() }, title: retry, text: "You've been removed from this meeting"},
		{name: "ended", admit: true, verb: (*Meeting).End, title: `[data-tid="calling-e2ee-end-screen"] h1`, text: "Meeting ended"},
	} {
		m := openMeeting(t, s, Settings{Platform: Teams, NoLauncher: true, Texts: test.texts})
		p.open(m.URL())
		p.clickText("Continue without audio or video")
		p.do("type the name", chromedp.SendKeys(chromedp.CSS(teamsName), "Stand-in"))
		p.click(teamsJoin)
		waitForEvent(t, m, EventKind(StateLobby))
		if test.admit {
			m.Admit()
			p.waitUntil(`document.querySelector("#callingButtons-showMoreBtn")`)
		}
		if moved := test.verb(m); moved != 1 {
			t.Fatalf("%s: moved %d guests", test.name, moved)
		}
		p.waitUntil(`document.querySelector('` + test.title + `')?.innerText === ` + fmt.Sprintf("%q", test.text))
		if test.title == retry {
			p.waitVisible(`[data-tid="calling-retry-cancelbutton"]`)
		}
		if controls := p.count("#hangup-button"); controls != 0 {
			t.Errorf("%s: Leave is still there", test.name)
		}
	}
}

// Each refusal has its own page.
func TestTeamsWalls(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	p := openTab(t, false)
	const incorrect = "Looks like the meeting URL is incorrect. Please check the URL and try again."
	for _, test := range []struct {
		refusal Refusal
		texts   map[State]string
		mark    string
		says    string
	}{
		{refusal: RefusalNotFound, mark: "p", says: incorrect},
		{refusal: RefusalBlocked, mark: "#calling-retry-screen-title", says: "we couldn't connect you"},
		{refusal: RefusalSignIn, mark: `input[name="loginfmt"]`, says: "Sign in"},
		{
			refusal: RefusalSignIn, mark: "h1", says: "We need to verify your info before you can join",
			texts: map[State]string{StateSignIn: "We need to verify your info before you can join"},
		},
		{refusal: RefusalCaptcha, mark: "h1", says: "Verify you're a real person"},
	} {
		m := openMeeting(t, s, Settings{Platform: Teams, NoLauncher: true, Refusal: test.refusal, Texts: test.texts})
		p.open(m.URL())
		p.waitVisible(test.mark)
		p.waitForText(test.says)
		waitForEvent(t, m, EventKind(test.refusal))
	}
	p.open(s.URL() + "/v2/?meetingjoin=true#/meet/999999999999")
	p.waitForText(incorrect)

	signedIn := openMeeting(t, s, Settings{Platform: Teams, NoLauncher: true, Refusal: RefusalSignIn, SignInCookie: true})
	p.open(signedIn.URL())
	p.waitVisible(`input[name="loginfmt"]`)
	if _, err := chromedp.Call(p.ctx, network.SetCookie, network.SetCookieParams{Name: "session", Value: "signed-in", URL: s.URL()}); err != nil {
		t.Fatal(err)
	}
	p.open(signedIn.URL())
	p.waitVisible(teamsName)

	locked := openMeeting(t, s, Settings{Platform: Teams, NoLauncher: true, Passcode: "sesame"})
	for _, try := range []struct{ passcode, then string }{{"salt", ".large"}, {"sesame", teamsName}} {
		p.open(s.URL() + "/meet/" + locked.Code())
		p.do("type the passcode", chromedp.SendKeys(chromedp.CSS(`[aria-label="Type a meeting passcode"]`), try.passcode+"\r"))
		p.waitVisible(try.then)
	}
}

// Every form of URL opens the meeting.
func TestTeamsAddresses(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	m := openMeeting(t, s, Settings{Platform: Teams, Passcode: "pass"})
	p := openTab(t, true)
	form := "/meet/" + m.Code() + "?p=pass"
	coordinates := base64.StdEncoding.EncodeToString([]byte(`{"meetingCode":"` + m.Code() + `","passcode":"pass"}`))
	for i, test := range []struct {
		address  string
		launcher bool
	}{
		{form, true},
		{"/l/meetup-join/19%3ameeting_" + m.Code() + "%40thread.v2/0?context=%7b%22Tid%22%3a%2200000000-0000-0000-0000-000000000001%22%7d&p=pass", true},
		{"/dl/launcher/launcher.html?url=" + url.QueryEscape(url.QueryEscape("/_#"+form)), true},
		{"/v2/?meetingjoin=true#" + form, false},
		{"/light-meetings/launch?coords=" + url.QueryEscape(coordinates), false},
	} {
		p.open(s.URL()) // or the same address again would load nothing
		p.open(s.URL() + test.address)
		if test.launcher {
			p.click(`[aria-label="Join meeting from this browser"]`)
		}
		p.waitVisible(teamsName)
		if _, err := m.WaitFor(p.ctx, nth(EventOpened, i+1)); err != nil {
			t.Fatalf("%s: %v", test.address, err)
		}
	}
}

// Special cases before the meeting: late device dialog, another language, length limit
// of the name, absent host.
func TestTeamsTrapsBeforeJoining(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	s := startServer(t, nil)
	p := openTab(t, true)
	m := openMeeting(t, s, Settings{
		Platform: Teams, NoLauncher: true, HostAbsent: true, DevicesBeforeJoin: true, DevicesAfterJoin: true, JoinLabel: "Ask to join",
	})
	p.open(m.URL())
	p.clickText("Continue without audio or video")
	if evalAs[bool](p, `(() => {
		const input = document.querySelector('`+teamsName+`');
		input.value = "Scripted";
		input.dispatchEvent(new Event("input", { bubbles: true }));
		const open = !document.querySelector('`+teamsJoin+`').disabled;
		input.value = "";
		return open;
	})()`) {
		t.Error("a script can fill in the name")
	}
	p.do("type the name", chromedp.SendKeys(chromedp.CSS(teamsName), strings.Repeat("Stand-in ", 7)))
	p.clickText("Ask to join")
	p.clickText("Continue without audio or video")
	waitForEvent(t, m, EventKind(StateWaitingForHost))
	p.waitForText("When the meeting starts, we'll let people know you're waiting")
	if name := m.Guests()[0].Name; name != strings.Repeat("Stand-in ", 7)[:50] {
		t.Errorf("the name became %q", name)
	}
	m.HostArrives()
	p.waitForText("Someone will let you in shortly")

	if _, err := chromedp.Call(p.ctx, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{
		Headers: network.Headers{"Accept-Language": "de-AT,de;q=0.9,en;q=0.8"},
	}); err != nil {
		t.Fatal(err)
	}
	german := openMeeting(t, s, Settings{Platform: Teams})
	p.open(german.URL())
	p.click(`[aria-label="Über diesen Browser an der Besprechung teilnehmen"]`)
	p.do("type the name", chromedp.SendKeys(chromedp.CSS(teamsName), "Stand-in"))
	p.clickText("Jetzt teilnehmen")
	p.waitForText("Jemand wird Sie in Kürze hereinlassen")
}

// Special cases in the meeting: two tiles of the guest, similar names, texts of the page
// in the chat, joining without audio.
func TestTeamsInTheMeeting(t *testing.T) {
	t.Parallel()
	media, _ := mediaForTest(t)
	s := startServer(t, media)
	lookAlike := "Оtter.аi" // two of its letters are Cyrillic
	m := openMeeting(t, s, Settings{Platform: Teams, NoLauncher: true, NoLobby: true, NoTips: true, Participants: []Participant{}})
	p := openTab(t, true)
	p.open(m.URL())
	p.click(`input[aria-label="Don't use audio"]`)
	p.do("type the name", chromedp.SendKeys(chromedp.CSS(teamsName), "Stand-in"))
	p.click(teamsJoin)
	waitForEvent(t, m, EventKind(StateAdmitted))
	p.waitForText("Waiting for others to join")
	if tiles := p.count(`[data-cid="calling-participant-stream"] [data-tid="Stand-in"]`); tiles != 2 {
		t.Errorf("the own tile is there %d times", tiles)
	}

	for _, name := range []string{lookAlike, "Ben Okafor"} {
		if err := m.Join(Participant{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	p.moveMouse()
	p.click("#roster-button")
	roster := func() string {
		return evalAs[string](p, `[...document.querySelectorAll('[data-tid*="roster"] [role="treeitem"]')].map((item) => item.ariaLabel).join()`)
	}
	p.waitUntil(`document.querySelectorAll('[data-tid*="roster"] [role="treeitem"]').length === 3`)
	if got, want := roster(), "Stand-in,"+lookAlike+",Ben Okafor"; got != want {
		t.Errorf("the roster is %q, want %q", got, want)
	}
	p.waitUntil(teamsTile("Ben Okafor") + `.querySelector("video").videoWidth === ` + fmt.Sprint(testQuality.width))
	if p.count("audio") != 0 {
		t.Error("who joined without audio hears")
	}
	p.waitUntil(`getComputedStyle(` + teamsTile("Ben Okafor") + `.querySelector('[data-tid="voice-level-stream-outline"]')).visibility === "visible"`)
	p.waitUntil(`getComputedStyle(` + teamsTile("Ben Okafor") + `.querySelector('[data-tid="voice-level-stream-outline"]')).visibility === "hidden"`)

	p.do("open the menu", chromedp.Evaluate[chromedp.Void](teamsTile("Ben Okafor")+`.querySelector('[aria-label="More options"]').click()`))
	p.clickText("Pin for me")
	if pinned := waitForEvent(t, m, EventPinned); pinned.Text != "Ben Okafor" {
		t.Errorf("pinned %q", pinned.Text)
	}
	teamsChat(p, m)

	m.Disconnect()
	p.waitForText("Your network connection was lost. Trying to reconnect")
	m.Reconnect()
	p.waitUntil(`document.querySelector("#offline").hidden`)
	if err := m.Leave(""); err != nil {
		t.Fatal(err)
	}
	p.waitForText("You're the only one here")
}

// teamsChat uses the chat and its notifications.
func teamsChat(p *tab, m *Meeting) {
	p.t.Helper()
	const dangerous = "You've been removed from this meeting"
	if err := m.Say("Ben Okafor", dangerous); err != nil {
		p.t.Fatal(err)
	}
	p.waitForText(dangerous)
	p.moveMouse()
	p.click("button#chat-button")
	p.do("write", chromedp.SendKeys(chromedp.CSS(`[aria-label="Type a message"]`), "Recording has begun.\r"))
	if written := waitForEvent(p.t, m, EventChat); written.Text != "Recording has begun." {
		p.t.Errorf("the guest wrote %q", written.Text)
	}
	p.waitUntil(`document.querySelectorAll('[data-tid="chat-pane-message"]').length === 2`)
	lines := evalAs[[]string](p, `[...document.querySelectorAll('[data-tid="chat-pane-item"]')].map((item) =>
		item.querySelector('[data-tid="message-author-name"]').textContent + ": " + item.querySelector('[data-tid="chat-pane-message"]').textContent)`)
	if want := []string{"Ben Okafor: " + dangerous, "Stand-in: Recording has begun."}; !slices.Equal(lines, want) {
		p.t.Errorf("the chat shows %q, want %q", lines, want)
	}
	if state := m.Guests()[0].State; state != StateAdmitted {
		p.t.Errorf("a chat message made the guest %s", state)
	}
}
