package captions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"standin/internal/bot/meeting"
)

// Reply is an answer in the chat to the question whether the meeting may be
// recorded.
type Reply struct {
	Granted bool
	Detail  string // an explanation for people
}

// FindReply returns the answer to the bot's question in the chat. Only messages
// after the question that are not in seenBefore are answers. One refusal among
// several answers counts.
func FindReply(chat []meeting.ChatMessage, seenBefore map[string]bool) (reply Reply, ok bool) {
	question := slices.IndexFunc(chat, func(m meeting.ChatMessage) bool {
		return m.Own && !seenBefore[m.ID] && strings.Contains(strings.ToLower(m.Text), "record")
	})
	if question < 0 {
		return Reply{}, false
	}
	for _, message := range chat[question+1:] {
		yes, ok := readReply(message.Text)
		switch {
		case !ok || message.Own || seenBefore[message.ID]:
		case !yes:
			return Reply{Detail: describeReply(message)}, true
		case !reply.Granted:
			reply = Reply{Granted: true, Detail: describeReply(message)}
		}
	}
	return reply, reply.Granted
}

func describeReply(message meeting.ChatMessage) string {
	return fmt.Sprintf("In the chat %s answered: %s", cmp.Or(message.Author, "somebody"), strings.TrimSpace(message.Text))
}

// readReply reads a chat message as an answer to the question whether the
// meeting may be recorded. Only a whole message counts: a word within a
// sentence is no consent.
func readReply(text string) (granted, ok bool) {
	reply := normalizeReply(text)
	grants, refuses := meeting.Replies()
	is := func(known string) bool { return reply != "" && normalizeReply(known) == reply }
	granted = slices.ContainsFunc(grants, is)
	return granted, granted || slices.ContainsFunc(refuses, is)
}

// normalizeReply removes case, punctuation, extra spaces and skin tones.
func normalizeReply(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '’' || r == '‘' || r == '\'':
			return '\''
		case unicode.Is(unicode.Variation_Selector, r), r >= '\U0001F3FB' && r <= '\U0001F3FF', unicode.Is(unicode.Cf, r):
			return -1
		case unicode.IsPunct(r):
			return ' '
		}
		return unicode.ToLower(r)
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
