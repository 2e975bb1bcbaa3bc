package meeting

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

func TestTruncate(t *testing.T) {
	t.Parallel()
	const (
		family = "\U0001F469\u200D\U0001F469\u200D\U0001F467" // three people joined: 8 units
		wave   = "\U0001F44B\U0001F3FD"                       // a hand and its skin tone: 4 units
		flag   = "\U0001F1E9\U0001F1EA"                       // two letters: 4 units
		accent = "e\u0301"                                    // a letter and its mark: 2 units
	)
	for name, c := range map[string]struct {
		given string
		limit int
		want  string
	}{
		"short enough":          {"Standin", 60, "Standin"},
		"exactly":               {strings.Repeat("a", 60), 60, strings.Repeat("a", 60)},
		"too long":              {strings.Repeat("a", 61), 60, strings.Repeat("a", 60)},
		"umlauts count once":    {strings.Repeat("ü", 61), 60, strings.Repeat("ü", 60)},
		"emoji count twice":     {strings.Repeat("\U0001F600", 31), 60, strings.Repeat("\U0001F600", 30)},
		"no half emoji":         {"a\U0001F600", 2, "a"},
		"no half letter":        {"ab" + accent, 3, "ab"},
		"whole letter":          {"ab" + accent, 4, "ab" + accent},
		"no half family":        {"ab" + family, 9, "ab"},
		"whole family":          {"ab" + family, 10, "ab" + family},
		"no hand without tone":  {"a" + wave, 4, "a"},
		"no half flag":          {flag + flag, 7, flag},
		"three flags are three": {flag + flag + flag, 8, flag + flag},
		"no space at the end":   {"Ada Quill", 4, "Ada"},
		"nothing fits":          {family, 3, ""},
		"empty":                 {"", 60, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Truncate(c.given, c.limit); got != c.want {
				t.Errorf("Truncate(%+q, %d) = %+q, want %+q", c.given, c.limit, got, c.want)
			}
		})
	}
}

func FuzzTruncate(f *testing.F) {
	f.Add("Ada \U0001F469\u200D\U0001F467 Quill", 7)
	f.Add("e\u0301e\u0301", 3)
	f.Fuzz(func(t *testing.T, given string, limit int) {
		given = SingleLine(given)
		got := Truncate(given, limit)
		if !strings.HasPrefix(given, got) || !utf8.ValidString(got) || len(got) > 0 && len(utf16.Encode([]rune(got))) > limit {
			t.Errorf("Truncate(%+q, %d) = %+q", given, limit, got)
		}
	})
}

func TestSingleLine(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		" a\r\nb\tc \u00a0 d ": "a b c d",
		"a\x00b":               "a b",
		"a\xffb":               "a\uFFFDb",
		"\n":                   "",
	} {
		if got := SingleLine(given); got != want {
			t.Errorf("SingleLine(%q) = %q, want %q", given, got, want)
		}
	}
}

func TestSplitText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given string
		limit int
		want  []string
	}{
		"empty":          {"", 5, nil},
		"one":            {"hello", 5, []string{"hello"}},
		"between words":  {"hello big world", 9, []string{"hello big", "world"}},
		"not in a word":  {"hello bigger", 9, []string{"hello", "bigger"}},
		"no spaces":      {"abcdefgh", 3, []string{"abc", "def", "gh"}},
		"a giant letter": {"\U0001F469\u200D\U0001F467b", 3, []string{"\U0001F469", "\u200D\U0001F467", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := SplitText(c.given, c.limit); !slices.Equal(got, c.want) {
				t.Errorf("SplitText(%q, %d) = %q, want %q", c.given, c.limit, got, c.want)
			}
		})
	}
}
