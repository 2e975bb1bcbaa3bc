package meeting

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/unicode/norm"
)

// wordsFile holds the words of meeting pages in several languages.
//
//go:embed words.yaml
var wordsFile []byte

// Keys of phrases that are no screens.
const (
	nothingPhrase    = "nothing"    // proves nothing
	leftPhrase       = "left"       // the visitor is outside; not why
	invalidPhrase    = "invalid"    // the link leads to no meeting, or to none yet
	botsPhrase       = "bots"       // bots are not admitted
	notStartedPhrase = "notStarted" // somebody lets the visitor in when the meeting starts
)

// words are the words of meeting pages, of all platforms. The comments of
// words.yaml describe them.
type words struct {
	Phrases map[Screen]phrases `yaml:"phrases"` // by screen, and by the keys above
	Labels  map[string]labels  `yaml:"labels"`  // by element

	Candidates map[string]Element `yaml:"candidates"` // by element
	Badges     labels             `yaml:"badges"`     // behind names, in parentheses
	Icons      labels             `yaml:"icons"`      // names of icons beside names
	Replies    struct {
		Granted labels `yaml:"granted"`
		Refused labels `yaml:"refused"`
	} `yaml:"replies"`
	Dialogs struct {
		Without     phrases `yaml:"without"`
		Close       labels  `yaml:"close"`
		Acknowledge labels  `yaml:"acknowledge"`
		Decline     labels  `yaml:"decline"`
		Cancel      labels  `yaml:"cancel"`
		Agree       labels  `yaml:"agree"`
		Accept      labels  `yaml:"accept"`
		Never       phrases `yaml:"never"`
		Join        labels  `yaml:"join"`
		Elsewhere   phrases `yaml:"elsewhere"`
		Recorded    phrases `yaml:"recorded"`
	} `yaml:"dialogs"`
	SignInPaths labels `yaml:"signInPaths"` // parts of paths

	badge *regexp.Regexp // matches badges behind a name
}

// labels are texts, in one list or in a list for each language.
type labels []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (l *labels) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*l = append(*l, norm.NFKC.String(node.Value)) // as fold does with texts
	}
	for _, inner := range node.Content {
		_ = l.UnmarshalYAML(inner) // never fails
	}
	return nil
}

// phrases are parts of sentences.
type phrases []phrase

// phrase is the parts of a sentence that follow each other, each in one of several forms.
type phrase [][]string

// UnmarshalYAML implements yaml.Unmarshaler.
func (p *phrases) UnmarshalYAML(node *yaml.Node) error {
	var texts labels
	_ = texts.UnmarshalYAML(node) // never fails
	for _, text := range texts {
		var parts phrase
		for part := range strings.SplitSeq(text, "*") {
			parts = append(parts, forms(part))
		}
		*p = append(*p, parts)
	}
	return nil
}

// forms returns the forms of a part, which has them in parentheses.
func forms(part string) (all []string) {
	before, rest, opened := strings.Cut(part, "(")
	choices, after, closed := strings.Cut(rest, ")")
	if !opened || !closed {
		return []string{strings.ReplaceAll(spelling.Replace(foldings.Replace(strings.ToLower(part))), "_", " ")}
	}
	for choice := range strings.SplitSeq(choices, "|") {
		all = append(all, forms(before+choice+after)...)
	}
	return all
}

// in reports whether a sentence has the parts of the phrase, one after the other.
func (p phrase) in(sentence string) bool {
	for _, forms := range p {
		end := -1
		for _, form := range forms {
			if start := strings.Index(sentence, form); start >= 0 {
				if ends := start + len(strings.TrimSuffix(form, " ")); end < 0 || ends < end {
					end = ends // its space may be the border of the next word, too
				}
			}
		}
		if end < 0 {
			return false
		}
		sentence = sentence[end:]
	}
	return true
}

// sentences returns the sentences of a text, as phrases are searched in them.
func sentences(text string) []string {
	all := strings.FieldsFunc(fold(text), func(r rune) bool { return strings.ContainsRune(".!?\u3002\u061F\u0964", r) })
	for i, sentence := range all {
		all[i] = "^ " + strings.Join(strings.Fields(spelling.Replace(sentence)), " ") + " "
	}
	return all
}

// spelling replaces what texts of one meaning write in several ways: marks between words, words that are put together, and the
// hamzas and vowel marks of Arabic, Hebrew and Hindi.
var spelling = strings.NewReplacer(strings.Split(`'@' @,@ @:@ @;@ @(@ @)@ @"@ @“@ @”@ @„@ @«@ @»@ `+
	`@-@ @‐@ @‑@ @–@ @—@ @/@ @、@ @・@ @「@ @」@ `+
	"@\u0623@\u0627@\u0625@\u0627@\u0622@\u0627@\u0649@\u064A@\u0629@\u0647@\u064B@@\u064C@@\u064D@@\u064E@@\u064F@@\u0650@@\u0651@@"+
	"\u0652@@\u0640@@\u0901@\u0902@\u093C@", "@")...)

// operatorWords are the words of the operator's words.yaml, if there are any.
var operatorWords atomic.Pointer[words]

// Words returns the file of the built-in words.
func Words() []byte { return wordsFile }

// knownWords returns the operator's words, or those of words.yaml.
func knownWords() *words { return cmp.Or(operatorWords.Load(), embeddedWords()) }

// embeddedWords returns the words of words.yaml.
var embeddedWords = sync.OnceValue(func() *words {
	known, err := parseWords("words.yaml", wordsFile)
	if err != nil {
		panic(err) // it is part of the program, and tested
	}
	return known
})

// parseWords reads a file of words, which has the same keys as words.yaml. source names the file in errors.
func parseWords(source string, data []byte) (*words, error) {
	parsed := new(words)
	if err := yaml.Unmarshal(data, parsed); err != nil {
		return nil, fmt.Errorf("words %s: %w", source, err)
	}
	own, known := keysOf(data), keysOf(wordsFile)
	for _, key := range slices.Sorted(maps.Keys(own)) {
		if known[key] == 0 {
			return nil, fmt.Errorf("words %s: line %d: neither a key of the embedded words.yaml nor a phrase: %s", source, own[key], key[1:])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if own[key] == 0 {
			return nil, fmt.Errorf("words %s: line 1: the key %s is missing", source, key[1:])
		}
	}
	// Badges are in parentheses at the end of a name, such as "(Host, me)".
	one := `(?:` + strings.ReplaceAll(regexp.QuoteMeta(strings.Join(parsed.Badges, "\n")), "\n", "|") + `)`
	parsed.badge = regexp.MustCompile(`(?i)\s*[(（]\s*` + one + `(?:\s*[,，、]\s*` + one + `)*\s*[)）]$`)
	return parsed, nil
}

// keysOf returns the keys of a file of words, each with its path and its line, and texts that are no phrases.
func keysOf(data []byte) map[string]int {
	lines := make(map[string]int)
	var add func(node *yaml.Node, path string)
	add = func(node *yaml.Node, path string) {
		text := node.Value
		if node.Kind == yaml.ScalarNode && (strings.Trim(text, " *_()|") == "" || strings.Count(text, "(") != strings.Count(text, ")")) {
			lines[fmt.Sprintf("%s %q", path, text)] = node.Line
		}
		for i, inner := range node.Content {
			key := path
			if node.Kind == yaml.MappingNode {
				key += "." + node.Content[i-i%2].Value
				lines[key] = inner.Line
			}
			add(inner, key)
		}
	}
	var node yaml.Node
	_ = yaml.Unmarshal(data, &node) // it was decoded before
	add(&node, "")
	return lines
}

// findPhrase returns the first text that says what phrases of a screen say.
func findPhrase(screen Screen, texts []string) (text string, ok bool) {
	i := slices.IndexFunc(texts, func(text string) bool { return hasPhraseOf(text, screen) })
	if i < 0 {
		return "", false
	}
	return texts[i], true
}

// hasPhraseOf reports whether a sentence of a text has a phrase of a screen.
func hasPhraseOf(text string, screen Screen) bool {
	known := knownWords().Phrases
	return slices.ContainsFunc(sentences(text), func(sentence string) bool {
		return known[screen].in(sentence) && !known[nothingPhrase].in(sentence)
	})
}

// hasPhrase reports whether a sentence of a text has one of some phrases.
func hasPhrase(text string, phrases phrases) bool {
	return slices.ContainsFunc(sentences(text), phrases.in)
}

// in reports whether a sentence has one of the phrases.
func (p phrases) in(sentence string) bool {
	return slices.ContainsFunc(p, func(phrase phrase) bool { return phrase.in(sentence) })
}

// foldings replaces characters that pages use alike. The dot above is what is left of a
// Turkish capital I in lower case.
var foldings = strings.NewReplacer("\u2018", "'", "\u2019", "'", "\u02BC", "'", "\u200E", "", "\u200F", "", "\u0307", "")

// fold returns a text in the form in which texts are compared, as probe.js does.
func fold(text string) string {
	text = strings.ToLower(norm.NFKC.String(text))
	return strings.TrimRight(strings.Join(strings.Fields(foldings.Replace(text)), " "), ".! ")
}

// maxSparseText is the length of all texts up to which a page counts as a page
// with a single message.
const maxSparseText = 1200 // characters

// classifyByWords recognizes a screen by phrases that the profile does not have.
// A phrase is weak evidence, so the screen needs another piece: that nothing of a
// call is on the page, or that joining was requested.
func (p *Profile) classifyByWords(snapshot Snapshot, past History) classification {
	offers := snapshot.clickable(joinButton) && (!past.Admitted || snapshot.hasForm())
	if snapshot.Media > 0 || offers || !p.callIsGone(snapshot) && past.Admitted {
		return classified(Unknown)
	}
	// A page for signing in or registering, in any language, asks for an account or an address, and its own address says so.
	names := slices.ContainsFunc(knownWords().SignInPaths, func(part string) bool {
		return strings.Contains(strings.ToLower(snapshot.Path), part)
	})
	asks := func(field OutlineControl) bool { return field.Type == "email" || field.Type == "password" }
	if names && slices.ContainsFunc(snapshot.Outline.Fields, asks) {
		return classified(SignInWall, weakEvidence(EvidenceElement, "a field for an account"),
			weakEvidence(EvidenceAddress, "path "+snapshot.Path))
	}
	texts, where := snapshot.Outline.messages()
	// What a button or link offers, such as "Sign in" in a header, did not happen.
	withoutLabels := slices.DeleteFunc(slices.Clone(texts), func(text string) bool {
		return slices.ContainsFunc(snapshot.Outline.Buttons, func(button OutlineControl) bool { return button.Label == text })
	})
	phrases := []Screen{
		Reconnecting, Removed, LobbyTimedOut, botsPhrase, Denied, leftPhrase, invalidPhrase, NotFound, Ended, SignInWall, CannotConnect,
		notStartedPhrase, Lobby, HostAbsent, BotWall,
	}
	if past.Admitted { // there is such a meeting
		phrases = slices.Insert(phrases, slices.Index(phrases, invalidPhrase), Ended)
	}
	for _, phrase := range phrases {
		searched := withoutLabels
		if phrase == BotWall {
			searched = texts // "Check Captcha" is a button
		}
		text, ok := findPhrase(phrase, searched)
		if !ok {
			continue
		}
		beside, ok := p.evidenceBeside(phrase, snapshot, past)
		if !ok {
			continue
		}
		found := classified(phrase, textEvidence(text, where, weakWeight), beside)
		switch {
		case phrase == leftPhrase && past.Admitted:
			found.screen = Ended
		case phrase == leftPhrase:
			found.screen = Denied
		case phrase == botsPhrase:
			found.screen = BotWall
		case phrase == notStartedPhrase:
			found.screen = HostAbsent
		case phrase == invalidPhrase && slices.ContainsFunc(p.Screens[HostAbsent], func(rule Rule) bool { return rule.Reload }):
			found.screen, found.reload = HostAbsent, true
		case phrase == invalidPhrase:
			found.screen = NotFound
		}
		return found
	}
	return classified(Unknown)
}

// evidenceBeside returns the evidence that a page has beside a phrase, if it has any.
func (p *Profile) evidenceBeside(phrase Screen, snapshot Snapshot, past History) (beside Evidence, ok bool) {
	noWayIn := weakEvidence(EvidenceElement, "the page offers no way in")
	switch phrase {
	case leftPhrase, Removed, Ended:
		return callGoneEvidence(), p.callIsGone(snapshot)
	case Lobby, HostAbsent, notStartedPhrase, Denied, LobbyTimedOut:
		refused := phrase == Denied || phrase == LobbyTimedOut
		switch {
		case refused && snapshot.present(leaveButton) && !snapshot.Visible(joinButton): // a waiting room may say anything
		case past.Requested:
			return requestedEvidence(), true
		case phrase != Lobby && !past.Admitted: // the page asks for nothing, and shows nothing of a call but perhaps a button to leave
			return noWayIn, len(snapshot.Tiles) == 0 && len(p.callControls(snapshot)) == 0 && !snapshot.Visible(nameInput) &&
				!snapshot.Visible(joinButton)
		}
		return Evidence{}, false
	case invalidPhrase:
		return noWayIn, true
	default:
		return noWayIn, p.callIsGone(snapshot) || snapshot.Elements[joinButton].Disabled
	}
}

// messages returns the texts that may say what happens, and where they are: the headings
// and notices, and all texts of a page with little text.
func (o Outline) messages() (texts []string, where string) {
	length := 0
	for _, text := range o.Texts {
		length += utf8.RuneCountInString(text)
	}
	if length <= maxSparseText {
		return o.all(), "a page with a single message"
	}
	return slices.Concat(o.Headings, o.Notices), "headings and notices"
}
