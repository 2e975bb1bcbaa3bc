package bot

import (
	"slices"
	"strings"
	"unicode"
)

// The whole messages that count as an answer to the question whether the
// meeting may be recorded. Anything else is conversation: a word found within
// a sentence is no consent.
func consenting() []string {
	return []string{
		"yes", "y", "yes please", "yes you may", "yes you can", "yes go ahead", "yes that's fine", "yes of course", "yes ok",
		"ok", "okay", "k", "sure", "yep", "yeah", "yup", "fine", "fine with me", "fine by me", "that's fine", "of course",
		"go ahead", "please do", "allow", "allowed", "i allow it", "i agree", "agreed", "approved", "granted",
		"permission granted", "accept", "accepted", "you may", "you may record", "you can record", "no problem", "no objection", "no objections",
		"👍", "✅",
	}
}

func refusing() []string {
	return []string{
		"no", "n", "no thanks", "no thank you", "no please", "nope", "no you may not", "no don't", "no do not", "no recording",
		"don't", "do not", "please don't", "please do not", "don't record", "do not record", "please don't record", "please do not record",
		"deny", "denied", "refuse", "refused", "declined", "not allowed", "permission denied", "i don't agree", "i do not agree",
		"i disagree", "rather not", "better not", "stop", "stop recording", "👎", "❌", "🚫",
	}
}

// readReply tells whether a chat message answers the question, and how.
func readReply(text string) (granted, ok bool) {
	said := spoken(text)
	switch {
	case said == "":
		return false, false
	case slices.Contains(consenting(), said):
		return true, true
	case slices.Contains(refusing(), said):
		return false, true
	}
	return false, false
}

// spoken is a message without what makes no difference to a short answer: its
// case, punctuation, white space, and the colour of a hand.
func spoken(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '’' || r == '‘' || r == '\'':
			return '\''
		case unicode.Is(unicode.Variation_Selector, r), r >= '\U0001F3FB' && r <= '\U0001F3FF', unicode.Is(unicode.Cf, r):
			return -1
		case unicode.IsPunct(r):
			return ' '
		}
		return unicode.ToLower(r)
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
