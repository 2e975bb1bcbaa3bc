package pagecheck

import (
	"archive/zip"
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/capture"
	"standin/internal/bot/meeting"
	"standin/internal/job"
	"standin/internal/replica"
	"standin/internal/testing/testbrowser"
)

var update = flag.Bool("update", false, "capture the replicas' pages again, to testdata/captures")

// captures is the folder of captures that TestCaptures replays. Each is a folder
// with the files of a capture, without the screenshot, and a file named expect
// with the value of --expect.
const captures = "testdata/captures"

// TestCaptures replays captures with the embedded profiles. To add one, unpack it
// into a folder here, remove the screenshot, and write the file expect.
func TestCaptures(t *testing.T) {
	t.Parallel()
	needTools(t)
	folders, err := filepath.Glob(captures + "/*")
	if err != nil || len(folders) < 3 {
		t.Fatalf("%d captures, %v", len(folders), err)
	}
	profiles, err := meeting.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	viewer, err := capture.NewViewer(limited(t), capture.BrowserSettings{Executable: testbrowser.ForPages(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer viewer.Close()
	for _, folder := range folders {
		expected, err := os.ReadFile(filepath.Join(folder, "expect"))
		if err != nil {
			t.Fatal(err)
		}
		opened, err := capture.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		session := captureSession{capture: opened, profile: profiles[opened.Platform], viewer: viewer}
		replay, err := session.replay(limited(t))
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

// TestExpect checks what --expect accepts.
func TestExpect(t *testing.T) {
	t.Parallel()
	replay := Replay{Screen: meeting.PreJoin, Elements: []meeting.InspectedElement{{Name: "nameInput", State: meeting.ElementVisible}, {Name: "joinButton", State: meeting.ElementMissing}}}
	for expected, want := range map[string]string{
		"preJoin": "", "preJoin+nameInput": "",
		"lobby": "expected lobby", "preJoin+nameInput+joinButton": "joinButton is missing", "preJoin+button": `no element "button"`,
	} {
		if err := replay.Expect(expected); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", expected, err)
		}
	}
}

// TestUpdateCaptures captures pages of the replicas, with -update.
func TestUpdateCaptures(t *testing.T) {
	if !*update {
		t.Skip("captures are only made with -update")
	}
	ctx, running := limited(t), launchBrowser(t)
	for _, page := range []struct {
		name     string
		platform job.Platform
		settings replica.Settings
		admit    bool
	}{
		{"meet-renamed-join", job.Meet, replica.Settings{Platform: replica.Meet, JoinLabel: "Enter the call"}, false},
		{"teams-lobby", job.Teams, replica.Settings{Platform: replica.Teams}, false},
		{"zoom-web-framed-call", job.ZoomWeb, replica.Settings{Platform: replica.Zoom, Framed: true}, true},
	} {
		server, err := replica.Start(context.WithoutCancel(t.Context()), replica.Options{})
		if err != nil {
			t.Fatal(err)
		}
		opened, err := server.Open(page.settings)
		if err != nil {
			t.Fatal(err)
		}
		made := visit(ctx, t, running, opened, page.platform, page.admit)
		unpack(t, made, filepath.Join(captures, page.name))
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}

// visit joins a meeting and captures the page that it leads to.
func visit(ctx context.Context, t *testing.T, running *browser.Browser, opened *replica.Meeting, platform job.Platform, admit bool) *capture.Capture {
	t.Helper()
	profiles, err := meeting.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	adapter, err := meeting.New(platform, profiles)
	if err != nil {
		t.Fatal(err)
	}
	address, err := adapter.Address(opened.URL())
	if err != nil {
		t.Fatal(err)
	}
	page, err := open(ctx, running, address.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close()
	var log capture.Log
	joining, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	joinErr := adapter.Join(joining, page, meeting.JoinOptions{Name: "Standin for Eve", Passcode: address.Passcode, Observed: log.Add})
	reason := "the page was captured for a test"
	if joinErr != nil {
		reason = joinErr.Error()
	}
	wanted := meeting.Lobby
	if admit {
		opened.Admit()
		wanted = meeting.InMeeting
	}
	for joinErr == nil {
		seen, err := adapter.Observe(ctx, page)
		if err != nil {
			t.Fatal(err)
		}
		if log.Add(seen); seen.Screen == wanted {
			break
		}
		if err := adapter.HandleNotices(ctx, page, seen); err != nil {
			t.Fatal(err)
		}
	}
	made, _ := capture.New(ctx, page, capture.Visit{
		Version: "test", Platform: platform, Profile: profiles[platform], DisplayName: "Standin for Eve", Log: &log,
	}, reason)
	return made
}

// unpack writes the files of a capture, without the screenshot, to a folder.
func unpack(t *testing.T, made *capture.Capture, folder string) {
	t.Helper()
	made.Screenshot = nil
	data, err := made.Encode()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	for _, file := range archive.File {
		from, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, file.Name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// launchBrowser starts a browser like a bot's for the replicas.
func launchBrowser(t *testing.T) *browser.Browser {
	t.Helper()
	running, err := browser.Launch(limited(t), browser.Options{Executable: testbrowser.ForPages(t), LoopbackPeers: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Error(err)
		}
	})
	return running
}
