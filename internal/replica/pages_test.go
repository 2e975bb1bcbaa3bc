package replica

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"standin/internal/testing/testbrowser"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// The bot's visits (TestPlatforms of package meeting) show what the pages do in a meeting:
// states, refusals, passcodes, dialogs, rosters, chats and pins. The tests here show what
// bots do not notice, or must not.

// A guest is admitted from the lobby, receives media and leaves with the button.
func TestFromNameToLeave(t *testing.T) {
	t.Parallel()
	media, _ := mediaForTest(t)
	s := startServer(t, media)
	m := openMeeting(t, s, Settings{Notices: []Notice{NoticeRecorded}})
	p := openTab(t, true)

	p.Open(m.URL())
	waitForEvent(t, m, EventOpened)
	p.waitVisible(`input[type="text"][aria-label="Your name"]`)
	p.Click(`button[aria-label="Turn off microphone"]`)
	p.Click(`button[aria-label="Turn on microphone"]`) // which the page has stopped
	p.Click(`button[aria-label="Turn off microphone"]`)
	p.Click(`button[aria-label="Turn off camera"]`)
	p.waitVisible(`button[aria-label="Turn on microphone"]`)
	if !testbrowser.Eval[bool](p.Tab, `document.querySelector("[data-join]").disabled`) {
		t.Error("one can join without a name")
	}
	p.Do("type the name", chromedp.SendKeys(chromedp.CSS(`[aria-label="Your name"]`), "Stand-in"))
	watchConnection(p)
	p.Click("[data-join]")
	waitForEvent(t, m, EventKind(StateLobby))
	p.waitVisible(`button[aria-label="Leave call"]`)
	p.waitVisible(`[role="region"][aria-label="Call controls"]`) // as in the call
	if p.count("[data-participant-id]")+p.count(`button[aria-label="Turn on captions"]`) != 0 {
		t.Error("the lobby shows what only the meeting has")
	}

	if moved := m.Admit(); moved != 1 {
		t.Fatalf("admitted %d guests", moved)
	}
	waitForEvent(t, m, EventMediaConnected)
	p.Click(`div[aria-modal="true"][role="dialog"] button[data-mdc-dialog-action="ok"]`)
	waitForEvent(t, m, EventNoticeAccepted)
	requireMedia(p, "Ada Quill")
	requireMedia(p, "Ben Okafor")
	playsInStep(p)
	self := `[data-participant-id="` + testbrowser.Eval[string](p.Tab,
		`document.querySelector("[data-self-name]").closest("[data-participant-id]").dataset.participantId`) + `"]`
	if tiles := p.count(self); tiles != 2 {
		t.Errorf("the own tile is there %d times", tiles)
	}

	if visible := testbrowser.Eval[string](p.Tab,
		`getComputedStyle(document.querySelector('[aria-label="Call controls"]')).visibility`); visible != "hidden" {
		t.Errorf("the call bar is %s before the mouse moves", visible)
	}
	p.moveMouse()
	p.Click(`button[aria-label="Leave call"]`)
	p.ClickText("Just leave the meeting")
	waitForEvent(t, m, EventKind(StateLeft))
	p.AwaitText("You left the meeting")
	guest := m.Guests()[0]
	if guest.Name != "Stand-in" || guest.State != StateLeft || guest.Vanished || guest.Microphone || guest.Camera {
		t.Errorf("the guest is %+v", guest)
	}
}

// requireMedia requires that a participant's video plays at full size and that the
// audio is not silent.
func requireMedia(p *tab, name string) {
	p.Helper()
	tile := `[...document.querySelectorAll("[data-participant-id]")].find((tile) => tile.querySelector("video") && tile.querySelector(".name").textContent === "` + name + `")`
	playsMedia(p, tile)
}

// watchConnection stores the page's peer connection, for its statistics.
func watchConnection(p *tab) {
	p.Helper()
	testbrowser.Eval[bool](p.Tab, `(() => {
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
	p.Helper()
	const interval = `watched.getStats().then((report) => {
		const at = { audio: [], video: [] };
		for (const one of report.values()) {
			if (one.type === "inbound-rtp" && one.estimatedPlayoutTimestamp) at[one.kind].push(one.estimatedPlayoutTimestamp);
		}
		if (at.audio.length < 2 || at.video.length < 2) return -1;
		const all = [...at.audio, ...at.video];
		return Math.max(...all) - Math.min(...all);
	})`
	p.Until(`await ` + interval + ` >= 0`)
	if spread := testbrowser.Eval[float64](p.Tab, interval); spread > 1500 {
		p.Errorf("sound and picture play %.0f ms apart", spread)
	}
}

// Each platform's form is in the meeting's language and cannot be filled in by a script.
// An address without a meeting has a page of its own, and so has a meeting for those who
// are signed in.
func TestForms(t *testing.T) {
	t.Parallel()
	p := openTab(t, true)
	s := startServer(t, nil)
	for _, c := range []struct {
		platform      Platform
		name, join    string // selectors
		german        string // label of the join button
		unknown, says string
	}{
		{Meet, `[aria-label="Your name"]`, "[data-join]", "Teilnahme anfragen", "/zzz-zzzz-zzz", "Check your meeting code"},
		{Teams, `[data-tid="prejoin-display-name-input"]`, `[data-tid="prejoin-join-button"]`, "Jetzt teilnehmen", "/v2/?meetingjoin=true#/meet/999999999999", "Looks like the meeting URL is incorrect"},
		{Zoom, "#input-for-name", "button.preview-join-button", "Beitreten", "/j/9876543210", "This meeting link is invalid (3,001)"},
	} {
		usual := Settings{Platform: c.platform, NoLauncher: c.platform != Meet}
		german, signedIn := usual, usual
		german.Language = "de"
		p.Open(openMeeting(t, s, german).URL())
		p.AwaitText(c.german)

		p.Open(openMeeting(t, s, usual).URL())
		p.waitVisible(c.name)
		if testbrowser.Eval[bool](p.Tab, fmt.Sprintf(`(() => {
			const input = document.querySelector('%s');
			input.value = "Scripted";
			input.dispatchEvent(new Event("input", { bubbles: true }));
			return !document.querySelector('%s').disabled;
		})()`, c.name, c.join)) {
			t.Errorf("%s: a script can fill in the name", c.platform)
		}

		p.Open(s.URL() + c.unknown)
		p.AwaitText(c.says)

		signedIn.Refusal, signedIn.SignInCookie = RefusalSignIn, true
		address := openMeeting(t, s, signedIn).URL()
		p.Open(address)
		p.AwaitText("Sign in")
		testbrowser.Eval[bool](p.Tab, `(() => { document.cookie = "session=signed-in; path=/"; return true; })()`)
		p.Open(address)
		p.waitVisible(c.name)
		testbrowser.Eval[bool](p.Tab, `(() => { document.cookie = "session=; path=/; max-age=0"; return true; })()`)
	}
}

// Every form of a Teams URL opens the meeting.
func TestTeamsAddresses(t *testing.T) {
	t.Parallel()
	p := openTab(t, true)
	s := startServer(t, nil)
	m := openMeeting(t, s, Settings{Platform: Teams, Passcode: "pass"})
	form := "/meet/" + m.Code() + "?p=pass"
	coordinates := base64.StdEncoding.EncodeToString([]byte(`{"meetingCode":"` + m.Code() + `","passcode":"pass"}`))
	for i, test := range []struct {
		address  string
		launcher bool
	}{
		{form, true},
		{"/l/meetup-join/19%3ameeting_" + m.Code() +
			"%40thread.v2/0?context=%7b%22Tid%22%3a%2200000000-0000-0000-0000-000000000001%22%7d&p=pass", true},
		{"/dl/launcher/launcher.html?url=" + url.QueryEscape(url.QueryEscape("/_#"+form)), true},
		{"/v2/?meetingjoin=true#" + form, false},
		{"/light-meetings/launch?coords=" + url.QueryEscape(coordinates), false},
	} {
		p.Open(s.URL()) // or the same address again would load nothing
		p.Open(s.URL() + test.address)
		if test.launcher {
			p.Click(`[aria-label="Join meeting from this browser"]`)
		}
		p.waitVisible(`[data-tid="prejoin-display-name-input"]`)
		if _, err := m.WaitFor(p.Ctx, nth(EventOpened, i+1)); err != nil {
			t.Fatalf("%s: %v", test.address, err)
		}
	}
}

// Zoom's cookie banner covers the bottom of the launcher, and the link to the web client
// appears only after an attempt to start the app.
func TestZoomLauncher(t *testing.T) {
	t.Parallel()
	p := openTab(t, true)
	m := openMeeting(t, startServer(t, nil), Settings{Platform: Zoom, Passcode: "s3cret", CookieBanner: true})
	// Pages must not start external programs: Chromium would show a dialog, and the page
	// would receive no mouse and key events.
	if _, err := chromedp.Call(p.Ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `navigation.addEventListener("navigate", (event) => {
			if (event.destination.url.startsWith("http")) return;
			event.preventDefault();
			window.program = event.destination.url;
		});`,
	}); err != nil {
		t.Fatal(err)
	}
	p.Open(m.URL() + "&tk=token")
	p.waitVisible("#onetrust-accept-btn-handler")
	if p.count("[data-browser]:not([hidden])") != 0 {
		t.Error("the way to the web client is there from the start")
	}
	p.Click(".launch")
	p.waitVisible("[data-browser] a")
	if program := testbrowser.Eval[string](p.Tab, `window.program`); !strings.HasPrefix(program, "zoommtg://") {
		t.Errorf("the launcher started %q", program)
	}
	const covered = `(() => {
		const box = document.querySelector("[data-browser] a").getBoundingClientRect();
		const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
		return top.closest("#onetrust-banner-sdk") !== null;
	})()`
	if !testbrowser.Eval[bool](p.Tab, covered) {
		t.Error("the cookie banner leaves the way to the web client free")
	}
	p.Click("#onetrust-accept-btn-handler")
	p.Click("[data-browser] a")
	p.waitVisible("#input-for-name")
	if address := testbrowser.Eval[string](p.Tab, `location.pathname + location.search`); address != "/wc/"+m.Code()+"/join?pwd=s3cret&tk=token" {
		t.Errorf("the launcher leads to %s", address)
	}
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
