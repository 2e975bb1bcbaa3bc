package meeting

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain makes a text fit for a one-line field: control characters, which a
// page would take for keys, and runs of white space become single spaces.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.Join(strings.Fields(text), " ")
}

// cut returns the longest beginning of a text that has at most limit
// characters and ends between two characters as people see them. Pages count
// UTF-16 units, so that is what is counted.
func cut(text string, limit int) string {
	kept, used := 0, 0
	for kept < len(text) {
		size, units := firstCluster(text[kept:])
		if used+units > limit {
			break
		}
		kept, used = kept+size, used+units
	}
	return strings.TrimRightFunc(text[:kept], unicode.IsSpace)
}

// split cuts a text into parts of at most limit characters, between words
// where there are any.
func split(text string, limit int) []string {
	var parts []string
	for text != "" {
		part := cut(text, limit)
		if part == "" { // one character longer than the limit
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

// zeroWidthJoiner glues emoji into one, such as families and flags.
const zeroWidthJoiner = '\u200D'

// firstCluster returns the length of the first character as people see it, in
// bytes and in UTF-16 units: a letter with its marks, an emoji with its
// modifiers or joined to others, a pair of letters that makes a flag. It is the
// part of Unicode's grapheme clusters (UAX #29) that occurs in names; Hangul
// written in single letters is not kept together.
func firstCluster(text string) (size, units int) {
	first, size := utf8.DecodeRuneInString(text)
	units = utf16Length(first)
	last := first
	paired := false
	for size < len(text) {
		next, length := utf8.DecodeRuneInString(text[size:])
		flag := isRegionalIndicator(first) && isRegionalIndicator(next) && !paired
		if !flag && !extends(next) && last != zeroWidthJoiner {
			break
		}
		paired = paired || flag
		size, units, last = size+length, units+utf16Length(next), next
	}
	return size, units
}

// extends reports whether a rune belongs to the character before it.
func extends(r rune) bool {
	const firstSkinTone, lastSkinTone = 0x1F3FB, 0x1F3FF
	return r == zeroWidthJoiner || unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc, unicode.Variation_Selector) ||
		firstSkinTone <= r && r <= lastSkinTone
}

func isRegionalIndicator(r rune) bool { return unicode.Is(unicode.Regional_Indicator, r) }

// utf16Length is how many UTF-16 units a rune takes.
func utf16Length(r rune) int {
	const lastOfBasicPlane = 0xFFFF
	if r > lastOfBasicPlane {
		return 2
	}
	return 1
}
