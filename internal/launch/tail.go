package launch

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what a detail shows of a log: enough to see what went wrong, and
// no more than fits a line that people read.
const (
	MaxLogTail   = 16 << 10 // bytes of a log's end that are read for it
	maxTailShown = 600      // bytes that are shown
	maxTailLines = 4
)

// Tail returns the last lines of a log, for people: in one line, bounded, with
// nothing in it that a terminal would act upon.
func LogTail(log []byte) string {
	var lines []string
	for line := range bytes.Lines(log) {
		if text := printable(string(line)); text != "" {
			lines = append(lines, text)
		}
	}
	lines = lines[max(0, len(lines)-maxTailLines):]
	tail := strings.Join(lines, " | ")
	if len(tail) <= maxTailShown {
		return tail
	}
	tail = tail[len(tail)-maxTailShown:]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return "…" + tail
}

// printable is a text with every run of white space and of what cannot be
// printed made one space.
func printable(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == utf8.RuneError
	})
	return strings.Join(words, " ")
}

// Brief is an engine's own word for people: in one line, and bounded.
func Shorten(text string) string {
	text = printable(text)
	if len(text) <= maxTailShown {
		return text
	}
	text = text[:maxTailShown]
	for len(text) > 0 && !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}
