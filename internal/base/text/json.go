package text

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf16"
)

// EncodeJSON returns a value as JSON without the escapes that only HTML needs, which would
// make the & of a URL unreadable.
func EncodeJSON(value any) ([]byte, error) {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(encoded.Bytes(), []byte("\n")), nil
}

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

// unicodeEscape returns the code unit of the escape \uXXXX with which a text starts.
func unicodeEscape(text []byte) (unit rune, ok bool) {
	if len(text) < len(`\u0000`) || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	value, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(value), err == nil
}
