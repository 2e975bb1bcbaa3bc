// Package notetaker recognizes competing notetakers by the names of a meeting's
// participants.
//
// The known names are in a data file, notetakers.yaml, that an operator can
// replace. Letters that look alike count as the same letter. Words are compared
// whole, so that people's names do not match.
package notetaker

import (
	"slices"
	"strings"
)

// List holds the known notetakers. It is immutable and safe for concurrent use.
type List struct {
	Version int
	Date    string // date of the data file: year-month-day

	marks      [][]string // suffixes that platforms add to a name, folded
	notetakers []notetaker
	own        string // the bot's own name, folded, without spaces; see Without
}

// notetaker is a known notetaker with its patterns in folded words.
type notetaker struct {
	name                   string
	anywhere, first, whole [][]string
}

// Match returns the name of the known notetaker that a display name belongs to.
func (l *List) Match(displayName string) (known string, ok bool) {
	words := foldedWords(displayName)
	bare := l.withoutMark(words)
	// Platforms may have truncated the bot's own name.
	shown := strings.Join(bare, "")
	if len(words) == 0 || l.own != "" && (shown == l.own || len(shown) >= minTruncated && strings.HasPrefix(l.own, shown)) {
		return "", false
	}
	for _, candidate := range l.notetakers {
		if candidate.matches(words, bare) {
			return candidate.name, true
		}
	}
	return "", false
}

// Without returns a list that never matches the bot's own display name. A page may
// show the bot's tile twice, or not mark it as the bot's own.
func (l *List) Without(ownName string) *List {
	copied := *l
	copied.own = strings.Join(foldedWords(ownName), "")
	return &copied
}

// minTruncated is the number of letters from which a prefix of the bot's name
// counts as its truncated name. Platforms truncate names at 50 characters or more.
const minTruncated = 32

// withoutMark removes a suffix that a platform adds to a name, such as (Guest).
func (l *List) withoutMark(words []string) []string {
	for _, mark := range l.marks {
		rest := len(words) - len(mark) - 1
		if rest > 0 && words[rest] == separator && slices.Equal(words[rest+1:], mark) {
			return words[:rest]
		}
	}
	return words
}

// matches reports whether one of the notetaker's patterns matches the words. bare
// are the words without a platform's mark.
func (n notetaker) matches(words, bare []string) bool {
	for start := range words {
		atStart := start == 0 || words[start-1] == possessive
		if matchesAny(words[start:], n.anywhere, false) || atStart && matchesAny(words[start:], n.first, false) {
			return true
		}
		if atStart && start < len(bare) && matchesAny(bare[start:], n.whole, true) {
			return true
		}
	}
	return false
}

// matchesAny reports whether the words start with one of the patterns, or equal it.
func matchesAny(words []string, patterns [][]string, whole bool) bool {
	return slices.ContainsFunc(patterns, func(pattern []string) bool {
		rest, ok := cutPattern(words, pattern)
		return ok && (!whole || len(rest) == 0)
	})
}

// cutPattern returns the words after a pattern that they start with. One word may
// match several words of the pattern (OtterPilot is Otter Pilot), but not the
// other way round: Rea Dai is not Read AI.
func cutPattern(words, pattern []string) (rest []string, ok bool) {
	for len(pattern) > 0 {
		if len(words) == 0 {
			return nil, false
		}
		word := words[0]
		words = words[1:]
		for word != "" {
			if len(pattern) == 0 || !strings.HasPrefix(word, pattern[0]) {
				return nil, false
			}
			word, pattern = word[len(pattern[0]):], pattern[1:]
		}
	}
	return words, true
}
