package zoomsdk

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

func TestBeginning(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text  string
		limit int
		want  string
	}{
		{"Standin", 64, "Standin"},
		{"Standin of Ada", 8, "Standin"},
		{"añb", 2, "añ"},
		{"an\u0303b", 2, "a"}, // the tilde belongs to the n
		{"a😀b", 2, "a"},       // two units
		{"a😀b", 3, "a😀"},
		{"👩\u200d💻", 3, ""}, // one picture of two joined
		{"", 5, ""},
	} {
		if got := beginning(test.text, test.limit); got != test.want {
			t.Errorf("beginning(%q, %d) is %q, want %q", test.text, test.limit, got, test.want)
		}
	}
}

func TestParted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                nil,
		"short":           {"short"},
		"one two three":   {"one two", "three"},
		"abcdefghijklmno": {"abcdefghij", "klmno"},
		"abcdefghij klm":  {"abcdefghij", "klm"},
	} {
		if got := parted(text, 10); !slices.Equal(got, want) {
			t.Errorf("parted(%q) is %q, want %q", text, got, want)
		}
	}
}

// FuzzParted: nothing but spaces is lost, and no part is too long.
func FuzzParted(f *testing.F) {
	for _, seed := range []string{"", "one two three", "e\u0301\u0301\u0301\u0301", "👩\u200d💻👩\u200d💻", strings.Repeat("x", 30)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const limit = 10
		line := plain(text)
		joined := ""
		for _, part := range parted(line, limit) {
			if units := len(utf16.Encode([]rune(part))); units == 0 || units > limit {
				t.Fatalf("a part of %q has %d units: %q", line, units, part)
			}
			joined += part
		}
		if strip(joined) != strip(line) {
			t.Fatalf("%q became %q", line, joined)
		}
	})
}

func strip(text string) string { return strings.Join(strings.Fields(text), "") }
