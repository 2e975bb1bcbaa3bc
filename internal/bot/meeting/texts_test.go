package meeting

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"path"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/job"
	"standin/internal/replica"
)

// TestShowTexts checks on the replica of each platform that chat and captions are
// read, and that neither is in the picture. On Meet, it chooses a language.
func TestShowTexts(t *testing.T) {
	t.Parallel()
	ctx, running := launchBrowser(t)
	pages := newPagePool(running)
	for platform := range replicaPlatforms() {
		t.Run(path.Join(string(platform)), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(ctx, rowTimeout)
			defer cancel()
			testShowTexts(t, newEnv(t, ctx, pages, platform))
		})
	}
}

func testShowTexts(t *testing.T, s env) {
	meeting, page := s.inside(t, replica.Settings{NoTips: true})
	options := TextOptions{Chat: true, Captions: true, Language: "de"}
	spoken := "" // language of the caption; other pages show every language
	if s.replicaPlatform == replica.Meet {
		spoken = "de-DE"
	}
	if _, err := meeting.AddCaptionIn(spoken, "Ada Quill", "This is what was said."); err != nil {
		t.Fatal(err)
	}
	if err := meeting.Say("Ben Okafor", "This is what was written."); err != nil {
		t.Fatal(err)
	}
	showing, cancel := context.WithTimeout(s.ctx, time.Minute)
	defer cancel()
	for range 2 { // the second call changes nothing
		if err := s.site.ShowTexts(showing, page, options); err != nil {
			s.report(t, page)
			t.Fatal(err)
		}
	}
	seen := s.await(t, page, "chat and captions", func(seen Observation) bool { return len(seen.Captions) > 0 && len(seen.Chat) > 0 })
	author := "Ada Quill"
	if s.replicaPlatform == replica.Zoom {
		author = ""
	}
	if got := seen.Captions[0]; got.Author != author || got.Text != "This is what was said." || !seen.CaptionsOn || !seen.ChatOpen {
		t.Errorf("captions %+v, on %v, chat open %v", seen.Captions, seen.CaptionsOn, seen.ChatOpen)
	}
	if s.replicaPlatform == replica.Meet {
		s.testMissingLanguage(t, page)
	}
	s.testClosedChat(t, meeting, page, options)
	hidden := whitePixels(t, s.ctx, page)
	if err := page.Eval(s.ctx, hideScript+`("")`, nil); err != nil {
		t.Fatal(err)
	}
	if shown := whitePixels(t, s.ctx, page); shown-hidden < 250 {
		t.Errorf("%d white pixels with the captions hidden, %d with them shown", hidden, shown)
	}
}

// testClosedChat writes a message while the chat is closed. It is read once the
// chat is open again.
func (s env) testClosedChat(t *testing.T, meeting *replica.Meeting, page *browser.Page, options TextOptions) {
	t.Helper()
	if err := s.site.closeChat(s.ctx, page); err != nil {
		t.Fatal(err)
	}
	if err := meeting.Say("Ben Okafor", "Nobody shows this."); err != nil {
		t.Fatal(err)
	}
	s.await(t, page, "a closed chat", func(seen Observation) bool { return !seen.ChatOpen })
	if err := s.site.ShowTexts(s.ctx, page, options); err != nil {
		t.Fatal(err)
	}
	s.await(t, page, "both messages", func(seen Observation) bool {
		return len(seen.Chat) == 2 && seen.Chat[1].Text == "Nobody shows this."
	})
}

// TestCaptionsWithoutLanguage turns on the captions of Meet in a small window. The
// settings stay closed until a language is wanted.
func TestCaptionsWithoutLanguage(t *testing.T) {
	t.Parallel()
	ctx, running := launchSmallBrowser(t)
	s := newEnv(t, ctx, newPagePool(running), job.Meet)
	_, page := s.inside(t, replica.Settings{})
	if err := page.EvalInPage(ctx, `document.querySelector("[data-more]").addEventListener("click", () => window.opened = true)`, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.site.ShowTexts(ctx, page, TextOptions{Chat: true, Captions: true}); err != nil {
		t.Fatal(err)
	}
	opened := false
	if err := page.EvalInPage(ctx, "window.opened === true", &opened); err != nil || opened {
		t.Errorf("the settings were opened: %v, %v", opened, err)
	}
	if seen := s.await(t, page, "captions", func(seen Observation) bool { return seen.CaptionsOn }); !seen.ChatOpen {
		t.Error("the chat is closed")
	}
	if err := s.site.chooseLanguage(ctx, page, "de"); err != nil {
		t.Errorf("choose a language: %v", err)
	}
}

// TestLanguageSteps checks that each element is pressed once, and that one that
// does not appear is waited for only for the timeout.
func TestLanguageSteps(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for _, row := range []struct {
		visible string
		pressed int
		waited  time.Duration
		want    int
		failure string
	}{
		{visible: "more", want: 0},
		{visible: "item", want: 1},
		{visible: "more", pressed: 1, waited: time.Second, want: -1},
		{visible: "more", pressed: 1, waited: 2 * time.Second, want: -1, failure: "the page does not show the element item"},
		{visible: "item", pressed: 1, waited: 2 * time.Second, want: 1},
		{visible: "item", pressed: 2, waited: 2 * time.Second, want: -1, failure: "the page does not show the list of languages"},
	} {
		steps := languageSteps{open: []string{"more", "item"}, timeout: 2 * time.Second, pressed: row.pressed, at: start}
		got, err := steps.next(Snapshot{Elements: map[string]VisibleElement{row.visible: {}}}, start.Add(row.waited))
		if failure := fmt.Sprint(err); got != row.want || (err != nil) != (row.failure != "") || err != nil && failure != row.failure {
			t.Errorf("%+v: got %d, %v", row, got, err)
		}
	}
}

// testMissingLanguage wants a language that the page does not list, and one with
// another region. The captions stay as they are, and the settings are closed.
func (s env) testMissingLanguage(t *testing.T, page *browser.Page) {
	t.Helper()
	for _, language := range []string{"fi", "de-AT"} {
		missing := (*LanguageError)(nil)
		if err := s.site.chooseLanguage(s.ctx, page, language); !errors.As(err, &missing) || missing.Language != language {
			t.Errorf("the language %s: %v", language, err)
		}
	}
	if err := s.site.click(s.ctx, page, "moreOptions"); err != nil {
		t.Fatal(err)
	}
	if err := s.site.closeSettings(s.ctx, page); err != nil { // when only the menu opened
		t.Fatal(err)
	}
	if snapshot, err := s.site.probe.snapshot(s.ctx, page); err != nil || snapshot.Visible("settingsItem") {
		t.Errorf("the menu is open: %v, %v", snapshot.Elements, err)
	}
	s.await(t, page, "captions and no settings", func(seen Observation) bool {
		return seen.CaptionsOn && seen.CloseDialog == nil && len(seen.Captions) == 1
	})
}

// whitePixels counts the white pixels of a page, whose captions are white, in every second
// row and column.
func whitePixels(t *testing.T, ctx context.Context, page *browser.Page) (count int) {
	t.Helper()
	encoded, err := page.Screenshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	bounds := picture.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y += 2 {
		for x := bounds.Min.X; x < bounds.Max.X; x += 2 {
			if r, g, b, _ := picture.At(x, y).RGBA(); r&g&b >= 0xfafa {
				count++
			}
		}
	}
	return count
}
