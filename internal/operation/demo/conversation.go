package demo

import (
	"time"

	"standin/internal/replica"
)

// scriptPause is the time between two lines of the conversation.
const scriptPause = 2 * time.Second

// line is what a participant says, as a caption, or writes in the chat.
type line struct {
	from, text string
	chat       bool
}

// conversation is what the participants of the replica meeting say while the bot records.
var conversation = []line{
	{from: "Ada Quill", text: "Welcome, everyone. Standin is here and records this meeting."},
	{from: "Ben Okafor", text: "Good. Then I do not have to take notes."},
	{from: "Ben Okafor", text: "The agenda: https://example.com/agenda", chat: true},
	{from: "Ada Quill", text: "The first point is the launch on the third of May."},
	{from: "Ben Okafor", text: "I send the list of open questions after this meeting."},
	{from: "Ada Quill", text: "Decision: we launch on May 3.", chat: true},
	{from: "Ada Quill", text: "Thank you. That is all for today."},
}

func (l line) say(m *replica.Meeting) error {
	if l.chat {
		return m.Say(l.from, l.text)
	}
	_, err := m.AddCaption(l.from, l.text)
	return err
}
