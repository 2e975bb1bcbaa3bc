package launch

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of log excerpts in a job's detail.
const (
	MaxLogTail   = 16 << 10 // bytes read from the end of a log
	maxShown     = 600      // bytes shown
	maxTailLines = 4
)

// LogTail returns the last lines of a log as one bounded line without control
// characters.
func LogTail(log []byte) string {
	var lines []string
	for row := range bytes.Lines(log) {
		if text := printable(string(row)); text != "" {
			lines = append(lines, text)
		}
	}
	lines = lines[max(0, len(lines)-maxTailLines):]
	tail := strings.Join(lines, " | ")
	if len(tail) <= maxShown {
		return tail
	}
	tail = tail[len(tail)-maxShown:]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return "…" + tail
}

// Shorten returns an engine's message as one bounded line without control
// characters.
func Shorten(text string) string {
	text = printable(text)
	if len(text) <= maxShown {
		return text
	}
	text = text[:maxShown]
	for len(text) > 0 && !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}

// printable replaces every run of white space and unprintable characters by one
// space.
func printable(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == utf8.RuneError
	})
	return strings.Join(words, " ")
}

// ShortError is an engine's error with a shortened text.
type ShortError struct{ Err error }

func (e ShortError) Error() string {
	// The Docker client prefixes every error of the engine.
	return Shorten(strings.TrimPrefix(e.Err.Error(), "Error response from daemon: "))
}

// Unwrap returns the engine's error.
func (e ShortError) Unwrap() error { return e.Err }
