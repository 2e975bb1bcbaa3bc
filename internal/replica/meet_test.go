package replica

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// A guest comes in through the lobby and gets everybody's sound and picture,
// leaves by the button, and the meeting knows that it did.
func TestMeetFromNameToLeave(t *testing.T) {
	t.Parallel()
	media, _ := mediaForTest(t)
	s := startServer(t, media)
	m := openMeeting(t, s, Settings{Notices: []Notice{NoticeRecorded}})
	p := openTab(t, true)

	p.open(m.URL())
	happens(t, m, EventOpened)
	p.sees(`input[type="text"][aria-label="Your name"]`)
	p.click(`button[aria-label="Turn off microphone"]`)
	p.click(`button[aria-label="Turn off camera"]`)
	p.sees(`button[aria-label="Turn on microphone"]`)
	if !reads[bool](p, `document.querySelector("[data-join]").disabled`) {
		t.Error("one can join without a name")
	}
	p.do("type the name", chromedp.SendKeys(chromedp.CSS(`[aria-label="Your name"]`), "Stand-in"))
	watchConnection(p)
	p.click("[data-join]")
	happens(t, m, EventKind(StateLobby))
	p.sees(`button[aria-label="Leave call"]`)
	if p.count("[data-participant-id]")+p.count(`button[aria-label="Turn on captions"]`) != 0 {
		t.Error("the lobby shows what only the meeting has")
	}

	if moved := m.Admit(); moved != 1 {
		t.Fatalf("admitted %d guests", moved)
	}
	happens(t, m, EventMediaConnected)
	p.click(`div[aria-modal="true"][role="dialog"] button[data-mdc-dialog-action="ok"]`)
	happens(t, m, EventNoticeAccepted)
	seesMedia(p, "Ada Quill")
	seesMedia(p, "Ben Okafor")
	playsInStep(p)

	p.do("pin", chromedp.Evaluate[chromedp.Void](`document.querySelector('[aria-label="Pin Ben Okafor to your main screen"]').click()`))
	if pinned := happens(t, m, EventPinned); pinned.Text != "Ben Okafor" {
		t.Errorf("pinned %q", pinned.Text)
	}

	leaveCall(p)
	happens(t, m, EventKind(StateLeft))
	p.until(`document.body.innerText.includes("You left the meeting")`)
	guest := m.Guests()[0]
	if guest.Name != "Stand-in" || guest.State != StateLeft || guest.Vanished || guest.Microphone || guest.Camera {
		t.Errorf("the guest is %+v", guest)
	}
}

// seesMedia checks that a participant's picture moves at full size and that the
// sound, once played, is not silence.
func seesMedia(p *tab, name string) {
	p.t.Helper()
	tile := `[...document.querySelectorAll("[data-participant-id]")].find((tile) => tile.querySelector("video") && tile.querySelector(".name").textContent === "` + name + `")`
	playsMedia(p, tile)
}

// watchConnection keeps hold of the page's peer connection, for its statistics.
func watchConnection(p *tab) {
	p.t.Helper()
	reads[bool](p, `(() => {
		const original = RTCPeerConnection.prototype.createOffer;
		RTCPeerConnection.prototype.createOffer = function (...options) {
			window.watched = this;
			return original.apply(this, options);
		};
		return true;
	})()`)
}

// playsInStep checks that the browser knows, from the sender reports, which
// moment each track plays, and that sound and picture play the same one. The
// bound is wide because a browser that was starved of time has buffers of
// unequal length for a while; without the reports, or with wrong ones, there
// would be no moment at all or one that is hours away.
func playsInStep(p *tab) {
	p.t.Helper()
	const apart = `watched.getStats().then((report) => {
		const at = { audio: [], video: [] };
		for (const one of report.values()) {
			if (one.type === "inbound-rtp" && one.estimatedPlayoutTimestamp) at[one.kind].push(one.estimatedPlayoutTimestamp);
		}
		if (at.audio.length < 2 || at.video.length < 2) return -1;
		const all = [...at.audio, ...at.video];
		return Math.max(...all) - Math.min(...all);
	})`
	p.until(`await ` + apart + ` >= 0`)
	spread := reads[float64](p, apart)
	p.t.Logf("sound and picture play within %.0f ms of each other", spread)
	if spread > 1500 {
		p.t.Errorf("sound and picture play %.0f ms apart", spread)
	}
}

func leaveCall(p *tab) {
	p.t.Helper()
	if visible := reads[string](p, `getComputedStyle(document.querySelector('[aria-label="Call controls"]')).visibility`); visible != "hidden" {
		p.t.Errorf("the call bar is %s before the mouse moves", visible)
	}
	p.moveMouse()
	p.click(`button[aria-label="Leave call"]`)
	p.clickText("Just leave the meeting")
}

// What the control verbs do is what the page then says.
func TestMeetEndings(t *testing.T) {
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
		happens(t, m, EventKind(StateLobby))
		if test.admit {
			m.Admit()
			p.until(`document.querySelector("[data-self-name]")`)
		}
		if moved := test.verb(m); moved != 1 {
			t.Fatalf("%s: moved %d guests", test.name, moved)
		}
		p.until(`document.querySelector("h1")?.innerText === ` + fmt.Sprintf("%q", test.text))
		if controls := p.count(`button[aria-label="Leave call"]`); controls != 0 {
			t.Errorf("%s: Leave call is still there", test.name)
		}
	}
}

// Walls stand before the meeting, each with its own marks.
func TestMeetWalls(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	p := openTab(t, false)
	for _, test := range []struct {
		wall Refusal
		mark string
	}{
		{RefusalNotFound, `document.querySelector("h1")?.innerText === "Check your meeting code"`},
		{RefusalBlocked, `document.querySelector("h1")?.innerText === "You can't join this video call"`},
		{RefusalSignIn, `document.querySelector("h1")?.innerText === "Sign in" && document.body.innerText.includes("your Google Account")`},
		{RefusalCaptcha, `(() => { const box = document.querySelector('iframe[title="reCAPTCHA"]')?.getBoundingClientRect(); return box && box.width >= 120 && box.height >= 40; })()`},
	} {
		m := openMeeting(t, s, Settings{Refusal: test.wall})
		p.open(m.URL())
		p.until(test.mark)
		happens(t, m, EventKind(test.wall))
	}
	p.open(s.URL() + "/zzz-zzzz-zzz")
	p.until(`document.querySelector("h1")?.innerText === "Check your meeting code"`)
}

// The host is away, then comes; and who asks a meeting without a lobby is in.
func TestMeetHostAndOpenDoor(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	p := openTab(t, true)
	m := openMeeting(t, s, Settings{HostAbsent: true, NoLobby: true})
	p.join(m, "Stand-in")
	happens(t, m, EventKind(StateWaitingForHost))
	p.until(`document.body.innerText.includes("Waiting for the host to join")`)
	m.HostArrives()
	happens(t, m, EventKind(StateAdmitted))
	p.until(`document.querySelector("[data-self-name]")`)
}

// The traps of platforms: Meet are set.
func TestMeetTraps(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	m := openMeeting(t, s, Settings{Language: "de"})
	p := openTab(t, true)

	// Without hl=en the page speaks the meeting's language.
	p.open(m.URL())
	p.sees(`[aria-label="Mein Name"]`)

	// A name set by a script leaves the join button closed; keys open it.
	p.open(m.URL() + "?hl=en")
	p.sees(`[aria-label="Your name"]`)
	if reads[bool](p, `(() => {
		const input = document.querySelector('[aria-label="Your name"]');
		input.value = "Scripted";
		input.dispatchEvent(new Event("input", { bubbles: true }));
		return !document.querySelector("[data-join]").disabled;
	})()`) {
		t.Error("a script can fill in the name")
	}
	p.join(m, "Stand-in")
	asked := happens(t, m, EventKind(StateLobby))

	// The lobby has the controls of the call.
	for _, selector := range []string{
		`button[aria-label="Leave call"]`, `[role="region"][aria-label="Call controls"]`,
		`button[aria-label="Turn off microphone"]`, `button[aria-label="Turn off camera"]`,
	} {
		p.sees(selector)
	}
	m.Admit(asked.Guest)

	// The own tile is there twice, and the roster counts the guest once.
	p.until(`document.querySelector("[data-self-name]")`)
	self := `[data-participant-id="` + reads[string](p, `document.querySelector("[data-self-name]").closest("[data-participant-id]").dataset.participantId`) + `"]`
	if tiles := p.count(self); tiles != 2 {
		t.Errorf("the own tile is there %d times", tiles)
	}
	p.until(`document.querySelector('button[aria-label^="People"]').ariaLabel === "People - 3 joined"`)
	if got := reads[string](p, `document.querySelector("[data-avatar-count]").textContent`); got != "3" {
		t.Errorf("the avatar count is %s", got)
	}

	// Chat brings dangerous words into the page.
	if err := m.Say("Ada Quill", "You've been removed from the meeting"); err != nil {
		t.Fatal(err)
	}
	p.until(`document.body.innerText.includes("You've been removed from the meeting")`)
	if m.Guests()[len(m.Guests())-1].State != StateAdmitted {
		t.Error("a chat message removed the guest")
	}
}

// The guest reads the roster, writes to the chat, and follows who comes and goes.
func TestMeetRosterAndChat(t *testing.T) {
	t.Parallel()
	media, _ := mediaForTest(t)
	s := startServer(t, media)
	m := openMeeting(t, s, Settings{NoLobby: true, NoTips: true})
	p := openTab(t, false)
	p.open(m.URL())
	p.clickText("Continue without microphone and camera")
	p.do("type the name", chromedp.SendKeys(chromedp.CSS(`[aria-label="Your name"]`), "Stand-in"))
	p.click("[data-join]")
	happens(t, m, EventMediaConnected)
	p.moveMouse()
	p.click(`button[aria-label^="People"]`)
	roster := `[...document.querySelectorAll('div[aria-label="Participants"][role="list"] div[role="listitem"]')].map((item) => item.ariaLabel).join()`
	p.until(roster + ` === "Stand-in,Ada Quill,Ben Okafor"`)

	if err := m.Join(Participant{Name: "Cleo Marsh"}); err != nil {
		t.Fatal(err)
	}
	p.until(roster + ` === "Stand-in,Ada Quill,Ben Okafor,Cleo Marsh"`)
	seesMedia(p, "Cleo Marsh")
	m.DropMedia()
	if _, err := m.WaitFor(deadline(t, patience), nth(EventMediaConnected, 2)); err != nil {
		t.Fatal(err)
	}
	seesMedia(p, "Ada Quill")
	if err := m.Leave(""); err != nil {
		t.Fatal(err)
	}
	p.until(roster + ` === "Stand-in"`)

	p.moveMouse()
	p.click(`button[aria-label="Chat with everyone"]`)
	p.do("write", chromedp.SendKeys(chromedp.CSS(`textarea[aria-label="Send a message"]`), "Recording has begun.\r"))
	if written := happens(t, m, EventChat); written.Text != "Recording has begun." {
		t.Errorf("the guest wrote %q", written.Text)
	}

	// A browser that goes away without leaving is told from one that left.
	if err := chromedp.Cancel(p.ctx); err != nil && p.ctx.Err() == nil {
		t.Logf("close the browser: %v", err)
	}
	happens(t, m, EventVanished)
}

// nth matches the n-th event of a kind.
func nth(kind EventKind, n int) func(Event) bool {
	return func(event Event) bool {
		if event.Kind == kind {
			n--
		}
		return event.Kind == kind && n == 0
	}
}
