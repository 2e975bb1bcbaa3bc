package notetaker

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestDisguisesMatch checks that a known name matches in any mixture of similar
// letters, case and invisible characters.
func TestDisguisesMatch(t *testing.T) {
	t.Parallel()
	list := builtIn(t)
	disguises := make(map[rune][]rune) // by small letter
	for other, latin := range lookalikes {
		disguises[latin] = append(disguises[latin], other)
	}
	for offset := range rune(26) {
		disguises['a'+offset] = append(disguises['a'+offset],
			'A'+offset, 'Ａ'+offset, 'ａ'+offset, '𝐀'+offset, '𝗮'+offset, 'ⓐ'+offset, '🅐'+offset, '🅰'+offset)
	}
	disguises['l'] = append(disguises['l'], 'I', '1', 'i')
	disguises['i'] = append(disguises['i'], 'l', '1', 'L')
	disguises['o'] = append(disguises['o'], '0')
	for _, others := range disguises {
		slices.Sort(others) // rapid's draws must not depend on the order of the map
	}
	invisible := []rune{'\u200b', '\u200c', '\u200d', '\u2060', '\ufeff', '\u00ad', '\u202e', '\u2066', '\u0301', '\u034f', '\ufe0f', '\u3164'}

	rapid.Check(t, func(t *rapid.T) {
		known := rapid.SampledFrom(list.notetakers).Draw(t, "notetaker")
		pattern := rapid.SampledFrom(slices.Concat(known.anywhere, known.first, known.whole)).Draw(t, "pattern")
		plain := strings.ReplaceAll(spelled(pattern), "rn", "m")
		var name strings.Builder
		for _, letter := range plain {
			if others := disguises[letter]; len(others) > 0 && rapid.Bool().Draw(t, "disguised") {
				letter = rapid.SampledFrom(others).Draw(t, "letter")
			}
			name.WriteRune(letter)
			for range rapid.IntRange(0, 2).Draw(t, "invisible count") {
				name.WriteRune(rapid.SampledFrom(invisible).Draw(t, "invisible character"))
			}
		}
		if _, ok := list.Match(name.String()); !ok {
			t.Fatalf("%q (%+q), which is %q of %s, does not match", name.String(), name.String(), plain, known.name)
		}
	})
}

// spelled returns a folded pattern as a name.
func spelled(pattern []string) string {
	var name strings.Builder
	for i, word := range pattern {
		if i > 0 && word[0] != '.' && word != possessive {
			name.WriteByte(' ')
		}
		name.WriteString(word)
	}
	return name.String()
}

// FuzzMatch checks that no name breaks matching, and that the number of compared
// words is limited.
func FuzzMatch(f *testing.F) {
	for _, seed := range []string{
		"Otter.ai", "Anna's Notetaker (Guest)", "𝓞𝓽𝓽𝓮𝓻", "\xff\xfe.\xff", "''s's' s", strings.Repeat("\ufdfa", 400),
		strings.Repeat("a\u0301", 5000), strings.Repeat("-;.(", 400), "a.b.c..d", "\u202e\u200b",
	} {
		f.Add(seed)
	}
	list := builtIn(f)
	own := list.Without("Acme Notetaker")
	f.Fuzz(func(t *testing.T, name string) {
		known, ok := list.Match(name)
		if ok != (known != "") {
			t.Fatalf("Match gives %q and %t", known, ok)
		}
		if _, stillOk := own.Match(name); stillOk && !ok {
			t.Fatalf("%q matches only for a bot of another name", name)
		}
		words := foldedWords(name)
		length := 0
		for i, word := range words {
			length += len(word)
			if word == "" || !utf8.ValidString(word) || strings.ContainsFunc(word, unicode.IsSpace) {
				t.Fatalf("%q gives the word %q", name, word)
			}
			if word == separator && (i == 0 || i == len(words)-1 || words[i-1] == separator) {
				t.Fatalf("%q gives the words %q", name, words)
			}
		}
		const maxGrowth = 20 // by any character's decomposition
		if length > maxBytes*maxGrowth {
			t.Fatalf("a name of %d bytes gives words of %d", len(name), length)
		}
	})
}
