package replica

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// A guest is admitted from the lobby, receives media and leaves with the button.
func TestMeetFromNameToLeave(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	media, _ := mediaForTest(t)
	s := startServer(t, media)
	m := openMeeting(t, s, Settings{Notices: []Notice{NoticeRecorded}})
	p := openTab(t, true)

	p.open(m.URL())
	waitForEvent(t, m, EventOpened)
	p.waitVisible(`input[type="text"][aria-label="Your name"]`)
	p.click(`button[aria-label="Turn off microphone"]`)
	p.click(`button[aria-label="Turn on microphone"]`) // which the page has stopped
	p.click(`button[aria-label="Turn off microphone"]`)
	p.click(`button[aria-label="Turn off camera"]`)
	p.waitVisible(`button[aria-label="Turn on microphone"]`)
	if !evalAs[bool](p, `document.querySelector("[data-join]").disabled`) {
		t.Error("one can join without a name")
	}
	p.do("type the name", chromedp.SendKeys(chromedp.CSS(`[aria-label="Your name"]`), "Stand-in"))
	watchConnection(p)
	p.click("[data-join]")
	waitForEvent(t, m, EventKind(StateLobby))
	p.waitVisible(`button[aria-label="Leave call"]`)
	if p.count("[data-participant-id]")+p.count(`button[aria-label="Turn on captions"]`) != 0 {
		t.Error("the lobby shows what only the meeting has")
	}

	if moved := m.Admit(); moved != 1 {
		t.Fatalf("admitted %d guests", moved)
	}
	waitForEvent(t, m, EventMediaConnected)
	p.click(`div[aria-modal="true"][role="dialog"] button[data-mdc-dialog-action="ok"]`)
	waitForEvent(t, m, EventNoticeAccepted)
	requireMedia(p, "Ada Quill")
	requireMedia(p, "Ben Okafor")
	playsInStep(p)

	p.do("pin", chromedp.Evaluate[chromedp.Void](`document.querySelector('[aria-label="Pin Ben Okafor to your main screen"]').click()`))
	if pinned := waitForEvent(t, m, EventPinned); pinned.Text != "Ben Okafor" {
		t.Errorf("pinned %q", pinned.Text)
	}

	leaveCall(p)
	waitForEvent(t, m, EventKind(StateLeft))
	p.waitUntil(`document.body.innerText.includes("You left the meeting")`)
	guest := m.Guests()[0]
	if guest.Name != "Stand-in" || guest.State != StateLeft || guest.Vanished || guest.Microphone || guest.Camera {
		t.Errorf("the guest is %+v", guest)
	}
}

// requireMedia requires that a participant's video plays at full size and that the
// audio is not silent.
func requireMedia(p *tab, name string) {
	p.t.Helper()
	tile := `[...document.querySelectorAll("[data-participant-id]")].find((tile) => tile.querySelector("video") && tile.querySelector(".name").textContent === "` + name + `")`
	playsMedia(p, tile)
}

// watchConnection stores the page's peer connection, for its statistics.
func watchConnection(p *tab) {
	p.t.Helper()
	evalAs[bool](p, `(() => {
		const original = RTCPeerConnection.prototype.createOffer;
		RTCPeerConnection.prototype.createOffer = function (...options) {
			window.watched = this;
			return original.apply(this, options);
		};
		return true;
	})()`)
}

// playsInStep requires that audio and video are synchronized by the sender reports. The
// tolerance is wide because the buffers differ for a while on a busy machine; with
// missing or wrong reports the difference would be unknown or hours.
func playsInStep(p *tab) {
	p.t.Helper()
	const interval = `watched.getStats().then((report) => {
		const at = { audio: [], video: [] };
		for (const one of report.values()) {
			if (one.type === "inbound-rtp" && one.estimatedPlayoutTimestamp) at[one.kind].push(one.estimatedPlayoutTimestamp);
		}
		if (at.audio.length < 2 || at.video.length < 2) return -1;
		const all = [...at.audio, ...at.video];
		return Math.max(...all) - Math.min(...all);
	})`
	p.waitUntil(`await ` + interval + ` >= 0`)
	spread := evalAs[float64](p, interval)
	p.t.Logf("sound and picture play within %.0f ms of each other", spread)
	if spread > 1500 {
		p.t.Errorf("sound and picture play %.0f ms interval", spread)
	}
}

func leaveCall(p *tab) {
	p.t.Helper()
	if visible := evalAs[string](p, `getComputedStyle(document.querySelector('[aria-label="Call controls"]')).visibility`); visible != "hidden" {
		p.t.Errorf("the call bar is %s before the mouse moves", visible)
	}
	p.moveMouse()
	p.click(`button[aria-label="Leave call"]`)
	p.clickText("Just leave the meeting")
}

// The page shows the result of each control method.
func TestMeetEndings(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	s := startServer(t, nil)
	p := openTab(t, false)
	for _, test := range []struct {
		name     string
		settings Settings
		admit    bool
		verb     func(*Meeting) int
		text     string
	}{
		{name: "denied", verb: func(m *Meeting) int { return m.Deny() }, text: "Someone in the call denied your request to join"},
		{name: "lobby timeout", verb: func(m *Meeting) int { return m.LobbyTimeout() }, text: "No one responded to your request to join the call"},
		{name: "ended in the lobby", verb: (*Meeting).End, text: "Your host ended the meeting for everyone"},
		{name: "removed", admit: true, verb: func(m *Meeting) int { return m.Remove() }, text: "You've been removed from the meeting"},
		{name: "ended", admit: true, verb: (*Meeting).End, text: "Your host ended the meeting for everyone"},
		{name: "blocked", admit: true, verb: func(m *Meeting) int { return m.Block() }, text: "You can't join this video call"},
		{
			name: "another wording", admit: true, verb: (*Meeting).End, text: "The call ended",
			settings: Settings{Texts: map[State]string{StateEnded: "The call ended"}},
		},
	} {
		m := openMeeting(t, s, test.settings)
		p.open(m.URL())
		p.clickText("Continue without microphone and camera")
		p.do("type the name", chromedp.SendKeys(chromedp.CSS(`[aria-label="Your name"]`), "Stand-in"))
		p.click("[data-join]")
		waitForEvent(t, m, EventKind(StateLobby))
		if test.admit {
			m.Admit()
			p.waitUntil(`document.querySelector("[data-self-name]")`)
		}
		if moved := test.verb(m); moved != 1 {
			t.Fatalf("%s: moved %d guests", test.name, moved)
		}
		p.waitUntil(`document.querySelector("h1")?.innerText === ` + fmt.Sprintf("%q", test.text))
		if controls := p.count(`button[aria-label="Leave call"]`); controls != 0 {
			t.Errorf("%s: Leave call is still there", test.name)
		}
	}
}

// Each refusal has its own page.
func TestMeetWalls(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	p := openTab(t, false)
	for _, test := range []struct {
		refusal Refusal
		mark    string
	}{
		{RefusalNotFound, `document.querySelector("h1")?.innerText === "Check your meeting code"`},
		{RefusalBlocked, `document.querySelector("h1")?.innerText === "You can't join this video call"`},
		{RefusalSignIn, `document.querySelector("h1")?.innerText === "Sign in" && document.body.innerText.includes("your Google Account")`},
		{RefusalCaptcha, `(() => { const box = document.querySelector('iframe[title="reCAPTCHA"]')?.getBoundingClientRect(); return box && box.width >= 120 && box.height >= 40; })()`},
	} {
		m := openMeeting(t, s, Settings{Refusal: test.refusal})
		p.open(m.URL())
		p.waitUntil(test.mark)
		waitForEvent(t, m, EventKind(test.refusal))
	}
	p.open(s.URL() + "/zzz-zzzz-zzz")
	p.waitUntil(`document.querySelector("h1")?.innerText === "Check your meeting code"`)
}

// Guests wait for the host, and are admitted at once without a lobby.
func TestMeetHostAndOpenDoor(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	p := openTab(t, true)
	m := openMeeting(t, s, Settings{HostAbsent: true, NoLobby: true})
	p.join(m, "Stand-in")
	waitForEvent(t, m, EventKind(StateWaitingForHost))
	p.waitUntil(`document.body.innerText.includes("Waiting for the host to join")`)
	m.HostArrives()
	waitForEvent(t, m, EventKind(StateAdmitted))
	p.waitUntil(`document.querySelector("[data-self-name]")`)
}

// The special cases of the Meet page.
func TestMeetTraps(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	s := startServer(t, nil)
	m := openMeeting(t, s, Settings{Language: "de"})
	p := openTab(t, true)

	// Without hl=en the page uses the meeting's language.
	p.open(m.URL())
	p.waitVisible(`[aria-label="Mein Name"]`)

	// The join button is enabled by typing, not by a script.
	p.open(m.URL() + "?hl=en")
	p.waitVisible(`[aria-label="Your name"]`)
	if evalAs[bool](p, `(() => {
		const input = document.querySelector('[aria-label="Your name"]');
		input.value = "Scripted";
		input.dispatchEvent(new Event("input", { bubbles: true }));
		return !document.querySelector("[data-join]").disabled;
	})()`) {
		t.Error("a script can fill in the name")
	}
	p.join(m, "Stand-in")
	asked := waitForEvent(t, m, EventKind(StateLobby))

	// The lobby has the controls of the call.
	for _, selector := range []string{
		`button[aria-label="Leave call"]`, `[role="region"][aria-label="Call controls"]`,
		`button[aria-label="Turn off microphone"]`, `button[aria-label="Turn off camera"]`,
	} {
		p.waitVisible(selector)
	}
	m.Admit(asked.Guest)

	// The guest's own tile exists twice; the roster counts the guest once.
	p.waitUntil(`document.querySelector("[data-self-name]")`)
	self := `[data-participant-id="` + evalAs[string](p, `document.querySelector("[data-self-name]").closest("[data-participant-id]").dataset.participantId`) + `"]`
	if tiles := p.count(self); tiles != 2 {
		t.Errorf("the own tile is there %d times", tiles)
	}
	p.waitUntil(`document.querySelector('button[aria-label^="People"]').ariaLabel === "People - 3 joined"`)
	if got := evalAs[string](p, `document.querySelector("[data-avatar-count]").textContent`); got != "3" {
		t.Errorf("the avatar count is %s", got)
	}

	// Chat messages contain texts of the page.
	if err := m.Say("Ada Quill", "You've been removed from the meeting"); err != nil {
		t.Fatal(err)
	}
	p.waitUntil(`document.body.innerText.includes("You've been removed from the meeting")`)
	if m.Guests()[len(m.Guests())-1].State != StateAdmitted {
		t.Error("a chat message removed the guest")
	}
}

// The guest uses the roster and the chat.
func TestMeetRosterAndChat(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	media, _ := mediaForTest(t)
	s := startServer(t, media)
	m := openMeeting(t, s, Settings{NoLobby: true, NoTips: true})
	p := openTab(t, false)
	p.open(m.URL())
	p.clickText("Continue without microphone and camera")
	p.do("type the name", chromedp.SendKeys(chromedp.CSS(`[aria-label="Your name"]`), "Stand-in"))
	p.click("[data-join]")
	waitForEvent(t, m, EventMediaConnected)
	p.moveMouse()
	p.click(`button[aria-label^="People"]`)
	roster := `[...document.querySelectorAll('div[aria-label="Participants"][role="list"] div[role="listitem"]')].map((item) => item.ariaLabel).join()`
	p.waitUntil(roster + ` === "Stand-in,Ada Quill,Ben Okafor"`)

	if err := m.Join(Participant{Name: "Cleo Marsh"}); err != nil {
		t.Fatal(err)
	}
	p.waitUntil(roster + ` === "Stand-in,Ada Quill,Ben Okafor,Cleo Marsh"`)
	requireMedia(p, "Cleo Marsh")
	if err := m.Leave(""); err != nil {
		t.Fatal(err)
	}
	p.waitUntil(roster + ` === "Stand-in"`)

	p.moveMouse()
	p.click(`button[aria-label="Chat with everyone"]`)
	p.do("write", chromedp.SendKeys(chromedp.CSS(`textarea[aria-label="Send a message"]`), "Recording has begun.\r"))
	if written := waitForEvent(t, m, EventChat); written.Text != "Recording has begun." {
		t.Errorf("the guest wrote %q", written.Text)
	}

	// A closed browser differs from one that left.
	if err := chromedp.Cancel(p.ctx); err != nil && p.ctx.Err() == nil {
		t.Logf("close the browser: %v", err)
	}
	waitForEvent(t, m, EventVanished)
}

// nth returns a function that matches the n-th event of a kind.
func nth(kind EventKind, n int) func(Event) bool {
	return func(event Event) bool {
		if event.Kind == kind {
			n--
		}
		return event.Kind == kind && n == 0
	}
}
