package meeting

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"path"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/replica"
)

// TestShowTexts checks on the replica of each platform that chat and captions are
// read, and that neither is in the picture. On Meet, it chooses a language.
func TestShowTexts(t *testing.T) {
	t.Parallel()
	ctx, running := launchBrowser(t)
	for platform := range replicaPlatforms() {
		t.Run(path.Join(string(platform)), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(ctx, rowTimeout)
			defer cancel()
			testShowTexts(t, newEnv(t, ctx, running, platform))
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
	showing, cancel := context.WithTimeout(s.ctx, 20*time.Second)
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
	if shown := whitePixels(t, s.ctx, page); shown-hidden < 1000 {
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
	s.await(t, page, "captions and no settings", func(seen Observation) bool {
		return seen.CaptionsOn && seen.CloseDialog == nil && len(seen.Captions) == 1
	})
}

// whitePixels counts the white pixels of a page, whose captions are white.
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
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			if r, g, b, _ := picture.At(x, y).RGBA(); r&g&b >= 0xfafa {
				count++
			}
		}
	}
	return count
}
