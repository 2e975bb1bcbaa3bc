package replica

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

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
	p.Until(`document.querySelector("[data-self-name]")`)
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
