package streaming

import (
	"slices"
	"strings"
	"unicode"

	"standin/internal/base/text"
	"standin/internal/recording/transcript"
)

// agreement confirms the words of an utterance on which two runs of a recognizer agree.
// Confirmed words do not change any more, whatever later runs return.
type agreement struct {
	confirmed []transcript.Word
	pending   []transcript.Word // of the last run, after the confirmed ones
}

// add adds the words of a run over the whole utterance so far. Those of the last run are
// all confirmed.
func (a *agreement) add(words []transcript.Word, last bool) {
	normalized := func(words []transcript.Word) (texts []string) {
		for _, word := range words {
			texts = append(texts, normal(word.Text))
		}
		return texts
	}
	// The first words of the run are the confirmed ones: those with the fewest insertions, deletions and replacements
	// (Levenshtein), and of several as many as were confirmed.
	distances := text.PrefixDistances(normalized(a.confirmed), normalized(words))
	best := min(len(a.confirmed), len(words))
	for j, distance := range distances {
		if distance < distances[best] {
			best = j
		}
	}
	tail := words[best:]
	same := 0
	for same < len(tail) && same < len(a.pending) && normal(tail[same].Text) == normal(a.pending[same].Text) {
		same++
	}
	if last {
		same = len(tail)
	}
	a.confirmed = append(a.confirmed, tail[:same]...)
	a.pending = slices.Clone(tail[same:])
}

// result returns what is known of the utterance.
func (a *agreement) result(utterance int, final bool) Result {
	return Result{Utterance: utterance, Words: slices.Concat(a.confirmed, a.pending), Confirmed: len(a.confirmed), Final: final}
}

// normal returns a word without case and punctuation, which change with its context.
func normal(word string) string {
	bare := strings.Map(func(r rune) rune {
		if unicode.IsPunct(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, word)
	if bare == "" {
		return word
	}
	return bare
}
