package meeting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/replica"
)

// textsRows checks that chat and captions are read, and that neither is in the picture.
// On Meet, they choose a language, and the settings stay closed until one is wanted.
func textsRows(platform replica.Platform) []row {
	rows := []row{{"", testShowTexts}}
	if platform != replica.Meet {
		return rows
	}
	return append(rows, row{"without a language", func(t *testing.T, s env) {
		_, page := s.inside(t, replica.Settings{})
		opened := false
		err := page.EvalInPage(s.ctx, `document.querySelector("[data-more]").addEventListener("click", () => window.opened = true)`, nil)
		if err == nil {
			err = s.site.ShowTexts(s.ctx, page, TextOptions{Chat: true, Captions: true})
		}
		if err == nil {
			err = page.EvalInPage(s.ctx, "window.opened === true", &opened)
		}
		if err != nil || opened {
			t.Errorf("the settings were opened: %v, %v", opened, err)
		}
		if seen := s.await(t, page, "captions", func(seen Observation) bool { return seen.CaptionsOn }); !seen.ChatOpen {
			t.Error("the chat is closed")
		}
	}})
}

func testShowTexts(t *testing.T, s env) {
	meeting, page := s.inside(t, replica.Settings{NoTips: true})
	options := TextOptions{Chat: true, Captions: true, Language: "de"}
	spoken := "" // language of the caption; other pages show every language
	if s.replicaPlatform == replica.Meet {
		spoken = "de-DE"
	}
	showing, cancel := context.WithTimeout(s.ctx, time.Minute)
	defer cancel()
	if _, err := meeting.AddCaptionIn(spoken, "Ada Quill", "This is what was said."); err != nil {
		t.Fatal(err)
	}
	if err := meeting.Say("Ben Okafor", "This is what was written."); err != nil {
		t.Fatal(err)
	}
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
	for _, hidden := range slices.Concat(s.site.profile.Chat.Hidden, s.site.profile.Captions.Hidden) {
		transparent := false
		script := fmt.Sprintf(`[...document.querySelectorAll(%q)].every(element => getComputedStyle(element).opacity < 0.01)`, hidden.CSS)
		if err := page.EvalInPage(s.ctx, script, &transparent); err != nil || !transparent {
			t.Errorf("%s is in the picture: %v", hidden.CSS, err)
		}
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
