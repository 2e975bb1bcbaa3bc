package notetaker

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxBytes limits how much of a name is read. Platforms allow at most 64
	// characters of at most 4 bytes, and names may have marks and joiners between
	// them.
	maxBytes = 1024

	// separator is the word for brackets, commas and similar signs. Patterns match
	// across one only if they contain it.
	separator = "|"

	// possessive is the word for the 's in "Anna's".
	possessive = "'s"
)

// foldedWords splits a name into words of folded letters: letters that look alike are the same. A dot inside a word starts
// the next one, so that the domain Read.ai differs from the words Read AI.
func foldedWords(name string) []string {
	letters := lettersOf(name)
	var words []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			words = append(words, similar.Replace(word.String()))
			word.Reset()
		}
	}
	at := func(i int) rune {
		if i < 0 || i >= len(letters) {
			return ' '
		}
		return letters[i]
	}
	for i := 0; i < len(letters); i++ {
		letter := letters[i]
		inside := isWordLetter(at(i-1)) && isWordLetter(at(i+1))
		switch {
		case isWordLetter(letter):
			word.WriteRune(letter)
		case isApostrophe(letter) && at(i+1) == 's' && !isWordLetter(at(i+2)):
			flush()
			words = append(words, possessive)
			i++
		case isApostrophe(letter) && at(i-1) == 's' && !isWordLetter(at(i+1)):
			flush()
			words = append(words, possessive)
		case letter == '.' && inside:
			flush()
			word.WriteByte('.')
		case unicode.IsSpace(letter), isApostrophe(letter), isJoiner(letter) && inside:
			flush()
		default:
			flush()
			if len(words) > 0 && words[len(words)-1] != separator {
				words = append(words, separator)
			}
		}
	}
	flush()
	if len(words) > 0 && words[len(words)-1] == separator {
		words = words[:len(words)-1]
	}
	return words
}

// lettersOf returns the first maxBytes of a name in lower case, each letter as the
// Latin letter that it resembles, without marks and invisible characters.
func lettersOf(name string) []rune {
	if len(name) > maxBytes {
		name = name[:maxBytes]
	}
	// Letters are replaced before and after decomposition: some decompose into
	// letters outside the table, others only into similar letters.
	var visible strings.Builder
	for _, r := range strings.ToValidUTF8(name, " ") {
		switch {
		case isApostrophe(r):
			visible.WriteByte('\'') // some decompose into a space
		case !isInvisible(r):
			visible.WriteRune(latinOf(enclosedLetter(r)))
		}
	}
	var letters []rune
	for _, r := range norm.NFKD.String(visible.String()) {
		if !unicode.In(r, unicode.Mn, unicode.Me) {
			letters = append(letters, unicode.ToLower(latinOf(r)))
		}
	}
	return letters
}

// latinOf returns the Latin letter that a letter resembles, or the letter itself.
func latinOf(r rune) rune {
	if r < unicode.MaxLatin1 && r != 'ø' && r != 'Ø' {
		return r // most letters need no lookup
	}
	if latin, ok := lookalikes[r]; ok {
		return latin
	}
	return r
}

// similar replaces similar ASCII letters and digits in lower case by one of them.
var similar = strings.NewReplacer("i", "l", "1", "l", "0", "o", "m", "rn")

// isInvisible reports whether a character is invisible, or is a trademark sign,
// which does not count as part of a name.
func isInvisible(r rune) bool {
	const hangulFillers, trademarks = "\u115F\u1160\u3164\uFFA0", "©®™℠"
	return strings.ContainsRune(hangulFillers+trademarks, r) || r > unicode.MaxASCII && unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me)
}

// enclosedLetter returns the letter inside a circle, square or brackets that has no
// decomposition in Unicode, or one that includes the brackets. It returns other
// characters unchanged.
func enclosedLetter(r rune) rune {
	for _, first := range []rune{
		'\u249C',     // (a)
		'\U0001F110', // (A)
		'\U0001F150', // white in a black circle
		'\U0001F170', // white in a black square
		'\U0001F1E6', // of flags
	} {
		if first <= r && r < first+26 {
			return 'a' + r - first
		}
	}
	return r
}

func isWordLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

func isApostrophe(r rune) bool { return strings.ContainsRune("'’‘ʼʹ′`‛´＇", r) }

// isJoiner reports whether a sign between two letters only separates words of one
// name, as in tl;dv.
func isJoiner(r rune) bool { return strings.ContainsRune("_;+~·", r) || unicode.Is(unicode.Pd, r) }
