package meeting

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// SingleLine returns a text for a one-line field: control characters, which a
// page would take for keys, and runs of white space become single spaces.
func SingleLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.Join(strings.Fields(text), " ")
}

// Truncate returns the longest prefix of a text that has at most limit UTF-16
// units, which pages count in, and does not split a visible character.
func Truncate(text string, limit int) string {
	end, units, state := 0, 0, -1
	for rest := text; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		for _, r := range cluster {
			units += utf16.RuneLen(r)
		}
		if units > limit {
			break
		}
		end += len(cluster)
	}
	return strings.TrimRightFunc(text[:end], unicode.IsSpace)
}

// SplitText splits a text into parts of at most limit UTF-16 units, between words
// where possible.
func SplitText(text string, limit int) []string {
	var parts []string
	for text != "" {
		part := Truncate(text, limit)
		if part == "" { // one character that exceeds the limit
			_, size := utf8.DecodeRuneInString(text)
			part = text[:size]
		}
		rest := text[len(part):]
		if space := strings.LastIndexByte(part, ' '); space > 0 && rest != "" && rest[0] != ' ' {
			part, rest = part[:space], text[space:]
		}
		parts = append(parts, part)
		text = strings.TrimLeft(rest, " ")
	}
	return parts
}

// withoutFormatting removes the invisible formatting characters of a text.
// Keyboards have no keys for them, so a field may have lost them.
func withoutFormatting(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)
}
