package replica

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// buttons are the labels of buttons by their names for Rename, on all platforms.
var buttons = map[string]struct {
	labels  []string
	renamed string
}{
	"captions": {[]string{"Turn on captions", "Turn off captions", "Captions", "Show Captions", "Turn on live captions"}, "Subtitles"},
	"chat":     {[]string{"Chat with everyone", "Chat", "open the chat panel", "close the chat panel"}, "Messages"},
	"join":     {[]string{"Ask to join", "Join now", "Join"}, "Enter"},
	"leave":    {[]string{"Leave call", "Leave"}, "Hang up"},
	"people":   {[]string{"People", "open the participants list panel"}, "Attendees"},
}

// Rename returns Settings.Renamed for buttons by name: captions, chat, join, leave or people. Bots
// do not find them any more, as after a change of the live pages.
func Rename(names []string) (map[string]string, error) {
	renamed := map[string]string{}
	for _, name := range names {
		button, ok := buttons[name]
		if !ok {
			return nil, fmt.Errorf("unknown button %q; the buttons are %s", name, strings.Join(slices.Sorted(maps.Keys(buttons)), ", "))
		}
		for _, label := range button.labels {
			renamed[label] = button.renamed
		}
	}
	return renamed, nil
}
