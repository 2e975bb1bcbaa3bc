// Package text checks and cleans text that comes from outside, once, where it
// enters: Check and CheckLine refuse a field of a request, Clean and CleanLine
// make free text from a meeting page, a bot or a mail safe to store and to show.
// Count, Sentence and EncodeJSON are for text of our own.
//
// Limits are in characters (Unicode code points), as in JSON Schema.
package text

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Check returns an error unless s is valid UTF-8 of at most limit characters
// without control characters. Tabs and line breaks are allowed. The error follows
// the name of a field: "must not contain control characters (U+0000)".
//
// encoding/json decodes a lone surrogate to U+FFFD, which is valid. To refuse it,
// apply MarkLoneSurrogates to the JSON document first.
func Check(s string, limit int) error { return check(s, limit, isControl) }

// CheckLine is Check for a text on one line: tabs and line breaks are refused too.
func CheckLine(s string, limit int) error {
	return check(s, limit, func(r rune) bool { return isControl(r) || isBreak(r) })
}

func check(s string, limit int, refused func(rune) bool) error {
	if !utf8.ValidString(s) {
		return errors.New("must be valid UTF-8")
	}
	if i := strings.IndexFunc(s, refused); i >= 0 {
		r, _ := utf8.DecodeRuneInString(s[i:])
		return fmt.Errorf("must not contain control characters (%U)", r)
	}
	if len(s) > limit && utf8.RuneCountInString(s) > limit {
		return fmt.Errorf("must have at most %d characters", limit)
	}
	return nil
}

var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// Clean returns s as valid UTF-8 of at most limit characters without control
// characters. Tabs and line breaks stay; a carriage return becomes a newline.
func Clean(s string, limit int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	s = newlines.Replace(s)
	return Cut(strings.Map(func(r rune) rune {
		if isControl(r) {
			return -1
		}
		return r
	}, s), limit)
}

// CleanLine is Clean for a text that is shown on one line, such as a name: white
// space becomes single spaces, and characters that change the direction of the
// text around them are removed.
func CleanLine(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case isBreak(r):
			return ' '
		case isControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
	return Cut(strings.Join(strings.Fields(s), " "), limit)
}

// Cut returns the start of s with at most limit characters and no white space at
// the place of the cut. It keeps the characters together that are shown as one,
// such as a letter with its accents, unless that would leave nothing.
func Cut(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	end, count, state := 0, 0, -1
	for rest := s; ; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		count += utf8.RuneCountInString(cluster)
		if count > limit {
			break
		}
		end += len(cluster)
	}
	if end == 0 {
		return string([]rune(s)[:max(limit, 0)])
	}
	return strings.TrimRightFunc(s[:end], unicode.IsSpace)
}

// Count returns a number with its noun in the plural, if it takes an s.
func Count[N int | int64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprint(n, " ", noun)
}

// Sentence returns a message, such as that of an error, with a capital letter and
// a period. A message that ends with a period or a question mark is a sentence
// already.
func Sentence(message string) string {
	if message == "" || strings.HasSuffix(message, ".") || strings.HasSuffix(message, "?") {
		return message
	}
	first, size := utf8.DecodeRuneInString(message)
	return string(unicode.ToUpper(first)) + message[size:] + "."
}

// isControl reports whether r is a control character other than a tab or a line
// break.
func isControl(r rune) bool { return unicode.IsControl(r) && !isBreak(r) }

// isBreak reports whether r is a tab or ends a line.
func isBreak(r rune) bool { return strings.ContainsRune("\t\n\r\u2028\u2029", r) }

// PrefixDistances returns the edit distances (Levenshtein) between a sequence and each prefix of
// another one, the empty one first.
func PrefixDistances[T comparable](from, to []T) []int {
	row := make([]int, len(to)+1) // of the part of from so far
	for j := range row {
		row[j] = j
	}
	for i, known := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, other := range to {
			replaced := diagonal
			if known != other {
				replaced++
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, replaced)
		}
	}
	return row
}
