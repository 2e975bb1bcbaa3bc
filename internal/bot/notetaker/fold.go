package notetaker

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxBytes bounds how much of a name is looked at. Platforms allow 64
	// characters at the most, of at most 4 bytes each, and some names come
	// with marks and joiners between them.
	maxBytes = 1024

	// pause is the word that stands for brackets, commas and the like, over
	// which no pattern reaches unless it has the pause too.
	pause = "|"

	// possessive is the word of "Anna's" behind Anna.
	possessive = "'s"
)

// folding makes letters that look alike the same (platforms, "Names in rosters
// use look-alike letters").
type folding struct {
	latin map[rune]rune // look-alike → the letter or digit that it looks like
}

// words cuts a name into the words that people see in it, in folded letters.
// A dot inside a word begins the next one, so that the domain Read.ai is
// something else than the words Read AI.
func (f folding) words(name string) []string {
	letters := f.letters(name)
	var words []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
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
			writeFolded(&word, letter)
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
			if len(words) > 0 && words[len(words)-1] != pause {
				words = append(words, pause)
			}
		}
	}
	flush()
	if len(words) > 0 && words[len(words)-1] == pause {
		words = words[:len(words)-1]
	}
	return words
}

// letters returns the beginning of a name in small letters, each as the Latin
// letter that it looks like, without marks and without what cannot be seen.
func (f folding) letters(name string) []rune {
	if len(name) > maxBytes {
		name = name[:maxBytes]
	}
	// Twice: some look-alikes decompose into letters that look like nothing,
	// others only into look-alikes.
	var seen strings.Builder
	for _, r := range strings.ToValidUTF8(name, " ") {
		switch {
		case isApostrophe(r):
			seen.WriteByte('\'') // some would decompose to a space
		case !invisible(r):
			seen.WriteRune(f.latinOf(enclosed(r)))
		}
	}
	var letters []rune
	for _, r := range norm.NFKD.String(seen.String()) {
		if !unicode.In(r, unicode.Mn, unicode.Me) {
			letters = append(letters, unicode.ToLower(f.latinOf(r)))
		}
	}
	return letters
}

func (f folding) latinOf(r rune) rune {
	if r < unicode.MaxLatin1 && r != 'ø' && r != 'Ø' {
		return r // most names are spared the table
	}
	if latin, ok := f.latin[r]; ok {
		return latin
	}
	return r
}

// writeFolded writes a small letter as the one that stands for all that look
// like it within ASCII itself.
func writeFolded(word *strings.Builder, letter rune) {
	switch letter {
	case 'i', '1':
		word.WriteByte('l')
	case '0':
		word.WriteByte('o')
	case 'm':
		word.WriteString("rn")
	default:
		word.WriteRune(letter)
	}
}

// invisible reports whether a character takes no room in a name, or is a sign
// that belongs to a brand and not to its letters.
func invisible(r rune) bool {
	switch r {
	case '\u115F', '\u1160', '\u3164', '\uFFA0': // Hangul fillers
		return true
	case '©', '®', '™', '℠':
		return true
	}
	return r > unicode.MaxASCII && unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me)
}

// enclosed returns the letter inside a circle, square or brackets for which
// Unicode knows no decomposition, or one with the brackets.
func enclosed(r rune) rune {
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

// isJoiner reports whether a sign, directly between two letters, joins them to
// one name, as in tl;dv.
func isJoiner(r rune) bool { return strings.ContainsRune("_;+~·", r) || unicode.Is(unicode.Pd, r) }
