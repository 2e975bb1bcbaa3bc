package meeting

import (
	"strings"
	"unicode"
	"unicode/utf8"
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

// zeroWidthJoiner joins several emoji into one, such as families and flags.
const zeroWidthJoiner = '\u200D'

// firstCluster returns the length of the first visible character, in bytes and in
// UTF-16 units: a letter with its marks, an emoji with its modifiers or joined
// to others, the two letters of a flag. It covers the part of Unicode's grapheme
// clusters (UAX #29) that occurs in names; Hangul written in single letters is
// not kept together.
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

// extends reports whether a rune is part of the character before it.
func extends(r rune) bool {
	const firstSkinTone, lastSkinTone = 0x1F3FB, 0x1F3FF
	return r == zeroWidthJoiner || unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc, unicode.Variation_Selector) ||
		firstSkinTone <= r && r <= lastSkinTone
}

func isRegionalIndicator(r rune) bool { return unicode.Is(unicode.Regional_Indicator, r) }

// utf16Length returns the number of UTF-16 units of a rune.
func utf16Length(r rune) int {
	const lastOfBasicPlane = 0xFFFF
	if r > lastOfBasicPlane {
		return 2
	}
	return 1
}
