package bot

import (
	"strings"
	"testing"

	"standin/internal/bot/meeting"
)

// TestReadReply: only a whole message that is an answer is one.
func TestReadReply(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"yes": "yes", "Yes!": "yes", " YES. ": "yes", "ok": "yes", "Okay": "yes", "yes, please": "yes", "Sure 👍": "", "👍": "yes", "👍🏽": "yes",
		"go ahead": "yes", "Allow": "yes", "that’s fine": "yes", "No problem!": "yes", "yes\n": "yes",
		"no": "no", "No!!": "no", "no, thanks": "no", "Don’t": "no", "please don't record": "no", "👎": "no", "Not allowed.": "no", "stop recording": "no",
		"": "", "...": "", "I said yes to lunch": "", "yesterday": "", "no idea": "", "know": "", "is it ok?": "", "ok so next topic": "",
		"yes or no": "", "notes": "", "yes no": "", "record": "",
		strings.Repeat("yes ", 500): "",
	} {
		granted, ok := readReply(text)
		got := map[bool]string{true: "yes", false: "no"}[granted]
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%.40q is read as %q, want %q", text, got, want)
		}
	}
	for _, text := range append(consenting(), refusing()...) {
		if _, ok := readReply(text); !ok {
			t.Errorf("%q stands in a list and is never found", text)
		}
	}
	for _, text := range consenting() {
		if granted, _ := readReply(text); !granted {
			t.Errorf("%q stands in both lists", text)
		}
	}
}

// said makes a chat: a line "me: …" is the bot's.
func said(lines ...string) []meeting.ChatMessage {
	var chat []meeting.ChatMessage
	for _, line := range lines {
		author, text, _ := strings.Cut(line, ": ")
		chat = append(chat, meeting.ChatMessage{ID: line, Author: author, Text: text, Own: author == "me"})
	}
	return chat
}

// TestAnswer: what counts as the host's answer, and what does not.
func TestAnswer(t *testing.T) {
	t.Parallel()
	const question = "me: May I record this meeting?"
	seen := func(chat ...string) meeting.Observation { return meeting.Observation{Chat: said(chat...)} }
	for name, test := range map[string]struct {
		by     meeting.AskMethod
		before meeting.Observation // the last look before the question
		now    meeting.Observation
		want   outcome // empty: none yet
	}{
		"nobody has answered":             {meeting.AskByChat, seen(), seen(question), ""},
		"yes":                             {meeting.AskByChat, seen(), seen(question, "Ada: yes"), granted},
		"no":                              {meeting.AskByChat, seen(), seen(question, "Ada: No."), denied},
		"talk":                            {meeting.AskByChat, seen(), seen(question, "Ada: hello", "Ada: yes we met"), ""},
		"talk, then yes":                  {meeting.AskByChat, seen(), seen(question, "Ada: hello", "Ben: ok"), granted},
		"yes and no":                      {meeting.AskByChat, seen(), seen(question, "Ada: yes", "Ben: no"), denied},
		"a yes from before":               {meeting.AskByChat, seen("Ada: yes"), seen("Ada: yes", question), ""},
		"a yes from before, first seen":   {meeting.AskByChat, seen(), seen("Ada: yes", question), ""},
		"the question is not in sight":    {meeting.AskByChat, seen(), seen("Ada: yes"), ""},
		"its own yes":                     {meeting.AskByChat, seen(), seen(question, "me: yes"), ""},
		"an older message of the bot's":   {meeting.AskByChat, seen(), seen("me: hello", "Ada: yes", question), ""},
		"an older question":               {meeting.AskByChat, seen(question, "Ada: yes"), seen(question, "Ada: yes"), ""},
		"asked by the page, talk":         {meeting.AskByPage, seen(), seen("Ada: yes"), ""},
		"asked by the page, granted":      {meeting.AskByPage, seen(), meeting.Observation{Permission: meeting.Granted}, granted},
		"asked by the page, refused":      {meeting.AskByPage, seen(), meeting.Observation{Permission: meeting.Refused}, denied},
		"the platform begins to record":   {meeting.AskByChat, seen(), meeting.Observation{Recorded: true}, granted},
		"the platform recorded before":    {meeting.AskByChat, meeting.Observation{Recorded: true}, meeting.Observation{Recorded: true}, ""},
		"not asked yet, granted already":  {"", seen(), meeting.Observation{Permission: meeting.Granted}, ""},
		"not asked yet, somebody says ok": {"", seen(), seen(question, "Ada: ok"), ""},
	} {
		c := consent{commands: []string{"command"}}
		c.notice(test.before)
		c.asking(test.before)
		c.by = test.by
		c.notice(test.now)
		got, ok := c.answer(test.now)
		if got.outcome != test.want || ok != (test.want != "") || ok && got.detail == "" {
			t.Errorf("%s: %+v (%v), want %q", name, got, ok, test.want)
		}
	}
	if _, ok := (&consent{by: meeting.AskByPage}).answer(meeting.Observation{Permission: meeting.Granted}); ok {
		t.Error("an answer to no question")
	}
}

// TestAskingAgain: what answered the first question does not answer the second.
func TestAskingAgain(t *testing.T) {
	t.Parallel()
	var c consent
	for i, want := range []outcome{granted, denied} {
		c.commands = []string{"command"}
		chat := said("me: May I record?", "Ada: yes")
		if i == 1 {
			chat = append(chat, said("me: May I record again?", "Ada: no")...)
		}
		c.asking(meeting.Observation{Chat: chat})
		c.by = meeting.AskByChat
		now := meeting.Observation{Chat: chat}
		c.notice(now)
		if got, _ := c.answer(now); got.outcome != want {
			t.Errorf("question %d: %+v, want %q", i, got, want)
		}
		c.commands = nil
	}
}
