package zoomsdk

import (
	"strings"
	"unicode"
	"unicode/utf16"
)

// plain makes one line of a text: control characters and runs of white space
// become single spaces.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.Join(strings.Fields(text), " ")
}

// beginning returns the longest beginning of a text that has at most limit
// UTF-16 units, which is what pages count, and does not end within a rune or
// before a mark that belongs to it.
func beginning(text string, limit int) string {
	runes := []rune(text)
	kept, used := 0, 0
	for kept < len(runes) && used+utf16.RuneLen(runes[kept]) <= limit {
		used += utf16.RuneLen(runes[kept])
		kept++
	}
	if kept == len(runes) {
		return text
	}
	for kept > 0 && (joins(runes[kept]) || joins(runes[kept-1])) {
		kept--
	}
	return strings.TrimRightFunc(string(runes[:kept]), unicode.IsSpace)
}

// joins reports whether a rune belongs to those beside it.
func joins(r rune) bool {
	const zeroWidthJoiner = '\u200D'
	return r == zeroWidthJoiner || unicode.In(r, unicode.M, unicode.Variation_Selector)
}

// parted cuts a text into parts of at most limit UTF-16 units, between words
// where there are any.
func parted(text string, limit int) []string {
	var found []string
	for text != "" {
		part := beginning(text, limit)
		if part == "" { // marks without end: cut them anywhere
			part = string([]rune(text)[:1])
		}
		rest := text[len(part):]
		if space := strings.LastIndexByte(part, ' '); space > 0 && rest != "" && rest[0] != ' ' {
			part, rest = part[:space], text[space:]
		}
		found = append(found, part)
		text = strings.TrimLeft(rest, " ")
	}
	return found
}
