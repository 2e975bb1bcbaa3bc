package replica

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// The people of a conversation have voices and videos that people/generate.go made.
//
//go:embed people/*.ogg people/*.ivf
var recorded embed.FS

// Recorded returns a voice or a video of a conversation.
func Recorded(name string) ([]byte, error) { return recorded.ReadFile("people/" + name) }

// Line is what a person says in a conversation, and does right before.
type Line struct {
	Name  string // of the file of the voice
	From  string
	Text  string
	Chat  string // a message that is sent with it
	Slide int    // that the person presents from now on; 0: the one before
}

// The people of a conversation.
const (
	Ada    = "Ada Quill"
	Ben    = "Ben Okafor"
	Callum = "Callum Reid"
)

// People returns the people of a conversation as participants.
func People() []Participant {
	return []Participant{{Name: Ada, Film: "ada"}, {Name: Ben, Film: "ben"}, {Name: Callum, Film: "callum"}}
}

// lastSlide ends the presentation.
const lastSlide = -1

// Conversation returns what the people of a conversation say, in order.
func Conversation() []Line {
	lines := []Line{
		{From: Ada, Text: "Good morning, everyone. Shall we begin with the launch?", Chat: "The agenda: https://example.com/agenda"},
		{From: Ben, Text: "Yes. The new website is ready, and the last tests passed on Friday."},
		{From: Ada, Text: "Great. And what is still open?"},
		{From: Callum, Text: "Two things. The photos for the front page, and the price list."},
		{From: Ben, Text: "I can send the photos tomorrow morning. The drafts are in the chat.", Chat: "The drafts: https://example.com/photos"},
		{From: Ada, Text: "Perfect. Let me show you the plan.", Slide: 1},
		{From: Ada, Text: "We launch on Thursday, the third of June, at ten o'clock."},
		{From: Callum, Text: "Then I will finish the price list by Tuesday."},
		{From: Ben, Text: "And who writes to our customers?"},
		{From: Callum, Text: "I will. They all get a message on Wednesday evening.", Slide: 2},
		{From: Ada, Text: "Then we have a plan. Ben sends the photos, Callum finishes the prices, and we launch on Thursday.",
			Chat: "Decision: we launch on June 3."},
		{From: Ben, Text: "Sounds good to me."},
		{From: Ada, Text: "Thank you both. Let's go through it once more.", Slide: lastSlide},
	}
	for i := range lines {
		lines[i].Name = fmt.Sprintf("line-%02d", i+1)
	}
	return lines
}

const (
	lineGap   = 700 * time.Millisecond  // between two lines
	roundGap  = 5 * time.Second         // before the conversation begins again
	waitGuest = 1500 * time.Millisecond // after a guest has spoken
	beat      = 100 * time.Millisecond  // how often a conversation looks at its guests
)

// Converse lets the people talk until the meeting ends, as long as a guest is there. They wait
// while a guest speaks.
func (m *Meeting) Converse(ctx context.Context) error {
	lines := Conversation()
	tick := time.NewTicker(beat)
	defer tick.Stop()
	pause := func(length time.Duration) bool {
		for until := time.Now().Add(length); time.Now().Before(until) || m.mustWait(); {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return false
			}
		}
		return true
	}
	for ctx.Err() == nil {
		for _, line := range lines {
			if !pause(lineGap) {
				return nil
			}
			length, err := m.deliver(line)
			if err != nil {
				return fmt.Errorf("%s speaks: %w", line.From, err)
			}
			m.captionAsSpoken(ctx, line, length)
		}
		if !pause(roundGap) {
			break
		}
	}
	return nil
}

// mustWait reports whether nobody listens, or a guest speaks or has just spoken.
func (m *Meeting) mustWait() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return false // Converse ends with its context
	}
	listened := false
	for _, g := range m.guests {
		listened = listened || g.MediaConnected
		if g.speaking || time.Since(g.spokeAt) < waitGuest {
			return true
		}
	}
	return !listened
}

// deliver begins a line, and returns how long it takes.
func (m *Meeting) deliver(line Line) (time.Duration, error) {
	content, err := Recorded(line.Name + ".ogg")
	if err != nil {
		return 0, err
	}
	packets, _, err := readPackets(bytes.NewReader(content))
	if err != nil {
		return 0, err
	}
	if line.Slide != 0 {
		if err := m.present(line.From, max(line.Slide, 0)); err != nil {
			return 0, err
		}
	}
	if line.Chat != "" {
		if err := m.Say(line.From, line.Chat); err != nil {
			return 0, err
		}
	}
	_, err = m.speakPackets(line.From, packets)
	return time.Duration(len(packets)) * packetLength, err
}

// present lets a person, and nobody else, present a slide, or ends the presentation with 0.
func (m *Meeting) present(name string, slide int) error {
	return m.change(func() error {
		for _, p := range m.participants {
			p.Slide = 0
			if p.Name == name {
				p.Slide = slide
			}
			p.Presenting = p.Slide != 0
		}
		return nil
	})
}

// captionAsSpoken shows the caption of a line word by word while it is spoken.
func (m *Meeting) captionAsSpoken(ctx context.Context, line Line, length time.Duration) {
	words := strings.Fields(line.Text)
	began, number := time.Now(), 0
	for i := range words {
		due := time.NewTimer(time.Until(began.Add(length * time.Duration(i+1) / time.Duration(len(words)))))
		select {
		case <-due.C:
		case <-ctx.Done():
			due.Stop()
			return
		}
		said := strings.Join(words[:i+1], " ")
		var err error
		if number == 0 {
			number, err = m.AddCaption(line.From, said)
		} else {
			err = m.CorrectCaption(number, said)
		}
		if err != nil {
			m.log.Warn("cannot show a caption", "error", err)
			return
		}
	}
}

// Voice returns what a person says at the beginning of a conversation and a pause, as PCM S16LE, mono, 48 kHz.
func Voice(ctx context.Context) ([]byte, error) {
	voice, err := recorded.ReadFile("people/line-01.ogg")
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, "ffmpeg", "-loglevel", "error", "-f", "ogg", "-i", "pipe:0", "-af", "apad=pad_dur=1.5",
		"-f", "s16le", "-ac", "1", "-ar", "48000", "pipe:1")
	command.Stdin = bytes.NewReader(voice)
	pcm, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("decode a voice with ffmpeg: %w", err)
	}
	return pcm, nil
}
