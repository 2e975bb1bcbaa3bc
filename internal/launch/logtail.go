package launch

import (
	"bytes"
	"strings"

	"standin/internal/base/text"
)

// Bounds of log excerpts in a job's detail.
const (
	MaxLogTail   = 16 << 10 // bytes read from the end of a log
	maxShown     = 600      // characters shown
	maxTailLines = 4
)

// LogTail returns the last lines of a log as one bounded line without control
// characters.
func LogTail(log []byte) string {
	var lines []string
	for row := range bytes.Lines(log) {
		if line := text.CleanLine(string(row), MaxLogTail); line != "" {
			lines = append(lines, line)
		}
	}
	tail := []rune(strings.Join(lines[max(0, len(lines)-maxTailLines):], " | "))
	if len(tail) > maxShown {
		return "…" + string(tail[len(tail)-maxShown:])
	}
	return string(tail)
}

// Shorten returns an engine's message as one bounded line without control
// characters.
func Shorten(message string) string { return text.CleanLine(message, maxShown) }

// ShortError is an engine's error with a shortened text.
type ShortError struct{ Err error }

func (e ShortError) Error() string {
	// The Docker client prefixes every error of the engine.
	return Shorten(strings.TrimPrefix(e.Err.Error(), "Error response from daemon: "))
}

// Unwrap returns the engine's error.
func (e ShortError) Unwrap() error { return e.Err }
