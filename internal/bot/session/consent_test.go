package session

import (
	"strconv"
	"strings"
	"testing"

	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
)

// chatOf returns a chat; a line "me: …" is the bot's.
func chatOf(lines ...string) []meeting.ChatMessage {
	var chat []meeting.ChatMessage
	for _, row := range lines {
		author, text, _ := strings.Cut(row, ": ")
		chat = append(chat, meeting.ChatMessage{ID: row, Author: author, Text: text, Own: author == "me"})
	}
	return chat
}

// TestFindAnswer: what counts as the host's answer.
func TestFindAnswer(t *testing.T) {
	t.Parallel()
	const question = "me: May I record this meeting?"
	seen := func(chat ...string) meeting.Observation { return meeting.Observation{Chat: chatOf(chat...)} }
	for name, test := range map[string]struct {
		by     meeting.AskMethod
		before meeting.Observation // the last snapshot before the question
		now    meeting.Observation
		want   outcome // empty: none yet
	}{
		"no answer":                       {meeting.AskByChat, seen(), seen(question), ""},
		"yes":                             {meeting.AskByChat, seen(), seen(question, "Ada: yes"), granted},
		"no":                              {meeting.AskByChat, seen(), seen(question, "Ada: No."), denied},
		"other messages":                  {meeting.AskByChat, seen(), seen(question, "Ada: hello", "Ada: yes we met"), ""},
		"other messages, then yes":        {meeting.AskByChat, seen(), seen(question, "Ada: hello", "Ben: ok"), granted},
		"yes and no":                      {meeting.AskByChat, seen(), seen(question, "Ada: yes", "Ben: no"), denied},
		"yes before the question":         {meeting.AskByChat, seen("Ada: yes"), seen("Ada: yes", question), ""},
		"yes above the question":          {meeting.AskByChat, seen(), seen("Ada: yes", question), ""},
		"the question is not shown":       {meeting.AskByChat, seen(), seen("Ada: yes"), ""},
		"the bot's own yes":               {meeting.AskByChat, seen(), seen(question, "me: yes"), ""},
		"an older message of the bot's":   {meeting.AskByChat, seen(), seen("me: hello", "Ada: yes", question), ""},
		"an older question":               {meeting.AskByChat, seen(question, "Ada: yes"), seen(question, "Ada: yes"), ""},
		"asked by the page, chat":         {meeting.AskByPage, seen(), seen("Ada: yes"), ""},
		"asked by the page, granted":      {meeting.AskByPage, seen(), meeting.Observation{Permission: meeting.Granted}, granted},
		"asked by the page, refused":      {meeting.AskByPage, seen(), meeting.Observation{Permission: meeting.Refused}, denied},
		"not asked yet, granted already":  {"", seen(), meeting.Observation{Permission: meeting.Granted}, ""},
		"not asked yet, somebody says ok": {"", seen(), seen(question, "Ada: ok"), ""},
	} {
		c := consent{commands: []string{"command"}}
		c.noteChat(test.before)
		c.prepare()
		c.askedBy = test.by
		c.noteChat(test.now)
		got, ok := c.findAnswer(test.now)
		if got.outcome != test.want || ok != (test.want != "") || ok && got.detail == "" {
			t.Errorf("%s: %+v (%v), want %q", name, got, ok, test.want)
		}
	}
	if _, ok := (&consent{askedBy: meeting.AskByPage}).findAnswer(meeting.Observation{Permission: meeting.Granted}); ok {
		t.Error("an answer without a request")
	}
}

// TestSecondRequest: the answer to the first request does not answer the second.
func TestSecondRequest(t *testing.T) {
	t.Parallel()
	var c consent
	for i, want := range []outcome{granted, denied} {
		c.commands = []string{"command"}
		chat := chatOf("me: May I record?", "Ada: yes")
		if i == 1 {
			chat = append(chat, chatOf("me: May I record again?", "Ada: no")...)
		}
		c.prepare()
		c.askedBy = meeting.AskByChat
		now := meeting.Observation{Chat: chat}
		c.noteChat(now)
		if got, _ := c.findAnswer(now); got.outcome != want {
			t.Errorf("request %d: %+v, want %q", i, got, want)
		}
		c.commands = nil
	}
}

// TestManyMessages: a page that shows ever new messages does not fill the memory, and
// none of them is an answer then.
func TestManyMessages(t *testing.T) {
	t.Parallel()
	c := consent{commands: []string{"command"}, askedBy: meeting.AskByChat}
	for n := range 2 * ingest.MaxChatMessages {
		c.noteChat(meeting.Observation{Chat: []meeting.ChatMessage{{ID: strconv.Itoa(n)}}})
	}
	if answer, ok := c.findAnswer(meeting.Observation{Chat: chatOf("me: May I record?", "Ada: yes")}); ok || len(c.seen) != ingest.MaxChatMessages {
		t.Errorf("%d messages are remembered; the answer is %+v", len(c.seen), answer)
	}
}
