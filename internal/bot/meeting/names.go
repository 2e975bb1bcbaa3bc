package meeting

import (
	"slices"
	"strings"
)

// cleanName returns a participant's name without badges of the page, and without the
// names of icons beside it. Participants choose the rest.
func cleanName(name string) string {
	words := slices.DeleteFunc(strings.Fields(name), func(word string) bool { return slices.Contains(knownWords().Icons, word) })
	name = strings.Join(words, " ")
	for {
		shorter := knownWords().badge.ReplaceAllString(name, "")
		if shorter == name || shorter == "" {
			return name
		}
		name = shorter
	}
}
