// Package notetaker finds competing notetakers among the names that a meeting
// shows of its participants (specification, AutoLeaveConfig: onBotDetected;
// event bot.competing_bot_detected).
//
// Who counts stands in a data file, notetakers.yaml, that an operator can
// replace. Names are compared as people see them: letters that look alike are
// the same letter, and words count whole, so that nobody is taken for a
// program because of what he is called.
//
// The package knows nothing of pages, rosters or what follows from a match.
package notetaker

import (
	"slices"
	"strings"
)

// List is the notetakers that are known. It does not change; its methods may
// be called from any goroutine.
type List struct {
	Version int
	Date    string // of the data file: year-month-day

	fold      folding
	marks     [][]string // what platforms put behind a name, folded
	notetaker []notetaker
	own       []string // the bot's own name, folded; see Without
}

// notetaker is a known one, with its patterns in folded words.
type notetaker struct {
	name                   string
	anywhere, first, whole [][]string
}

// Match tells which known notetaker a display name is that of, if any.
func (l *List) Match(displayName string) (known string, ok bool) {
	words := l.fold.words(displayName)
	bare := l.withoutMark(words)
	if len(words) == 0 || l.isOwn(bare) {
		return "", false
	}
	for _, candidate := range l.notetaker {
		if candidate.shows(words, bare) {
			return candidate.name, true
		}
	}
	return "", false
}

// Without returns the list for a bot of that display name, which never counts:
// its tile may be seen twice, or not be recognised as its own (platforms,
// "Rules that cost others dearly").
func (l *List) Without(ownName string) *List {
	narrowed := *l
	narrowed.own = l.fold.words(ownName)
	return &narrowed
}

// shortestCut is how many letters a name must show to count as the beginning
// of a longer one: platforms cut names at 50 characters and more.
const shortestCut = 32

// isOwn reports whether the words are the bot's own name, or what a platform
// that cuts names left of it.
func (l *List) isOwn(words []string) bool {
	if len(l.own) == 0 {
		return false
	}
	shown, own := strings.Join(words, ""), strings.Join(l.own, "")
	return shown == own || len(shown) >= shortestCut && strings.HasPrefix(own, shown)
}

// withoutMark takes off what a platform puts behind a name, such as (Guest).
func (l *List) withoutMark(words []string) []string {
	for _, mark := range l.marks {
		rest := len(words) - len(mark) - 1
		if rest > 0 && words[rest] == pause && slices.Equal(words[rest+1:], mark) {
			return words[:rest]
		}
	}
	return words
}

// shows reports whether one of the notetaker's patterns is in the words. bare
// are the words without a platform's mark.
func (n notetaker) shows(words, bare []string) bool {
	for start := range words {
		opening := start == 0 || words[start-1] == possessive
		if begins(words[start:], n.anywhere) || opening && begins(words[start:], n.first) {
			return true
		}
		if opening && start < len(bare) && fills(bare[start:], n.whole) {
			return true
		}
	}
	return false
}

// begins reports whether the words begin with one of the patterns.
func begins(words []string, patterns [][]string) bool {
	return slices.ContainsFunc(patterns, func(pattern []string) bool {
		_, ok := after(words, pattern)
		return ok
	})
}

// fills reports whether the words are one of the patterns and nothing more.
func fills(words []string, patterns [][]string) bool {
	return slices.ContainsFunc(patterns, func(pattern []string) bool {
		rest, ok := after(words, pattern)
		return ok && len(rest) == 0
	})
}

// after returns the words behind a pattern that they begin with. Words that
// the pattern has apart may stand in one (OtterPilot is Otter Pilot), but not
// the other way round: Rea Dai is not Read AI.
func after(words, pattern []string) (rest []string, ok bool) {
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
