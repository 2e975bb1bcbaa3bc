package pagecheck

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"standin/internal/bot/browser"
	"standin/internal/bot/meeting"
)

// learnScript is a JavaScript function; its comment describes it.
//
//go:embed learn.js
var learnScript string

const (
	maxProposals  = 3 // elements of the page for one missing element
	maxCandidates = 4 // of one element
)

// LearnSettings are the settings of Learn.
type LearnSettings struct {
	ReplaySettings
	Elements []string // to propose candidates for; empty: those that the screen should have
}

// Learned holds proposals for elements that a profile does not find on a captured
// page.
type Learned struct {
	Platform string         `json:"platform"`
	Profile  string         `json:"profile"`
	Screen   meeting.Screen `json:"screen"`
	Missing  []Missing      `json:"missing"`
	Texts    []string       `json:"texts"` // that the page shows
}

// Missing is an element that was not found.
type Missing struct {
	Element   string     `json:"element"`
	Proposals []Proposal `json:"proposals"` // the best first
}

// Proposal is an element of the page that may be the missing one.
type Proposal struct {
	Name       string      `json:"name"` // its label or text
	Role       string      `json:"role"`
	Candidates []Candidate `json:"candidates"` // the most stable first
	score      float64
}

// Candidate is a way to find an element, for a profile.
type Candidate struct {
	Basis   string `json:"basis"` // such as data-tid
	CSS     string `json:"css"`
	Text    string `json:"text,omitempty"`
	Matches int    `json:"matches"` // visible elements of the page that it finds
}

// pageControl is an element as the script describes it.
type pageControl struct {
	Role       string      `json:"role"`
	Name       string      `json:"name"`
	Candidates []Candidate `json:"candidates"`
	Area       float64     `json:"area"`
	Disabled   bool        `json:"disabled"`
	Field      bool        `json:"field"`
	Claimed    string      `json:"claimed"`
	Words      string      `json:"words"`
}

// Learn proposes candidates for the elements that a profile does not find on a
// captured page.
func Learn(ctx context.Context, settings LearnSettings) (learned Learned, err error) {
	session, err := openCapture(ctx, settings.ReplaySettings)
	if err != nil {
		return learned, err
	}
	defer func() { err = cmp.Or(err, session.viewer.Close()) }()
	steps, err := session.viewer.Replay(ctx, session.capture, session.profile)
	if err != nil {
		return learned, err
	}
	last := steps[len(steps)-1]
	page, err := session.viewer.Open(ctx, session.capture)
	if err != nil {
		return learned, err
	}
	defer page.Close()
	controls, err := readControls(ctx, page, session.profile, last.Captured.Snapshot)
	if err != nil {
		return learned, err
	}
	learned = Learned{
		Platform: string(session.profile.Platform), Profile: session.profile.Source(), Screen: last.Decision.Screen, Missing: []Missing{},
		Texts: []string{},
	}
	outline := last.Captured.Snapshot.Outline
	learned.Texts = append(learned.Texts, slices.Concat(outline.Headings, outline.Notices, outline.Texts)...)
	slices.Sort(learned.Texts)
	learned.Texts = slices.Compact(learned.Texts)
	wanted, required := settings.Elements, true
	if len(wanted) == 0 {
		wanted = session.profile.ExpectedElements(last.Decision.Screen, last.Captured.Snapshot)
	}
	if len(wanted) == 0 { // the screen is not known: any element may be missing
		wanted, required = slices.Sorted(maps.Keys(session.profile.Elements)), false
	}
	vocabulary := newVocabulary(session.profile)
	for _, name := range wanted {
		if _, defined := session.profile.Elements[name]; !defined {
			return learned, fmt.Errorf("the profile has no element %q", name)
		}
		if last.Captured.Snapshot.Visible(name) {
			continue
		}
		if proposals := propose(session.profile, vocabulary, name, controls, required); len(proposals) > 0 {
			learned.Missing = append(learned.Missing, Missing{Element: name, Proposals: proposals})
		}
	}
	return learned, nil
}

// readControls returns the visible controls of a restored page.
func readControls(ctx context.Context, page *browser.Page, profile *meeting.Profile, snapshot meeting.Snapshot) ([]pageControl, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	for name := range snapshot.Elements {
		find, err := profile.ElementExpression(name)
		if err != nil {
			return nil, err
		}
		if err := page.Eval(ctx, fmt.Sprintf("%s?.setAttribute('data-standin-claimed', %q)", find, name), nil); err != nil {
			return nil, fmt.Errorf("mark the element %s: %w", name, err)
		}
	}
	var controls []pageControl
	if err := page.Eval(ctx, "("+learnScript+")()", &controls); err != nil {
		return nil, fmt.Errorf("read the controls of the page: %w", err)
	}
	return controls, nil
}

// propose returns the controls that may be a missing element, the best first.
// Without a word in common, a control is proposed only for an element that is
// required.
func propose(profile *meeting.Profile, v vocabulary, name string, controls []pageControl, required bool) []Proposal {
	var proposals []Proposal
	for _, control := range controls {
		if control.Claimed != "" || control.Field != v.fields[name] {
			continue
		}
		words := wordsOf(control.Words)
		slices.Sort(words)
		score := 0.0
		for _, word := range slices.Compact(words) {
			if v.words[name][word] { // one that describes few elements counts more
				score += 1 / float64(v.counts[word])
			}
		}
		if score < minScore && (!required || control.Role != "button" && !control.Field) || !profile.MayHaveLabel(name, control.Name) {
			continue
		}
		if control.Disabled {
			score -= minScore / 2
		}
		proposals = append(proposals, Proposal{
			Name: control.Name, Role: control.Role, score: score + min(control.Area/1e6, 0.05),
			Candidates: control.Candidates[:min(len(control.Candidates), maxCandidates)],
		})
	}
	slices.SortStableFunc(proposals, func(a, b Proposal) int { return cmp.Compare(b.score, a.score) })
	return proposals[:min(len(proposals), maxProposals)]
}

// minScore is the score from which a control is proposed for any element.
const minScore = 0.5

// vocabulary is the words that describe the elements of a profile.
type vocabulary struct {
	words  map[string]map[string]bool // by element
	fields map[string]bool            // elements that are fields
	counts map[string]int             // of the elements that a word describes
}

// wordPattern matches a word of a selector, a label or a name in camel case.
var wordPattern = regexp.MustCompile(`\p{Lu}?\p{Ll}+|\p{Lu}+|\p{Lo}+`)

// plainWords describe any element.
const plainWords = ` a action aria as at button checked class css data dialog div for has id in input is it item jsname label mdc name no not of ok on or role row span text textarea the tid to type with `

func wordsOf(text string) []string {
	var words []string
	for _, word := range wordPattern.FindAllString(text, -1) {
		if word = strings.ToLower(word); !strings.Contains(plainWords, " "+word+" ") && len(word) > 1 {
			words = append(words, word)
		}
	}
	return words
}

func newVocabulary(profile *meeting.Profile) vocabulary {
	v := vocabulary{words: make(map[string]map[string]bool), fields: make(map[string]bool), counts: make(map[string]int)}
	for name, candidates := range profile.Elements {
		texts := []string{name}
		for _, candidate := range candidates {
			texts = append(texts, candidate.CSS)
			isField := strings.HasPrefix(candidate.CSS, `input[type="text"]`) || strings.HasPrefix(candidate.CSS, "textarea") ||
				strings.HasSuffix(name, "Input")
			v.fields[name] = v.fields[name] || isField
			if candidate.Text != nil {
				texts = slices.Concat(texts, candidate.Text.Equals, candidate.Text.StartsWith, candidate.Text.Contains)
			}
		}
		words := make(map[string]bool)
		for _, word := range wordsOf(strings.Join(texts, " ")) {
			words[word] = true
		}
		v.words[name] = words
		for word := range words {
			v.counts[word]++
		}
	}
	return v
}

// WriteJSON writes the learned as JSON.
func (l Learned) WriteJSON(w io.Writer) error { return writeJSON(w, l) }

// WriteText writes the proposals as YAML to paste into a profile.
func (l Learned) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: the captured page shows %s.\n", oneLine(l.Profile), l.Screen)
	if len(l.Missing) == 0 {
		b.WriteString("# No control of the page fits an element that the profile does not find.\n")
	} else {
		b.WriteString("# Put the right candidates first in the lists of these elements.\nelements:\n")
	}
	for _, missing := range l.Missing {
		fmt.Fprintf(&b, "  %s:\n", missing.Element)
		for _, proposal := range missing.Proposals {
			fmt.Fprintf(&b, "    # %s %s\n", cmp.Or(proposal.Role, "element"), quoted(proposal.Name))
			for _, candidate := range proposal.Candidates {
				finds := "finds only this"
				if candidate.Matches != 1 {
					finds = fmt.Sprintf("finds %d", candidate.Matches)
				}
				fmt.Fprintf(&b, "    - css: %s # by %s, %s\n", yamlQuoted(candidate.CSS), candidate.Basis, finds)
				if candidate.Text != "" {
					fmt.Fprintf(&b, "      text: {equals: [%s]}\n", yamlQuoted(candidate.Text))
				}
			}
		}
	}
	if len(l.Texts) > 0 {
		b.WriteString("# Texts of the page. To recognize its screen, add the one that identifies it to a rule of the screen.\n")
		for _, text := range l.Texts {
			fmt.Fprintf(&b, "#   %s\n", yamlQuoted(oneLine(text)))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// yamlQuoted quotes a text of the page for YAML.
func yamlQuoted(text string) string { return "'" + strings.ReplaceAll(oneLine(text), "'", "''") + "'" }
