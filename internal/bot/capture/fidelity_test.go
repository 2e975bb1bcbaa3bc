package capture

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"standin/internal/bot/browser"
	"standin/internal/bot/meeting"
	"standin/internal/jobs/job"
	"standin/internal/replica"
	"standin/internal/testing/await"
	"standin/internal/testing/replicatest"
	"standin/internal/testing/testbrowser"
)

// TestPages captures pages in a browser and restores them in another one.
func TestPages(t *testing.T) {
	t.Parallel()
	ctx, running := t.Context(), testbrowser.Launch(t, browser.Options{Width: 960, Height: 540})
	viewer := newViewer(t)
	t.Run("hostile", func(t *testing.T) { testHostilePage(t, ctx, running, viewer) })
	testRestoredPages(t, ctx, running, viewer)
}

// testRestoredPages checks that a profile finds the same on a restored page as on
// the live one: on every platform, in the pre-join screen, the lobby and the call,
// and in a frame.
func testRestoredPages(t *testing.T, ctx context.Context, running *browser.Browser, viewer *Viewer) {
	t.Helper()
	for _, platform := range []struct {
		name     job.Platform
		settings replica.Settings
	}{
		{job.Meet, replica.Settings{Platform: replica.Meet}},
		{job.Teams, replica.Settings{Platform: replica.Teams, CookieBanner: true}},
		{job.ZoomWeb, replica.Settings{Platform: replica.Zoom, Framed: true}},
	} {
		t.Run(string(platform.name), func(t *testing.T) {
			opened := replicatest.Open(t, platform.settings)
			profile := profileOf(t, platform.name)
			adapter, err := meeting.New(platform.name, meeting.Profiles{platform.name: profile})
			if err != nil {
				t.Fatal(err)
			}
			address, err := adapter.Address(opened.URL())
			if err != nil {
				t.Fatal(err)
			}
			page := openPage(t, ctx, running, address.URL)
			var log Log
			compare := func(screen meeting.Screen) {
				t.Helper()
				compareRestored(t, page, viewer, profile, Visit{
					Platform: platform.name, Profile: profile, DisplayName: "Standin for Eve", Log: &log,
				}, screen)
			}
			await.Until(t, "the first screen", func() bool {
				snapshot, err := profile.Snapshot(ctx, page)
				return err == nil && len(snapshot.Elements) > 0
			})
			compare("first")
			if err := adapter.Join(ctx, page, meeting.JoinOptions{
				Name: "Standin for Eve", Passcode: address.Passcode, Observed: log.Add,
			}); err != nil {
				t.Fatal(err)
			}
			observe := func(screen meeting.Screen) {
				t.Helper()
				await.Until(t, string(screen), func() bool {
					seen, err := adapter.Observe(ctx, page)
					if err != nil {
						return false
					}
					log.Add(seen)
					if err := adapter.HandleNotices(ctx, page, seen); err != nil {
						t.Log(err)
					}
					return seen.Screen == screen
				})
			}
			observe(meeting.Lobby)
			compare(meeting.Lobby)
			opened.Admit()
			observe(meeting.InMeeting)
			compare(meeting.InMeeting)
		})
	}
}

// compareRestored compares what a profile finds on a live page and on its capture.
func compareRestored(t *testing.T, live *browser.Page, viewer *Viewer, profile *meeting.Profile, visit Visit, screen meeting.Screen) {
	t.Helper()
	ctx := t.Context()
	var before, after meeting.Snapshot
	var made *Capture
	await.Until(t, "a page that does not change", func() bool {
		var err, errAfter error
		before, err = profile.Snapshot(ctx, live)
		made, _ = New(ctx, live, visit, "test")
		after, errAfter = profile.Snapshot(ctx, live)
		return err == nil && errAfter == nil && maps.Equal(before.Elements, after.Elements) && len(made.Page) > 0
	})
	if dir := os.Getenv("CAPTURE_OUT"); dir != "" {
		data, err := made.Encode()
		if err != nil {
			t.Fatal(err)
		}
		os.WriteFile(filepath.Join(dir, string(visit.Platform)+"-"+string(screen)+".zip"), data, 0o600)
	}
	restored, err := viewer.Open(ctx, made)
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	got, err := profile.Snapshot(ctx, restored)
	if err != nil {
		t.Fatal(err)
	}
	// Texts differ by the names in them, and values are hidden.
	essential := func(elements map[string]meeting.VisibleElement) map[string]meeting.VisibleElement {
		all := make(map[string]meeting.VisibleElement)
		for name, one := range elements {
			if one.Text = ""; one.Value != "" {
				one.Value = "x"
			}
			all[name] = one
		}
		return all
	}
	if want, found := essential(before.Elements), essential(got.Elements); !maps.Equal(found, want) {
		t.Errorf("%s: the elements are %+v on the page, and %+v when restored", screen, want, found)
	}
	if !maps.Equal(got.Hidden, before.Hidden) {
		t.Errorf("%s: hidden elements %v on the page, %v when restored", screen, before.Hidden, got.Hidden)
	}
	if !maps.Equal(got.Texts, before.Texts) || got.LobbyText != before.LobbyText {
		t.Errorf("%s: texts %v, %q on the page, %v, %q when restored", screen, before.Texts, before.LobbyText, got.Texts, got.LobbyText)
	}
	if len(got.Tiles) != len(before.Tiles) || len(got.Rows) != len(before.Rows) || len(got.Counts) != len(before.Counts) {
		t.Errorf("%s: %d tiles, %d rows, counts %v on the page; %d, %d, %v when restored",
			screen, len(before.Tiles), len(before.Rows), before.Counts, len(got.Tiles), len(got.Rows), got.Counts)
	}
	if len(made.Accessibility) == 0 {
		t.Errorf("%s: no accessibility tree", screen)
	}
}
