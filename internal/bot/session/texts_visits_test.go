package session

import (
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/base/text"
	"standin/internal/bot/ingest"
	"standin/internal/bot/report"
	"standin/internal/jobs/job"
	"standin/internal/launch"
)

// hostileMessages are chat messages that are text and nothing else.
func hostileMessages() []string {
	return []string{
		"<script>alert(1)</script><img src=x onerror=alert(2)>", "\u202eevil\u200f שלום \u2066x", "bell\a and \u0001 controls",
		strings.Repeat("0123456789", 10_000), `"}],"texts":[`,
	}
}

// TestTextVisits checks that the bot reads chat and captions on the replica of
// a platform, and of each in the full matrix: every word of the script once, in its
// last version, and hostile messages without control characters.
func TestTextVisits(t *testing.T) {
	t.Parallel()
	for _, platform := range platforms() {
		if platform != job.Teams && !fullMatrix() {
			continue // TestPlatforms reads the pages of all platforms
		}
		t.Run(string(platform), func(t *testing.T) {
			visit(t, platform, scenario{
				configure: func(s *Settings) {
					audioOnly(s)
					s.Recording.Chat, s.Recording.Captions, s.Recording.CaptionsLanguage = launch.TextsOn, launch.TextsOn, "en-US"
				},
				during: func(h *harness) {
					h.admitAndRecord(1)
					h.speak(spoken{"Ada Quill", []string{"Captions are on."}})
					for _, text := range hostileMessages() {
						if err := h.meeting.SayUnlimited("Ben Okafor", text); err != nil {
							h.Fatal(err)
						}
					}
					for _, one := range captionScript() {
						h.speak(one)
					}
					h.awaitTexts(job.ChatText, len(hostileMessages()))
					h.meeting.End()
				},
				reason: report.ReasonHostEnded,
				check:  checkTexts,
			})
		})
	}
}

// spoken is what a participant says, as the platform recognizes it step by step.
type spoken struct {
	author   string
	versions []string // the last one is final
}

// captionScript returns what is said. Zoom's page shows no names, so sentences that follow each
// other begin with other words.
func captionScript() []spoken {
	return []spoken{
		{"Ada", []string{"Good", "Good morning every", "Good morning, everyone."}},
		{"Ben", []string{"Hi aid a", "Hi, Ada."}},
		{"Ada", []string{
			"I scream", "Ice cream is the first topic.", "Ice cream is the first topic. We need for tea",
			"Ice cream is the first topic. We need forty litres.",
		}},
		{"Ben", []string{"I think we should", "I think we should go."}},
		{"Dörte", []string{"Ich habe keine", "Ich habe keine Zeit für Eis."}},
		{"Ben", []string{"I think we should", "I think we should stay."}},
	}
}

// speak adds a caption, corrects it like a platform, and waits until the service
// has its last version.
func (h *harness) speak(one spoken) {
	h.Helper()
	ticker := time.NewTicker(300 * time.Millisecond)
	defer ticker.Stop()
	number, err := h.meeting.AddCaption(one.author, one.versions[0])
	for _, version := range one.versions[1:] {
		<-ticker.C
		if err == nil {
			err = h.meeting.CorrectCaption(number, version)
		}
	}
	if err != nil {
		h.Fatal(err)
	}
	last := one.versions[len(one.versions)-1]
	h.await("caption "+last, func() bool {
		return slices.ContainsFunc(h.service.Texts, func(text ingest.Text) bool {
			return text.Kind == job.CaptionText && strings.Contains(text.Text, last)
		})
	})
}

// awaitTexts waits until the service has a number of texts.
func (h *harness) awaitTexts(kind job.TextKind, want int) {
	h.Helper()
	h.await("texts", func() bool { return len(textsOfKind(h.service.Texts, kind)) >= want })
}

func textsOfKind(all []ingest.Text, kind job.TextKind) []ingest.Text {
	return slices.DeleteFunc(slices.Clone(all), func(text ingest.Text) bool { return text.Kind != kind || text.Text == "" })
}

// checkTexts compares the texts with what was said and written.
func checkTexts(h *harness) {
	var got, want []string
	for _, text := range textsOfKind(h.service.Texts, job.CaptionText) {
		got = append(got, wordsOf(text.Author, text.Text, h.platform)...)
		if text.Language != "en-US" || text.EndedAt.Before(text.StartedAt) {
			h.Errorf("caption %+v", text)
		}
	}
	for _, caption := range h.meeting.Captions() {
		want = append(want, wordsOf(caption.From, caption.Text, h.platform)...)
	}
	if !slices.Equal(got, want) {
		h.Errorf("captions\n%v\nwant\n%v", got, want)
	}
	messages := textsOfKind(h.service.Texts, job.ChatText)
	for i, written := range hostileMessages() {
		want := text.Clean(strings.Join(strings.Fields(written), " "), ingest.MaxTextCharacters)
		if i >= len(messages) || messages[i].Text != want || messages[i].Author != "Ben Okafor" || messages[i].ParticipantID == "" {
			h.Errorf("message %d is not %.60q by Ben Okafor: %.300q", i, want, messages)
			return
		}
	}
	if len(messages) != len(hostileMessages()) {
		h.Errorf("%d messages, want %d", len(messages), len(hostileMessages()))
	}
}

// wordsOf returns the words of a caption with their author, whom Zoom's page does
// not show.
func wordsOf(author, text string, platform job.Platform) []string {
	words := strings.Fields(text)
	if platform == job.ZoomWeb {
		return words
	}
	for i := range words {
		words[i] = author + ": " + words[i]
	}
	return words
}
