package meeting

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"standin/internal/jobs/job"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/unicode/norm"
)

// wordsFile holds the words of meeting pages in several languages.
//
//go:embed words.yaml
var wordsFile []byte

// Keys of phrases that are no screens.
const (
	leftPhrase       = "left"       // the visitor is outside; not why
	invalidPhrase    = "invalid"    // the link leads to no meeting, or to none yet
	notStartedPhrase = "notStarted" // somebody lets the visitor in when the meeting starts
)

// words are the words of meeting pages, of all platforms. The comments of
// words.yaml describe them.
type words struct {
	Phrases map[Screen]phrases `yaml:"phrases"` // by screen, and by the keys above
	Labels  map[string]phrases `yaml:"labels"`  // by element
	Devices struct {
		Microphone []string `yaml:"microphone"`
		Camera     []string `yaml:"camera"`
	} `yaml:"devices"` // names of the devices, as labels of what turns them on and off
	Badges  []string `yaml:"badges"` // behind names, in parentheses
	Icons   []string `yaml:"icons"`  // names of icons beside names
	Dialogs struct {
		Close       []string `yaml:"close"`
		Acknowledge []string `yaml:"acknowledge"`
		Decline     []string `yaml:"decline"`
		Cancel      []string `yaml:"cancel"`
		Agree       []string `yaml:"agree"`
		Accept      []string `yaml:"accept"`
		Never       []string `yaml:"never"`
		Join        []string `yaml:"join"`
		Elsewhere   []string `yaml:"elsewhere"`
		Recorded    []string `yaml:"recorded"`
	} `yaml:"dialogs"`
}

// phrases are phrases or labels. words.yaml has a list of them for each language.
type phrases []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (p *phrases) UnmarshalYAML(node *yaml.Node) error {
	var languages [][]string
	if err := node.Decode(&languages); err != nil {
		return err
	}
	for _, phrase := range slices.Concat(languages...) {
		*p = append(*p, norm.NFKC.String(phrase)) // as fold does with texts
	}
	return nil
}

// knownWords returns the words of words.yaml.
var knownWords = sync.OnceValue(func() words {
	var known words
	decoder := yaml.NewDecoder(bytes.NewReader(wordsFile))
	decoder.KnownFields(true)
	if err := decoder.Decode(&known); err != nil {
		panic(fmt.Sprintf("words.yaml: %v", err)) // it is part of the program, and tested
	}
	return known
})

// notOfPeople excludes the controls of participants, whom the bot could mute.
const notOfPeople = `:not(:root:not(:has([jsname="Qx7uuf"], input[autocomplete="name"])) [data-participant-id] *, [data-stream-type] *, [role="listitem"] *, [role="treeitem"] *, [class*="video-avatar"] *)`

// addWords adds the labels in other languages, and the names of devices, to the elements
// of a profile, after the profile's own candidates, and the words of recording notices to
// what stays in the picture, where the profile keeps any.
func (p *Profile) addWords() {
	if p.Elements == nil {
		p.Elements = make(map[string]Element)
	}
	const buttons = `button, [role="button"]`
	for name, labels := range knownWords().Labels {
		if _, defined := p.Elements[name]; !defined {
			continue
		}
		added := Candidate{CSS: buttons, Text: &TextMatch{StartsWith: labels}}
		switch name {
		case joinButton, leaveButton:
			added = Candidate{CSS: `:is(button, [role="button"]):not([role="dialog"] *, .zm-modal *)`, Text: &TextMatch{Equals: labels}}
			if name == joinButton && p.Platform == job.Teams { // at the end, its button to join again has such a label, too
				added.CSS = `:root:has(` + textFields + `) ` + added.CSS
			}
		case confirmLeave, allowDevices, dismissTip:
			added.Text = &TextMatch{Equals: labels}
		case microphoneOn, microphoneOff, cameraOn, cameraOff:
			added.CSS = `:is(button, [role="button"])` + notOfPeople
		case nameInput:
			added.CSS = textFields
		case useBrowser, launchApp:
			added.CSS = buttons + ", a"
		case computerAudio:
			added.CSS = buttons + `, [role="radio"][aria-checked="false"], input[type="radio"]:not(:checked)`
		}
		p.Elements[name] = append(p.Elements[name], added)
	}
	const on, off = `:is([aria-pressed="true"], [aria-checked="true"], input[type="checkbox"]:checked)`, `:is([aria-pressed="false"], [aria-checked="false"], input[type="checkbox"]:not(:checked))`
	devices := knownWords().Devices
	for _, device := range []struct {
		element, css string
		names        []string
	}{
		{microphoneOn, on, devices.Microphone}, {microphoneOff, off, devices.Microphone}, {cameraOn, on, devices.Camera},
		{cameraOff, off, devices.Camera},
	} {
		p.Elements[device.element] = append(p.Elements[device.element], Candidate{
			CSS: device.css + notOfPeople, Text: &TextMatch{Equals: device.names},
		})
	}
	if len(p.Picture.Kept) > 0 {
		p.Picture.Kept = append(p.Picture.Kept, Candidate{
			CSS: `[role="status"], [role="alert"]`, Text: &TextMatch{Contains: knownWords().Dialogs.Recorded},
		})
	}
}

// textFields are the fields that may ask for a name.
const textFields = `input[type="text"]:not([role="searchbox"], [role="combobox"]), input:not([type]):not([role="searchbox"], [role="combobox"])`

// findPhrase returns the first text that contains a phrase.
func findPhrase(phrases, texts []string) (text string, ok bool) {
	i := slices.IndexFunc(texts, func(text string) bool { return hasPhrase(text, phrases) })
	if i < 0 {
		return "", false
	}
	return texts[i], true
}

// hasPhrase reports whether a text contains one of some phrases.
func hasPhrase(text string, phrases []string) bool {
	folded := fold(text)
	return slices.ContainsFunc(phrases, func(phrase string) bool { return containsPhrase(folded, phrase) })
}

// hasPhraseOf reports whether a text contains a phrase of a screen.
func hasPhraseOf(text string, screen Screen) bool {
	return hasPhrase(text, knownWords().Phrases[screen])
}

// containsPhrase reports whether a folded text contains the parts of a phrase, which a *
// separates, one after the other.
func containsPhrase(text, phrase string) bool {
	for part := range strings.SplitSeq(phrase, "*") {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return true
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
	if snapshot.Media > 0 || snapshot.clickable(joinButton) || !p.callIsGone(snapshot) && past.Admitted {
		return classification{screen: Unknown}
	}
	texts, where := snapshot.Outline.messages()
	if evidence := signInForm(snapshot); evidence != nil {
		return classification{screen: SignInWall, evidence: evidence}
	}
	// What a button or link offers, such as "Sign in" in a header, did not happen.
	withoutLabels := slices.DeleteFunc(slices.Clone(texts), func(text string) bool {
		return slices.ContainsFunc(snapshot.Outline.Buttons, func(button OutlineControl) bool { return button.Label == text })
	})
	for _, phrase := range []Screen{
		Reconnecting, Removed, Denied, LobbyTimedOut, Ended, leftPhrase, invalidPhrase, NotFound, SignInWall, CannotConnect, notStartedPhrase,
		Lobby, HostAbsent, BotWall,
	} {
		searched := withoutLabels
		if phrase == BotWall {
			searched = texts // "Check Captcha" is a button
		}
		text, ok := findPhrase(knownWords().Phrases[phrase], searched)
		if !ok {
			continue
		}
		evidence := append([]Evidence{textEvidence(text, where, weakWeight)}, p.evidenceBeside(phrase, snapshot, past)...)
		if totalWeight(evidence) >= minWeight {
			screen, reload := p.screenOfPhrase(phrase, past)
			return classification{screen: screen, evidence: evidence, reload: reload}
		}
	}
	return classification{screen: Unknown}
}

// screenOfPhrase returns the screen that a phrase stands for, and whether the page needs
// reloads.
func (p *Profile) screenOfPhrase(phrase Screen, past History) (screen Screen, reload bool) {
	switch {
	case phrase == leftPhrase && past.Admitted:
		return Ended, false
	case phrase == leftPhrase:
		return Denied, false
	case phrase == notStartedPhrase:
		return HostAbsent, false
	case phrase == invalidPhrase && slices.ContainsFunc(p.Screens[HostAbsent], func(rule Rule) bool { return rule.Reload }):
		return HostAbsent, true
	case phrase == invalidPhrase:
		return NotFound, false
	default:
		return phrase, false
	}
}

// evidenceBeside returns the evidence that a page has beside a phrase, if it has any.
func (p *Profile) evidenceBeside(phrase Screen, snapshot Snapshot, past History) []Evidence {
	gone := p.callIsGone(snapshot)
	noWayIn := []Evidence{{Kind: EvidenceElement, What: "the page offers no way in", Weight: weakWeight}}
	switch phrase {
	case leftPhrase, Removed, Ended:
		if gone {
			return []Evidence{callGoneEvidence()}
		}
	case Lobby, HostAbsent, notStartedPhrase, Denied, LobbyTimedOut:
		refused := phrase == Denied || phrase == LobbyTimedOut
		switch {
		case refused && snapshot.present(leaveButton) && !snapshot.Visible(joinButton): // a waiting room may say anything
		case past.Requested:
			return []Evidence{requestedEvidence()}
		case phrase != Lobby && !past.Admitted && p.onlyWaits(snapshot):
			return noWayIn
		}
	case invalidPhrase:
		return noWayIn
	default:
		if gone || snapshot.Elements[joinButton].Disabled {
			return noWayIn
		}
	}
	return nil
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

// signInForm returns the evidence of a page for signing in or registering in any
// language: it asks for an account or an address, and its own address says so.
func signInForm(snapshot Snapshot) []Evidence {
	path := strings.ToLower(snapshot.Path)
	asks := slices.ContainsFunc(snapshot.Outline.Fields, func(field OutlineControl) bool {
		return field.Type == "email" || field.Type == "password"
	})
	names := slices.ContainsFunc([]string{
		"signin", "sign-in", "login", "oauth", "authorize", "/register", "/registration",
	}, func(part string) bool {
		return strings.Contains(path, part)
	})
	if !asks || !names {
		return nil
	}
	return []Evidence{
		{Kind: EvidenceElement, What: "a field for an account", Weight: weakWeight},
		{Kind: EvidenceAddress, What: "path " + snapshot.Path, Weight: weakWeight},
	}
}
