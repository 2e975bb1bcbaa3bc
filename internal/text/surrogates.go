package text

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf16"
)

// MarkLoneSurrogates returns a valid JSON document in which the escapes of lone
// surrogates, such as \ud800 without \udc00 after it, are replaced with \u0000.
// encoding/json and PostgreSQL disagree about lone surrogates; a NUL is refused
// by Check and removed by Clean in the field that has it. The result is document
// itself if there are none.
func MarkLoneSurrogates(document []byte) []byte {
	copied := false
	for i := 0; ; {
		next := bytes.IndexByte(document[i:], '\\') // escapes are only in strings
		if next < 0 {
			return document
		}
		i += next
		r, ok := unicodeEscape(document[i:])
		switch {
		case !ok:
			i += min(len(`\n`), len(document)-i)
			continue
		case utf16.IsSurrogate(r):
			low, _ := unicodeEscape(document[i+len(`\u0000`):])
			if utf16.DecodeRune(r, low) != '\uFFFD' {
				i += len(`\u0000`)
				break
			}
			if !copied {
				document, copied = slices.Clone(document), true
			}
			copy(document[i:], `\u0000`)
		}
		i += len(`\u0000`)
	}
}

// unicodeEscape returns the code unit of the escape \uXXXX with which json starts.
func unicodeEscape(json []byte) (unit rune, ok bool) {
	if len(json) < len(`\u0000`) || json[0] != '\\' || json[1] != 'u' {
		return 0, false
	}
	value, err := strconv.ParseUint(string(json[2:6]), 16, 16)
	return rune(value), err == nil
}
