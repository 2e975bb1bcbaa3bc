package capture

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"standin/internal/bot/meeting"
)

// interfaceWords are words of controls that no profile may hold yet. A control in
// a participant's tile keeps these words and those of the profile; all others may
// be names.
const interfaceWords = `add admit all allow apply ask audio auto background backgrounds blur cam camera cancel
captions change chat close continue copy deny disable disabled done effects enable enabled end enter everyone
exit fit for from full fullscreen gallery hand hide host in info invite join kick layout leave lower main
maximize me meeting menu mic microphone minimize more mute muted name new no not now of off ok on open
options other out participant participants people pin pinned present presenting private profile raise
react reactions remove rename request resize screen send settings share sharing show sound speaker
spotlight start stop switch the this tile to turn unmute unpin unspotlight use video view visual volume
waiting with without yes you your`

// sanitizer removes what identifies people. It replaces the names that snapshots
// of the visit held by Person 1, Person 2 and so on, and masks the
// letters of other texts that participants may have written.
type sanitizer struct {
	content []string // selectors of what participants wrote
	ids     []string // attributes that hold an identifier of a participant
	words   map[string]bool
	phrases map[string]bool // the profile's texts, folded
	names   []alias         // the longest first
}

// alias is a name and what replaces it.
type alias struct {
	name, alias string
	pattern     *regexp.Regexp
}

// The patterns of texts.
var (
	emailPattern   = regexp.MustCompile(`[^\s<>()"'@]+@[^\s<>()"'@]+\.[^\s<>()"'@]+`)
	codePattern    = regexp.MustCompile(`\b[a-z]{3}-[a-z]{4}-[a-z]{3}\b`) // a meeting code of Google Meet
	numberPattern  = regexp.MustCompile(`\d[\d\s().-]{5,}\d`)
	addressPattern = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s<>"']+`)
	wordPattern    = regexp.MustCompile(`[\p{L}\p{M}\p{N}']+`)
	aliasPattern   = regexp.MustCompile(`^(Person|Bot)$|^\d{1,3}$`)
)

// newSanitizer returns a sanitizer for the pages of a profile, which may be nil. It knows
// no names yet.
func newSanitizer(profile *meeting.Profile) *sanitizer {
	s := &sanitizer{words: make(map[string]bool), phrases: make(map[string]bool), ids: []string{}, content: []string{
		`[role="log"]`, `[role="feed"]`, `textarea`, `[contenteditable]:not([contenteditable="false"])`, `[role="textbox"]`,
		`[role="list"] [role="listitem"]`, `[role="tree"] [role="treeitem"]`, `[role="grid"] [role="row"]`, `[role="table"] [role="row"]`,
		`[aria-label*="caption" i]:not(button, [role="button"])`, `[class*="caption" i]:not(button, [role="button"])`,
		`[aria-label*="chat" i]:not(button, [role="button"], [role="tab"])`, `[class*="chat-message" i]`,
		`option`, `[role="option"]`, `[data-message-id]`, `[data-participant-id]`, `[data-self-name]`,
	}}
	s.addWords(interfaceWords)
	if profile != nil {
		s.content = slices.Concat(s.content, profile.ParticipantContent, profile.Roster.Tiles, profile.Roster.Rows, profile.Chat.Messages)
		s.ids = append(append(s.ids, profile.Roster.ID...), profile.Chat.ID...)
		var addTexts func(any)
		addTexts = func(value any) {
			switch value := value.(type) {
			case string:
				s.addWords(value)
				s.phrases[folded(value)] = true
			case []any:
				for _, inner := range value {
					addTexts(inner)
				}
			case map[string]any:
				for _, inner := range value {
					addTexts(inner)
				}
			}
		}
		addTexts(throughJSON(profile))
	}
	return s
}

// throughJSON returns a value as JSON has it; nil if it cannot be encoded.
func throughJSON(value any) (decoded any) {
	if text, err := json.Marshal(value); err == nil {
		_ = json.Unmarshal(text, &decoded)
	}
	return decoded
}

// folded returns a text for comparisons.
func folded(text string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.NewReplacer("\u2018", "'", "\u2019", "'", "\u02BC", "'").Replace(text)), " "))
}

func (s *sanitizer) addWords(text string) {
	for _, word := range wordPattern.FindAllString(text, -1) {
		s.words[strings.ToLower(word)] = true
	}
}

// setNames sets the names of the bot and of participants, and their parts. A
// participant may be called "Leave call": words of the interface are no names.
func (s *sanitizer) setNames(own, others []string) {
	known := make(map[string]string)
	add := func(name, replacement string) (added bool) {
		name = folded(name)
		if name == "" || known[name] != "" || s.phrases[name] || !slices.ContainsFunc(wordPattern.FindAllString(name, -1), func(word string) bool {
			return !s.words[word] && strings.ContainsFunc(word, unicode.IsLetter)
		}) {
			return false
		}
		known[name] = replacement
		for part := range strings.FieldsSeq(name) {
			part = strings.TrimFunc(part, unicode.IsPunct)
			if utf8.RuneCountInString(part) > 2 && !s.words[part] && known[part] == "" {
				known[part] = replacement
			}
		}
		return true
	}
	for _, name := range own {
		add(name, "Bot")
	}
	people := 0
	for _, name := range others {
		if add(name, fmt.Sprintf("Person %d", people+1)) {
			people++
		}
	}
	s.names = nil
	for name, replacement := range known {
		s.names = append(s.names, alias{name, replacement, regexp.MustCompile(`(?i)` + strings.ReplaceAll(regexp.QuoteMeta(name), " ", `\s+`))})
	}
	slices.SortFunc(s.names, func(a, b alias) int {
		return cmp.Or(cmp.Compare(len(b.name), len(a.name)), cmp.Compare(a.name, b.name))
	})
}

// text returns a text of the page without names, e-mail addresses, meeting codes
// and long numbers.
func (s *sanitizer) text(text string) string {
	text = emailPattern.ReplaceAllString(text, "[email]")
	text = s.replaceNames(addressPattern.ReplaceAllStringFunc(text, func(address string) string {
		parsed, err := url.Parse(address)
		if err != nil {
			return ""
		}
		return (&url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: "/"}).String()
	}))
	text = codePattern.ReplaceAllString(text, "xxx-xxxx-xxx")
	return numberPattern.ReplaceAllStringFunc(text, func(number string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return '0'
			}
			return r
		}, number)
	})
}

// replaceNames replaces names.
func (s *sanitizer) replaceNames(text string) string {
	for _, n := range s.names {
		bounded := !strings.Contains(n.name, " ") && !strings.ContainsFunc(n.name, func(r rune) bool {
			return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r)
		})
		var b strings.Builder
		rest := 0
		for _, found := range n.pattern.FindAllStringIndex(text, -1) {
			before, _ := utf8.DecodeLastRuneInString(text[:found[0]])
			after, _ := utf8.DecodeRuneInString(text[found[1]:])
			if bounded && (isWordRune(before) || isWordRune(after)) {
				continue
			}
			b.WriteString(text[rest:found[0]] + n.alias)
			rest = found[1]
		}
		text = b.String() + text[rest:]
	}
	return text
}

// isWordRune reports whether a rune is part of a word.
func isWordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r))
}

// withoutOthers masks the words that are not of the interface.
func (s *sanitizer) withoutOthers(text string) string {
	return wordPattern.ReplaceAllStringFunc(s.replaceNames(emailPattern.ReplaceAllString(text, "x")), func(word string) string {
		if s.words[strings.ToLower(word)] || aliasPattern.MatchString(word) {
			return word
		}
		return mask(word)
	})
}

// name returns the alias of a name, or its mask when it is not known.
func (s *sanitizer) name(text string) string {
	for _, n := range s.names {
		if n.name == folded(text) {
			return n.alias
		}
	}
	return s.withoutOthers(text)
}

// mask replaces all letters and digits of a text.
func mask(text string) string {
	const maxMask = 60
	masked := []rune(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r) || unicode.IsMark(r):
			return 'x'
		case unicode.IsNumber(r):
			return '0'
		case unicode.IsSpace(r):
			return ' '
		}
		return '-'
	}, text))
	return string(masked[:min(len(masked), maxMask)])
}

// snapshots returns the snapshots without what identifies people.
func (s *sanitizer) snapshots(all []meeting.CapturedSnapshot) []meeting.CapturedSnapshot {
	ids := make(map[string]string)
	clean := make([]meeting.CapturedSnapshot, 0, len(all))
	for _, snapshot := range all {
		// A snapshot is copied through JSON, so that no text of it is forgotten.
		var copied meeting.CapturedSnapshot
		decoded := throughJSON(snapshot)
		text, err := json.Marshal(s.value("", decoded, ids))
		if decoded != nil && err == nil && json.Unmarshal(text, &copied) == nil {
			copied.At = snapshot.At
			clean = append(clean, copied)
		}
	}
	return clean
}

// decisions returns the decisions without what identifies people.
func (s *sanitizer) decisions(all []meeting.Decision) []meeting.Decision {
	clean := make([]meeting.Decision, 0, len(all))
	for _, decision := range all {
		evidence := slices.Clone(decision.Evidence)
		for i := range evidence {
			evidence[i].What = s.text(evidence[i].What)
		}
		decision.Evidence = evidence
		clean = append(clean, decision)
	}
	return clean
}

// value returns a JSON value without what identifies people. path is where it is
// in its document, without the indexes of lists.
func (s *sanitizer) value(path string, value any, ids map[string]string) any {
	switch value := value.(type) {
	case map[string]any:
		clean := make(map[string]any, len(value))
		for key, element := range value {
			inner := path + "." + key
			if strings.HasSuffix(path, ".elements") {
				inner = path + ".*"
			}
			clean[key] = s.value(inner, element, ids)
		}
		return clean
	case []any:
		clean := make([]any, len(value))
		for i, element := range value {
			clean[i] = s.value(path, element, ids)
		}
		return clean
	case string:
		if value == "" {
			return ""
		}
		ends := func(suffixes ...string) bool {
			return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(path, suffix) })
		}
		switch {
		case ends(".at", ".host", ".scheme"):
			return value
		case ends(".elements.*.value"):
			return "x"
		case ends(".names", ".author", ".ownName"):
			return s.name(value)
		case ends(".chat.text"):
			return mask(value)
		case ends(".id", ".tracks"):
			if ids[value] == "" {
				ids[value] = fmt.Sprintf("id-%d", len(ids)+1)
			}
			return ids[value]
		case ends(".elements.*.text", ".mark", ".markText"):
			return s.withoutOthers(value)
		}
		return s.text(value)
	}
	return value
}
