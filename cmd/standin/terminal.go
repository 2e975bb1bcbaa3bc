package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// terminal holds the output streams of a command: results, and everything else.
// Both escape the characters of isHostile.
type terminal struct{ Out, Err io.Writer }

// isHostile reports whether a character changes how a terminal or an editor shows
// the text around it: control characters (C0 and C1), bidirectional controls, and
// the line and paragraph separators.
func isHostile(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// printf prints to Out.
func (t terminal) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(t.Out, format, args...)
	return err
}

// println prints a line to Out.
func (t terminal) println(args ...any) error {
	_, err := fmt.Fprintln(t.Out, args...)
	return err
}

// escapingWriter writes hostile characters as \u escapes, which are valid in JSON
// too, except for tabs and newlines. It replaces invalid UTF-8, because single
// bytes of it are C1 controls in some terminals.
type escapingWriter struct{ io.Writer }

func (w escapingWriter) Write(data []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, escapeHostile(string(data), "\t\n")); err != nil {
		return 0, err
	}
	return len(data), nil
}

// unescaped returns the stream below an escapingWriter, for output that moves the
// cursor or has colors and escapes texts of other people itself.
func unescaped(w io.Writer) io.Writer {
	if escaping, ok := w.(escapingWriter); ok {
		return escaping.Writer
	}
	return w
}

// escapeHostile escapes the hostile characters of a text that are not in keep.
func escapeHostile(text, keep string) string {
	var escaped strings.Builder
	for _, r := range text {
		if isHostile(r) && !strings.ContainsRune(keep, r) {
			fmt.Fprintf(&escaped, `\u%04x`, r)
		} else {
			escaped.WriteRune(r)
		}
	}
	return escaped.String()
}

var breaks = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ")

// oneLine escapes hostile characters and replaces line ends and tabs with spaces,
// so that text from other people stays in its column.
func oneLine(value string) string {
	return escapeHostile(breaks.Replace(value), "")
}
