package replica

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// Caption is an utterance of the live captions. Pages that have captions turned on
// draw it in the way of their platform.
type Caption struct {
	Number int    `json:"number"`
	From   string `json:"from"`
	Text   string `json:"text"`

	// Language is the spoken language as a BCP 47 tag. A page whose captions are
	// set to another one shows other words. Empty: any language.
	Language string `json:"language"`
}

// Limits of captions and of messages of any length.
const (
	maxCaptions   = 1000
	maxCaptionLen = 10_000
	maxUnlimited  = 200_000 // characters
	shownCaptions = 50      // that pages get
)

// AddCaption begins an utterance and returns its number.
func (m *Meeting) AddCaption(from, text string) (number int, err error) {
	return m.AddCaptionIn("", from, text)
}

// AddCaptionIn begins an utterance in a language and returns its number.
func (m *Meeting) AddCaptionIn(language, from, text string) (number int, err error) {
	err = m.change(func() error {
		if len(m.captions) >= maxCaptions { // the oldest are forgotten: a practice meeting goes on for days
			m.captions = slices.Delete(m.captions, 0, maxCaptions/10)
			for _, g := range m.guests {
				g.captions = max(0, g.captions-maxCaptions/10)
			}
		}
		number = 1
		if len(m.captions) > 0 {
			number = m.captions[len(m.captions)-1].Number + 1
		}
		m.captions = append(m.captions, Caption{Number: number, From: from, Text: text, Language: language})
		return nil
	})
	return number, err
}

// CorrectCaption replaces the text of an utterance.
func (m *Meeting) CorrectCaption(number int, text string) error {
	return m.change(func() error {
		at := slices.IndexFunc(m.captions, func(c Caption) bool { return c.Number == number })
		if at < 0 || utf8.RuneCountInString(text) > maxCaptionLen {
			return fmt.Errorf("%w: no caption %d, or its text is too long", ErrNotNow, number)
		}
		m.captions[at].Text = text
		return nil
	})
}

// SayUnlimited adds a chat message without the platform's limit on its length, as
// another client could.
func (m *Meeting) SayUnlimited(from, text string) error {
	return m.change(func() error {
		if len(m.messages) >= maxMessages || utf8.RuneCountInString(text) > maxUnlimited {
			return fmt.Errorf("%w: %d messages", ErrFull, len(m.messages))
		}
		m.messages = append(m.messages, Message{Number: len(m.messages) + 1, From: from, Text: text})
		return nil
	})
}

// Captions returns the utterances, oldest first.
func (m *Meeting) Captions() []Caption {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.captions)
}
