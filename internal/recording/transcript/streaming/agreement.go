package streaming

import (
	"slices"
	"strings"
	"unicode"

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
	tail := words[a.split(words):]
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

// split returns how many of the first words of a run are the confirmed ones: those with
// the fewest insertions, deletions and replacements (Levenshtein), and of several as many
// as were confirmed.
func (a *agreement) split(words []transcript.Word) int {
	row := make([]int, len(words)+1) // distances of the confirmed words so far to the first words of the run
	for j := range row {
		row[j] = j
	}
	for i, known := range a.confirmed {
		diagonal := row[0]
		row[0] = i + 1
		for j, word := range words {
			replaced := diagonal
			if normal(known.Text) != normal(word.Text) {
				replaced++
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, replaced)
		}
	}
	best := min(len(a.confirmed), len(words))
	for j, distance := range row {
		if distance < row[best] {
			best = j
		}
	}
	return best
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
