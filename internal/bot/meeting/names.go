package meeting

import (
	"regexp"
	"slices"
	"strings"
)

// badgePattern returns a pattern of the badges in parentheses at the end of a name, such as
// "(Host, me)", and icons whose names are drawn as ligatures, such as "mic_off".
func badgePattern(badges []string) *regexp.Regexp {
	one := `(?:` + strings.ReplaceAll(regexp.QuoteMeta(strings.Join(badges, "\n")), "\n", "|") + `)`
	return regexp.MustCompile(`(?i)\s*[(（]\s*` + one + `(?:\s*[,，、]\s*` + one + `)*\s*[)）]$`)
}

// cleanName returns a participant's name without badges of the page, and without the
// names of icons beside it. Participants choose the rest.
func cleanName(name string) string {
	words := strings.Fields(name)
	words = slices.DeleteFunc(words, func(word string) bool { return slices.Contains(knownWords().Icons, word) })
	name = strings.Join(words, " ")
	for {
		shorter := knownWords().badge.ReplaceAllString(name, "")
		if shorter == name || shorter == "" {
			return name
		}
		name = shorter
	}
}
