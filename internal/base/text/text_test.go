package text_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode"

	"standin/internal/base/text"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	const control, encoding, long = "must not contain control characters", "must be valid UTF-8", "must have at most 8 characters"
	tests := map[string]struct{ text, want, line string }{
		"empty":                {text: ""},
		"letters":              {text: "Zoë, 五郎"},
		"at the limit":         {text: "éééééééé"},
		"above the limit":      {text: "ééééééééé", want: long, line: long},
		"NUL":                  {text: "a\x00b", want: control + " (U+0000)", line: control + " (U+0000)"},
		"escape":               {text: "\x1b[31m", want: control + " (U+001B)", line: control + " (U+001B)"},
		"delete":               {text: "a\x7f", want: control + " (U+007F)", line: control + " (U+007F)"},
		"C1":                   {text: "a\u0085", want: control + " (U+0085)", line: control + " (U+0085)"},
		"newline":              {text: "a\nb", line: control + " (U+000A)"},
		"CRLF":                 {text: "a\r\nb", line: control + " (U+000D)"},
		"tab":                  {text: "a\tb", line: control + " (U+0009)"},
		"line separator":       {text: "a\u2028b", line: control + " (U+2028)"},
		"invalid UTF-8":        {text: "a\xff", want: encoding, line: encoding},
		"surrogate in UTF-8":   {text: "a\xed\xa0\x80", want: encoding, line: encoding},
		"replacement":          {text: "a\uFFFD"},
		"direction":            {text: "\u202eabc"},
		"emoji":                {text: "👩‍💻"},
		"control beyond limit": {text: "123456789\x00", want: control + " (U+0000)", line: control + " (U+0000)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := message(text.Check(test.text, 8)); got != test.want {
				t.Errorf("Check: %q, want %q", got, test.want)
			}
			if got := message(text.CheckLine(test.text, 8)); got != test.line {
				t.Errorf("CheckLine: %q, want %q", got, test.line)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestClean(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want, line string }{
		"empty":                     {"", "", ""},
		"letters":                   {"Zoë, 五郎", "Zoë, 五郎", "Zoë, 五郎"},
		"control characters":        {"a\x00b\x1bc\x7fd\u0085e", "abcde", "abcde"},
		"line breaks":               {"a\r\nb\rc\nd", "a\nb\nc\nd", "a b c d"},
		"tab":                       {"a\tb", "a\tb", "a b"},
		"separators":                {"a\u2028b", "a\u2028b", "a b"},
		"white space":               {" a  b ", " a  b ", "a b"},
		"invalid UTF-8":             {"a\xff\xfeb", "a\uFFFDb", "a\uFFFDb"},
		"surrogate in UTF-8":        {"a\xed\xa0\x80b", "a\uFFFDb", "a\uFFFDb"},
		"direction":                 {"\u202ea\u2066b\u200f", "\u202ea\u2066b\u200f", "ab"},
		"cut":                       {"123456789", "12345678", "12345678"},
		"cut before an accent":      {"1234567e\u0301", "1234567", "1234567"},
		"cut before an emoji":       {"123456👩‍💻", "123456", "123456"},
		"cut before a flag":         {"1234567🇸🇪", "1234567", "1234567"},
		"cut in Hangul":             {"1234567\u1112\u1161\u11ab", "1234567", "1234567"},
		"cut at a space":            {"1234567 9", "1234567", "1234567"},
		"one long character":        {"e" + strings.Repeat("\u0301", 20), "e" + strings.Repeat("\u0301", 7), "e" + strings.Repeat("\u0301", 7)},
		"control characters first":  {"\x00\x00123456789", "12345678", "12345678"},
		"only control characters":   {"\x00\x01", "", ""},
		"emoji within the limit":    {"👩‍💻", "👩‍💻", "👩‍💻"},
		"at the limit, many bytes":  {"五五五五五五五五", "五五五五五五五五", "五五五五五五五五"},
		"over the limit, many byte": {"五五五五五五五五五", "五五五五五五五五", "五五五五五五五五"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := text.Clean(test.text, 8); got != test.want {
				t.Errorf("Clean: %+q, want %+q", got, test.want)
			}
			if got := text.CleanLine(test.text, 8); got != test.line {
				t.Errorf("CleanLine: %+q, want %+q", got, test.line)
			}
		})
	}
}

func TestMarkLoneSurrogates(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ document, want string }{
		"none":             {`{"a":"b"}`, `{"a":"b"}`},
		"pair":             {`"\ud83d\ude00"`, `"\ud83d\ude00"`},
		"pair, upper case": {`"\uD83D\uDE00"`, `"\uD83D\uDE00"`},
		"high":             {`"\ud800"`, `"\u0000"`},
		"low":              {`"a\udc00b"`, `"a\u0000b"`},
		"high twice":       {`"\ud800\ud800"`, `"\u0000\u0000"`},
		"high before pair": {`"\ud800\ud83d\ude00"`, `"\u0000\ud83d\ude00"`},
		"reversed pair":    {`"\ude00\ud83d"`, `"\u0000\u0000"`},
		"high, then text":  {`"\ud800x\udc00"`, `"\u0000x\u0000"`},
		"escaped":          {`"\\ud800"`, `"\\ud800"`},
		"after an escape":  {`"\\\ud800"`, `"\\\u0000"`},
		"other escapes":    {`"\n\u00e9\"\ud800"`, `"\n\u00e9\"\u0000"`},
		"in a key":         {`{"\ud800":1}`, `{"\u0000":1}`},
		"no JSON":          {`\`, `\`},
		"cut off":          {`"\ud80`, `"\ud80`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := []byte(test.document)
			if got := text.MarkLoneSurrogates(given); string(got) != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if string(given) != test.document {
				t.Error("the argument was changed")
			}
		})
	}
}

// FuzzClean checks that cleaned text passes the check, and that text that passes
// the check is kept.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", "Zoë", "a\x00b\r\n\tc", "\xff\xed\xa0\x80", "👩‍💻🇸🇪e\u0301", "\u202e a\u2028", strings.Repeat("x", 100)} {
		f.Add(seed, 10)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = min(max(limit, 0), 1000)
		clean, line := text.Clean(s, limit), text.CleanLine(s, limit)
		if err := text.Check(clean, limit); err != nil {
			t.Errorf("Clean(%+q, %d) = %+q: %v", s, limit, clean, err)
		}
		if err := text.CheckLine(line, limit); err != nil {
			t.Errorf("CleanLine(%+q, %d) = %+q: %v", s, limit, line, err)
		}
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }) {
			t.Errorf("CleanLine(%+q, %d) = %+q", s, limit, line)
		}
		if text.Check(s, limit) == nil && !strings.ContainsRune(s, '\r') && clean != s {
			t.Errorf("Clean(%+q, %d) = %+q", s, limit, clean)
		}
		if again := text.CleanLine(line, limit); again != line {
			t.Errorf("CleanLine(%+q, %d) = %+q, then %+q", s, limit, line, again)
		}
	})
}

// FuzzMarkLoneSurrogates checks that a document stays the same, but for the lone
// surrogates, which encoding/json decodes to U+FFFD.
func FuzzMarkLoneSurrogates(f *testing.F) {
	for _, seed := range []string{`"\ud800"`, `{"\ud83d\ude00":["\\ud800","\udc00\ud800"]}`, `"\ud800\u0041"`, `1`, `"\\\\\ud800\""`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		marked := text.MarkLoneSurrogates(document)
		if !json.Valid(document) {
			return
		}
		before, after := tokens(t, document), tokens(t, marked)
		if before != after {
			t.Errorf("%s became %s", document, marked)
		}
	})
}

// tokens returns the tokens of a JSON document, in which NUL and U+FFFD look the
// same.
func tokens(t *testing.T, document []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var all strings.Builder
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return strings.ReplaceAll(all.String(), "\x00", "\uFFFD")
		}
		if err != nil {
			t.Fatalf("%s: %v", document, err)
		}
		fmt.Fprintf(&all, "%T(%v)", token, token)
	}
}

func TestSentence(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"": "", "not signed in": "Not signed in.", "Not signed in.": "Not signed in.", "is it over?": "is it over?",
		"état inconnu": "État inconnu.",
	} {
		if got := text.Sentence(message); got != want {
			t.Errorf("%q is %q, want %q", message, got, want)
		}
	}
}
