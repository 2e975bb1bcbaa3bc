package streaming

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"standin/internal/recording/transcript"
)

func texts(words []transcript.Word) []string {
	all := []string{}
	for _, w := range words {
		all = append(all, w.Text)
	}
	return all
}

func TestAgreement(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		runs []string // of one utterance; the last one is the whole
		want []string // confirmed words | others
	}{
		"grows": {
			[]string{"one", "one two", "one two three", "one two three"}, []string{"| one", "one | two", "one two | three", "one two three |"},
		},
		"punctuation": {[]string{"Hello", "hello, world", "Hello world."}, []string{"| Hello", "hello, | world", "hello, world. |"}},
		"corrected": {
			[]string{"one to", "one two three", "one two three four"}, []string{"| one to", "one | two three", "one two three four |"},
		},
		"later runs lose": {
			[]string{"one two three", "one two three", "three four", "two three four five"},
			[]string{"| one two three", "one two three |", "one two three | four", "one two three four five |"},
		},
		"repeated words": {[]string{"no", "no no", "no no no", "no no no"}, []string{"| no", "no | no", "no no | no", "no no no |"}},
		"nothing":        {[]string{"you", "", ""}, []string{"| you", "|", "|"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var a agreement
			got := []string{}
			for i, run := range test.runs {
				a.add(plainWords(run), i == len(test.runs)-1)
				r := a.result(1, false)
				all := texts(r.Words)
				got = append(got, strings.TrimSpace(strings.Join(slices.Insert(all, r.Confirmed, "|"), " ")))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestAgreementProperties checks, with a recognizer that errs, that confirmed words never
// change, and with one that errs only near the end of the sound, that every word is there
// once.
func TestAgreementProperties(t *testing.T) {
	t.Parallel()
	words := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
	rapid.Check(t, func(t *rapid.T) {
		said := rapid.SliceOfN(words, 1, 30).Draw(t, "said")
		wild := rapid.Bool().Draw(t, "wild")
		var a agreement
		var before []transcript.Word
		for length, last := 0, false; !last; {
			length = min(length+rapid.IntRange(1, 6).Draw(t, "more"), len(said))
			last = length == len(said)
			run := slices.Clone(said[:length])
			switch {
			case wild:
				run = rapid.SliceOfN(words, 0, 30).Draw(t, "run")
			case !last && rapid.Bool().Draw(t, "cut off"):
				run[len(run)-1] = rapid.StringMatching(`[x-z]{3,8}`).Draw(t, "heard")
			}
			a.add(plainWords(strings.Join(run, " ")), last)
			r := a.result(1, last)
			if r.Confirmed < len(before) || !slices.Equal(texts(r.Words[:len(before)]), texts(before)) {
				t.Fatalf("confirmed %q, then %q", texts(before), texts(r.Words[:r.Confirmed]))
			}
			before = slices.Clone(r.Words[:r.Confirmed])
			if last && (r.Confirmed != len(r.Words) || !wild && !slices.Equal(texts(r.Words), said)) {
				t.Fatalf("heard %q of %q", texts(r.Words), said)
			}
		}
	})
}
