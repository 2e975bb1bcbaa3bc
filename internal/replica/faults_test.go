package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// The methods return the number of affected guests.
func TestDisturbances(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	m := openMeeting(t, s, Settings{NoLobby: true})
	id := visitor(t, m)
	offline := func() bool { return m.Guests()[0].Offline }
	for _, step := range []struct {
		name   string
		verb   func() int
		moved  int
		result func() bool
	}{
		{"disconnect", func() int { return m.Disconnect(id) }, 1, offline},
		{"disconnect again", func() int { return m.Disconnect() }, 0, offline},
		{"reconnect another", func() int { return m.Reconnect("g9") }, 0, offline},
		{"reconnect", func() int { return m.Reconnect() }, 1, func() bool { return !offline() }},
		{"reload", func() int { return m.Reload() }, 1, func() bool { return m.guests[0].commands.Reload == 1 }},
		{"freeze", func() int { return m.Freeze() }, 1, func() bool { return m.guests[0].commands.Freeze == 1 }},
		{"answer nobody", func() int { return m.AnswerPermission(true) }, 0, func() bool { return m.Guests()[0].Permission == PermissionNone }},
	} {
		if moved := step.verb(); moved != step.moved || !step.result() {
			t.Errorf("%s: %d moved, want %d, and its effect is there: %t", step.name, moved, step.moved, step.result())
		}
	}
	for _, address := range []string{"", "about:blank", "file:///etc/passwd", "http:", "::"} {
		if _, err := m.NavigateAway(address); !errors.Is(err, ErrNotNow) {
			t.Errorf("wander to %q: %v", address, err)
		}
	}
	for kind, want := range map[EventKind]int{EventDisconnected: 1, EventReconnected: 1, EventReloading: 1} {
		if got := countOf(m, kind); got != want {
			t.Errorf("%d events %s, want %d", got, kind, want)
		}
	}
}

func countOf(m *Meeting, kind EventKind) (count int) {
	for _, event := range m.Events() {
		if event.Kind == kind {
			count++
		}
	}
	return count
}

// A disconnected guest can only leave.
func TestOfflineGuestsAreMuted(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	m := openMeeting(t, s, Settings{NoLobby: true})
	id := visitor(t, m)
	snapshot, _, err := m.snapshotFor(id)
	if err != nil {
		t.Fatal(err)
	}
	m.Disconnect()
	for name, err := range map[string]error{
		"chat":  m.sendChat(id, "hello"),
		"pin":   m.pin(id, snapshot.Participants[0].ID),
		"media": func() error { _, _, err := m.connect(t.Context(), id, offer{}); return err }(),
	} {
		if !errors.Is(err, ErrNotNow) {
			t.Errorf("%s while offline: %v", name, err)
		}
	}
	if err := m.leave(id); err != nil {
		t.Errorf("leave while offline: %v", err)
	}
	if m.Guests()[0].Offline {
		t.Error("a guest that left is still offline")
	}
}

func TestPinsNameWhomTheyPin(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	m := openMeeting(t, s, Settings{NoLobby: true})
	id := visitor(t, m)
	snapshot, _, err := m.snapshotFor(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.pin(id, snapshot.Participants[1].ID); err != nil {
		t.Fatal(err)
	}
	if pinned := waitForEvent(t, m, EventPinned); pinned.Text != "Ben Okafor" || pinned.Guest != id {
		t.Errorf("pinned %+v", pinned)
	}
	if err := m.pin(id, "p99"); !errors.Is(err, ErrNoSuchParticipant) {
		t.Errorf("pin nobody: %v", err)
	}
}

// Platforms handle passcodes differently.
func TestPasscodes(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	for _, test := range []struct {
		name             string
		platform         Platform
		inAddress, typed string
		need             passcodeNeed
		state            State
	}{
		{"in the address", Teams, "sesame", "", passcodeSettled, StateLobby},
		{"wrong in the address", Teams, "salt", "", passcodeSettled, StateNotFound},
		{"missing", Teams, "", "", passcodeNeeded, StatePreJoin},
		{"typed", Teams, "", "sesame", passcodeSettled, StateLobby},
		{"wrongly typed", Teams, "", "salt", passcodeNeeded, StateNotFound},
		{"Zoom, in the address", Zoom, "sesame", "", passcodeSettled, StateLobby},
		{"Zoom, wrong in the address", Zoom, "salt", "", passcodeWrong, StatePreJoin},
		{"Zoom, corrected", Zoom, "salt", "sesame", passcodeSettled, StateLobby},
		{"Zoom, wrongly typed", Zoom, "", "salt", passcodeWrong, StatePreJoin},
	} {
		m := openMeeting(t, s, Settings{Platform: test.platform, Passcode: "sesame"})
		id, err := m.addGuest(arrivingPage{passcode: test.inAddress})
		if err != nil {
			t.Fatal(err)
		}
		// Without the passcode, joining fails.
		if err := m.requestJoin(id, "Stand-in", test.typed); err != nil && !errors.Is(err, ErrNotNow) {
			t.Errorf("%s: %v", test.name, err)
		}
		snapshot, _, err := m.snapshotFor(id)
		if err != nil {
			t.Fatal(err)
		}
		if snapshot.State != test.state || snapshot.Passcode != test.need {
			t.Errorf("%s: state %s and passcode %q, want %s and %q", test.name, snapshot.State, snapshot.Passcode, test.state, test.need)
		}
	}
}

// Only Zoom has requests to record.
func TestPermission(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	m := openMeeting(t, s, Settings{Platform: Zoom, NoLobby: true})
	id := visitor(t, m)
	stand := func() Permission { return m.Guests()[0].Permission }
	for _, answer := range []struct {
		granted bool
		want    Permission
	}{{false, PermissionDenied}, {true, PermissionGranted}} {
		if err := m.requestPermission(id); err != nil || stand() != PermissionAsked {
			t.Fatalf("asked: %v, %q", err, stand())
		}
		if err := m.requestPermission(id); !errors.Is(err, ErrNotNow) {
			t.Errorf("asked twice: %v", err)
		}
		if moved := m.AnswerPermission(answer.granted); moved != 1 || stand() != answer.want {
			t.Errorf("answered %d, now %q, want %q", moved, stand(), answer.want)
		}
	}
	if asked := countOf(m, EventPermissionAsked); asked != 2 {
		t.Errorf("%d events of asking", asked)
	}
	elsewhere := openMeeting(t, s, Settings{NoLobby: true})
	if err := elsewhere.requestPermission(visitor(t, elsewhere)); !errors.Is(err, ErrNotNow) {
		t.Errorf("asked on Meet: %v", err)
	}
}

// With NeverLoads, the request hangs until the client cancels it, and other requests
// succeed.
func TestNeverLoads(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	hangs := openMeeting(t, s, Settings{Platform: Teams, NeverLoads: true})
	loads := openMeeting(t, s, Settings{Platform: Teams})
	fetch := func(ctx context.Context, url string) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		_, err = io.Copy(io.Discard, response.Body)
		return err
	}
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := fetch(short, hangs.URL()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the document came, or failed otherwise: %v", err)
	}
	if err := fetch(t.Context(), loads.URL()); err != nil {
		t.Errorf("the other document: %v", err)
	}
}

// A disconnected page shows that and has no media until it is reconnected.
func TestMeetOfflineAndSilence(t *testing.T) {
	t.Parallel()
	media, _ := mediaForTest(t)
	s := startServer(t, media)
	m := openMeeting(t, s, Settings{NoLobby: true, NoTips: true, Participants: []Participant{{Name: "Ada Quill", Beeps: true}}})
	p := openTab(t, true)
	p.join(m, "Stand-in")
	waitForEvent(t, m, EventMediaConnected)

	m.Disconnect()
	waitForEvent(t, m, EventMediaLost)
	p.waitForText("You lost your network connection. Trying to reconnect")
	if p.count("[data-self-name]") != 1 {
		t.Error("the call is gone from the page")
	}
	m.Reconnect()
	if _, err := m.WaitFor(deadline(t, waitTimeout), nth(EventMediaConnected, 2)); err != nil {
		t.Fatal(err)
	}
	requireMedia(p, "Ada Quill")
	p.waitUntil(`document.getElementById("offline").hidden`)

	// With SetSilent, the audio is silent, without beeps.
	const received = `document.querySelector("audio").currentTime`
	before := evalAs[float64](p, received)
	m.SetSilent(true)
	p.waitUntil(`await ` + loudest + ` < 0.001`)
	p.waitUntil(received + ` > ` + fmt.Sprint(before+3))
	if muted := evalAs[bool](p, `document.querySelector("audio").srcObject.getAudioTracks()[0].muted`); muted {
		t.Error("silence is no sound at all")
	}
	m.SetSilent(false)
	p.waitUntil(`await ` + loudest + ` > 0.02`)
}

// loudest returns the peak of 2.5 seconds.
const loudest = `(async () => {
	let peak = 0;
	for (let i = 0; i < 10; i++) {
		await new Promise((resolve) => setTimeout(resolve, 250));
		peak = Math.max(peak, window.loudness());
	}
	return peak;
})()`

// Pages reload, navigate away and hang on command.
func TestPageDoesAsTold(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	m := openMeeting(t, s, Settings{NoLobby: true, NoTips: true, PageDelay: time.Second})
	p := openTab(t, true)
	p.open(m.URL() + "?hl=en")
	waitForEvent(t, m, EventOpened)
	p.waitVisible(`[aria-label="Your name"]`)
	if shown := evalAs[float64](p, `performance.now()`); shown < 1000 {
		t.Errorf("the slow page shows itself after %.0f ms", shown)
	}
	p.do("type the name", chromedp.SendKeys(chromedp.CSS(`[aria-label="Your name"]`), "Stand-in"))
	p.click("[data-join]")
	waitForEvent(t, m, EventKind(StateAdmitted))

	if moved := m.Reload(); moved != 1 {
		t.Fatalf("%d reload", moved)
	}
	waitForEvent(t, m, EventVanished)
	second, err := m.WaitFor(deadline(t, waitTimeout), nth(EventOpened, 2))
	if err != nil {
		t.Fatal(err)
	}
	p.waitVisible(`[aria-label="Your name"]`)

	other := openMeeting(t, s, Settings{})
	if moved, err := m.NavigateAway(other.URL(), second.Guest); moved != 1 || err != nil {
		t.Fatalf("%d wander: %v", moved, err)
	}
	arrived := waitForEvent(t, other, EventOpened)
	p.waitVisible(`[aria-label="Your name"]`)

	if moved := other.Freeze(arrived.Guest); moved != 1 {
		t.Fatalf("%d freeze", moved)
	}
	// A page that hangs does not respond.
	limit := deadline(t, waitTimeout)
	for answered := true; answered; {
		if limit.Err() != nil {
			t.Fatal("the page never hung")
		}
		ctx, cancel := context.WithTimeout(p.ctx, 2*time.Second)
		_, err := chromedp.Run(ctx, chromedp.Evaluate[int]("1"))
		answered = err == nil
		cancel()
	}
	if other.Guests()[0].Vanished {
		t.Error("a page that hangs is taken for one that went")
	}
}

// The attempts of a hostile page reach the trap server if nothing blocks them, and the
// page keeps working.
func TestHostilePage(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	m := openMeeting(t, s, Settings{Hostile: true, NoLobby: true})
	p := openTab(t, true)
	p.join(m, "Stand-in")
	waitForEvent(t, m, EventKind(StateAdmitted))
	probed := waitForEvent(t, m, EventProbeFinished)
	for _, target := range []string{"fetch 127.0.0.1:", "img localhost:", "websocket 127.0.0.1:", "iframe localhost:"} {
		if !strings.Contains(probed.Text, target) {
			t.Errorf("the page did not try %q: %s", target, probed.Text)
		}
	}
	for _, by := range []string{"fetch", "img", "websocket", "iframe"} {
		reached := func(event Event) bool {
			return event.Kind == EventTrapReached && strings.HasPrefix(event.Text, by+" 127.0.0.1:")
		}
		if _, err := m.WaitFor(deadline(t, waitTimeout), reached); err != nil {
			t.Errorf("by %s: %v", by, err)
		}
	}
	p.waitUntil(`document.querySelector("[data-self-name]")`)
	if moved, err := m.NavigateAway(m.TrapURL()); moved != 1 || err != nil {
		t.Fatalf("%d wander: %v", moved, err)
	}
	navigated := func(event Event) bool {
		return event.Kind == EventTrapReached && strings.HasPrefix(event.Text, "wander ")
	}
	if _, err := m.WaitFor(deadline(t, waitTimeout), navigated); err != nil {
		t.Error(err)
	}
	if harmless := openMeeting(t, s, Settings{}); harmless.TrapURL() != "" {
		t.Error("a meeting that is not hostile has a trap")
	}
}
