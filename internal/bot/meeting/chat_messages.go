package meeting

import (
	"fmt"
	"slices"
	"strings"
)

// chatMessages returns the messages of a snapshot. The id of a message without
// one is made from its content and the number of equal messages before it.
func (p *Profile) chatMessages(snapshot Snapshot, ownName string) []ChatMessage {
	var messages []ChatMessage
	repeated := make(map[ChatEntry]int)
	for _, entry := range snapshot.Chat {
		message := ChatMessage{ID: entry.ID, Author: entry.Author, Text: entry.Text}
		message.Own = entry.Own || sameName(entry.Author, ownName) ||
			slices.ContainsFunc(p.Chat.OwnNames, func(name string) bool { return strings.EqualFold(name, entry.Author) })
		if message.ID == "" {
			repeated[entry]++
			message.ID = fmt.Sprintf("%d:%s:%s", repeated[entry], entry.Author, entry.Text)
		}
		messages = append(messages, message)
	}
	return messages
}
