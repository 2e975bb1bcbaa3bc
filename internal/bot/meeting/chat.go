package meeting

import (
	"fmt"
	"slices"
	"strings"
)

// chat returns the messages that a snapshot shows. A message without an id of
// its own is known by what it says, and by how many before it say the same.
func (p *Profile) chat(snapshot Snapshot, ownName string) []ChatMessage {
	var messages []ChatMessage
	repeated := make(map[ChatEntry]int)
	for _, line := range snapshot.Chat {
		message := ChatMessage{ID: line.ID, Author: line.Author, Text: line.Text}
		message.Own = line.Own || slices.ContainsFunc(p.Chat.OwnNames, func(name string) bool { return strings.EqualFold(name, line.Author) }) ||
			sameName(line.Author, ownName)
		if message.ID == "" {
			repeated[line]++
			message.ID = fmt.Sprintf("%d:%s:%s", repeated[line], line.Author, line.Text)
		}
		messages = append(messages, message)
	}
	return messages
}
