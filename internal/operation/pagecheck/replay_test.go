package pagecheck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"standin/internal/bot/capture"
	"standin/internal/bot/meeting"
	"standin/internal/testing/testbrowser"
)

// captures is the folder of captures that TestCaptures replays. Each is a folder
// with the files of a capture, without the screenshot, and a file named expect
// with the value of --expect.
const captures = "testdata/captures"

// TestCaptures replays captures with the embedded profiles: in the short run their
// snapshots, otherwise also their pages. To add one, unpack it into a folder here, remove
// the screenshot, and write the file expect. The tests of package capture write captures of
// the replicas' pages to the folder CAPTURE_OUT.
func TestCaptures(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob(captures + "/*")
	if err != nil || len(folders) < 3 {
		t.Fatalf("%d captures, %v", len(folders), err)
	}
	profiles, err := meeting.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	viewer := new(capture.Viewer) // which restores no page
	if !testing.Short() {
		settings := capture.BrowserSettings{Executable: testbrowser.ForPages(t)}
		testbrowser.Reserve(t)
		if viewer, err = capture.NewViewer(t.Context(), settings); err != nil {
			t.Fatal(err)
		}
		defer viewer.Close()
	}
	for _, folder := range folders {
		expected, err := os.ReadFile(filepath.Join(folder, "expect"))
		if err != nil {
			t.Fatal(err)
		}
		opened, err := capture.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		if testing.Short() {
			opened.Page = nil
		}
		session := captureSession{capture: opened, profile: profiles[opened.Platform], viewer: viewer}
		replay, err := session.replay(t.Context())
		if err != nil {
			t.Errorf("%s: %v", folder, err)
			continue
		}
		if err := replay.Expect(strings.TrimSpace(string(expected))); err != nil {
			t.Errorf("%s: %v", folder, err)
		}
		for i, decision := range opened.Decisions {
			if step := replay.Steps[i]; step.Screen != decision.Screen {
				t.Errorf("%s: step %d is %s, and was %s in the visit", folder, i+1, step.Screen, decision.Screen)
			}
		}
	}
}

// TestReplayOfATextOutside replays a capture with a profile that expects a text of the lobby in a region in which it does not
// stand. The replay says so, and no step of it finds the text.
func TestReplayOfATextOutside(t *testing.T) {
	t.Parallel()
	profile, err := os.ReadFile(filepath.Join("..", "..", "bot", "meeting", "profiles", "teams.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer("\nregions:\n", "\nregions:\n  dialogs: ['#dialogs']\n",
		"\n  hostAbsent:\n", "\n  hostAbsent:\n    - text: [{in: [dialogs], contains: [let you in shortly]}]\n").Replace(string(profile))
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "teams.yaml"), []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := ReplaySettings{File: captures + "/teams-lobby", Profiles: folder, Browser: testbrowser.ForPages(t)}
	testbrowser.Reserve(t)
	replay, err := ReplayCapture(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range replay.Steps {
		if step.Screen == meeting.HostAbsent {
			t.Errorf("step %d of %d is %s", i+1, len(replay.Steps), step.Screen)
		}
	}
	var text strings.Builder
	if err := replay.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	const want = `screens.hostAbsent[0].text[0]: "S Bot Someone will let you in shortly" is on the page, but in none of its regions`
	if !strings.Contains(text.String(), want) {
		t.Errorf("the replay does not say %s:\n%s", want, &text)
	}
}

// TestLearn checks that the renamed join button of a capture is proposed, with a way to
// find it.
func TestLearn(t *testing.T) {
	t.Parallel()
	settings := ReplaySettings{File: captures + "/meet-renamed-join", Browser: testbrowser.ForPages(t)}
	testbrowser.Reserve(t)
	learned, err := Learn(t.Context(), LearnSettings{ReplaySettings: settings})
	if err != nil || len(learned.Missing) != 1 || learned.Missing[0].Element != "joinButton" || len(learned.Missing[0].Proposals) == 0 {
		t.Fatalf("learned %+v, %v", learned, err)
	}
	if best := learned.Missing[0].Proposals[0]; best.Name != "Enter the call" || len(best.Candidates) == 0 || best.Candidates[0].Matches != 1 {
		t.Errorf("the best proposal is %+v", best)
	}
}

// TestExpect checks what --expect accepts.
func TestExpect(t *testing.T) {
	t.Parallel()
	replay := Replay{
		Screen: meeting.PreJoin,
		Elements: []meeting.InspectedElement{
			{Name: "nameInput", State: meeting.ElementVisible}, {Name: "joinButton", State: meeting.ElementMissing},
		},
	}
	for expected, want := range map[string]string{
		"preJoin": "", "preJoin+nameInput": "",
		"lobby": "expected lobby", "preJoin+nameInput+joinButton": "joinButton is missing", "preJoin+button": `no element "button"`,
	} {
		if err := replay.Expect(expected); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", expected, err)
		}
	}
}
