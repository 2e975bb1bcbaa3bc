package captions

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/meeting"
)

// spoken is what a participant says, as the platform recognizes it step by step.
type spoken struct {
	author   string
	versions []string // the last one is final
}

// captionScript is a conversation in two languages with corrections.
func captionScript() []spoken {
	return []spoken{
		{"Ada", []string{"Good", "Good more", "Good morning", "Good morning every", "Good morning, everyone."}},
		{"Ben", []string{"Hi", "Hi aid a", "Hi, Ada."}},
		{"Ada", []string{
			"I scream", "Ice cream is", "Ice cream is the first", "Ice cream is the first topic.", "Ice cream is the first topic. We",
			"Ice cream is the first topic. We need for tea", "Ice cream is the first topic. We need forty litres.",
		}},
		{"Ben", []string{"Yes", "Yes."}},
		{"Ada", []string{"Yes", "Yes."}},
		{"Ben", []string{"Yes", "Yes."}},
		{"Dörte", []string{"Ich", "Ich habe", "Ich habe keine", "Ich habe keine Zeit", "Ich habe keine Zeit für Eis."}},
		{"Ben", []string{"I think", "I think we should", "I think we should go."}},
		{"Ben", []string{"I think", "I think we should", "I think we should stay."}},
	}
}

// page draws captions in one of the ways of the platforms.
type page interface {
	// draw returns the lines while number of the script is at a version.
	draw(script []spoken, number, version int) []meeting.CaptionLine
}

// listPage shows the last lines, each in an element of its own, like Meet. With
// redraws, every change replaces all elements.
type listPage struct {
	lines   int
	redraws bool
	drawn   int
}

func (p *listPage) draw(script []spoken, number, version int) (lines []meeting.CaptionLine) {
	p.drawn++
	for i := max(0, number-p.lines+1); i <= number; i++ {
		text := script[i].versions[len(script[i].versions)-1]
		if i == number {
			text = script[i].versions[version]
		}
		element := i + 1
		if p.redraws {
			element += 1000 * p.drawn
		}
		lines = append(lines, meeting.CaptionLine{Element: element, Author: script[i].author, Text: text})
	}
	return lines
}

// recyclingPage shows the last lines in the same elements, like a virtual list.
type recyclingPage struct{ lines int }

func (p recyclingPage) draw(script []spoken, number, version int) []meeting.CaptionLine {
	lines := (&listPage{lines: p.lines}).draw(script, number, version)
	for i := range lines {
		lines[i].Element = i + 1
	}
	return lines
}

// rollingPage shows the last words of the last line in one element, like Zoom.
type rollingPage struct{ words int }

func (p rollingPage) draw(script []spoken, number, version int) []meeting.CaptionLine {
	words := strings.Fields(script[number].versions[version])
	words = words[max(0, len(words)-p.words):]
	return []meeting.CaptionLine{{Element: 1, Author: script[number].author, Text: strings.Join(words, " ")}}
}

// transcribe returns what a tracker makes of a page.
func transcribe(p page, script []spoken, pause time.Duration) []string {
	var tracked tracker
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for number := range script {
		for version := range script[number].versions {
			for range 2 { // the page is read more often than it changes
				tracked.update(p.draw(script, number, version), "", at)
				at = at.Add(250 * time.Millisecond)
			}
		}
		at = at.Add(pause)
	}
	var all []string
	for _, u := range tracked.recent {
		text := ""
		for _, s := range u.segments {
			text += " " + s.text
		}
		all = append(all, u.speaker+":"+text)
	}
	return all
}

func finalTexts(script []spoken) []string {
	var all []string
	for _, one := range script {
		all = append(all, one.author+": "+one.versions[len(one.versions)-1])
	}
	return all
}

// TestCaptionTracker checks that captions that correct themselves, scroll away,
// and move to other elements result in each utterance once, in its last version, also on pages of
// which the bot reads only last versions of captions that follow each other at once.
func TestCaptionTracker(t *testing.T) {
	t.Parallel()
	late := captionScript()
	for i, one := range late {
		late[i].versions = one.versions[len(one.versions)-1:]
	}
	for name, test := range map[string]struct {
		page   page
		script []spoken
		pause  time.Duration
	}{
		"list":                      {&listPage{lines: 3}, captionScript(), 5 * time.Second},
		"list that is redrawn":      {&listPage{lines: 3, redraws: true}, captionScript(), 5 * time.Second},
		"long list":                 {&listPage{lines: 50}, captionScript(), 5 * time.Second},
		"recycled elements":         {recyclingPage{lines: 3}, captionScript(), 5 * time.Second},
		"one line":                  {rollingPage{words: 100}, captionScript(), 5 * time.Second},
		"one line of six words":     {rollingPage{words: 6}, captionScript(), 5 * time.Second},
		"late list":                 {&listPage{lines: 3}, late, 0},
		"late list that is redrawn": {&listPage{lines: 3, redraws: true}, late, 0},
		"late recycled elements":    {recyclingPage{lines: 3}, late, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, want := transcribe(test.page, test.script, test.pause), finalTexts(test.script); !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestLateAuthor checks that a line whose author the page names a second later is one utterance of that author.
func TestLateAuthor(t *testing.T) {
	t.Parallel()
	var tracked tracker
	at := time.Unix(0, 0)
	line := meeting.CaptionLine{Element: 1, Text: "Late attribution."}
	tracked.update([]meeting.CaptionLine{line}, "Ben", at)
	tracked.recent[0].segments[0].reported = line.Text
	line.Author = "Ada"
	for range 2 {
		at = at.Add(time.Second)
		tracked.update([]meeting.CaptionLine{line}, "Ben", at)
	}
	if one := tracked.recent[0]; len(tracked.recent) != 1 || one.speaker != "Ada" || len(one.segments) != 1 || one.segments[0].reported != "" {
		t.Errorf("%d utterances; the first by %q: %+v", len(tracked.recent), one.speaker, one.segments)
	}
	tracked.update([]meeting.CaptionLine{line, {Element: 2, Author: "Ben", Text: "Late attribution."}}, "", at.Add(time.Second))
	if len(tracked.recent) != 2 || tracked.recent[1].speaker != "Ben" {
		t.Errorf("%d utterances after that of another author", len(tracked.recent))
	}
}

// TestCaptionTrackerMergedSpeech checks a line to which the page adds everything
// that one participant says, and whose beginning scrolls away.
func TestCaptionTrackerMergedSpeech(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var words, versions []string
	for i := range 400 {
		word := fmt.Sprintf("w%d", i*7919%1000)
		if i%9 == 8 {
			word += "."
		}
		words = append(words, word)
		shown := slices.Clone(words)
		if random.IntN(3) == 0 { // to be corrected
			shown[len(shown)-1] = "interim"
		}
		versions = append(versions, strings.Join(shown, " "))
	}
	versions = append(versions, strings.Join(words, " "))
	for _, p := range []page{rollingPage{words: 30}, &listPage{lines: 3}} {
		got := transcribe(p, []spoken{{"Ada", versions}}, 0)
		if want := []string{"Ada: " + strings.Join(words, " ")}; !slices.Equal(got, want) {
			t.Errorf("got %q\nwant %q", got, want)
		}
	}
}

// FuzzCaptionTracker checks that texts of a page do not make the tracker fail or
// lose the last line.
func FuzzCaptionTracker(f *testing.F) {
	f.Add("a b c", "b c d", "", uint8(3))
	f.Add("\x00\xff", " ", "Yes. Yes. Yes.", uint8(0))
	f.Add(strings.Repeat("x ", 300), strings.Repeat("x ", 200)+"y", "x", uint8(200))
	f.Fuzz(func(t *testing.T, first, second, third string, pause uint8) {
		var tracked tracker
		at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
		for i, text := range []string{first, second, third, first} {
			at = at.Add(time.Duration(pause) * 50 * time.Millisecond)
			tracked.update([]meeting.CaptionLine{{Element: 1, Text: text}, {Element: 2 + i%2, Text: second}}, "", at)
			for u := range tracked.inElement {
				whole := ""
				for _, s := range u.segments {
					whole += s.text + " "
				}
				if !strings.HasSuffix(strings.Join(strings.Fields(whole), " "), strings.Join(u.shown, " ")) {
					t.Errorf("%q does not end with %q", whole, u.shown)
				}
			}
		}
	})
}
