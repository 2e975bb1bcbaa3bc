package meeting

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"standin/internal/job"
)

// Profile is what is known of a platform's meeting page: where things stand and
// which words tell its screens apart. How to write one stands at the head of
// profiles/meet.yaml.
type Profile struct {
	Platform job.Platform `yaml:"platform"`
	Version  int          `yaml:"version"`
	Date     string       `yaml:"date"` // year-month-day
	Limits   Limits       `yaml:"limits"`

	// ParticipantContent are CSS selectors of the places that hold what
	// participants wrote or are called. No screen's text is looked for there.
	ParticipantContent []string `yaml:"participantContent"`
	// Regions name the places in which texts are looked for.
	Regions  map[string][]string `yaml:"regions"`
	Elements map[string]Element  `yaml:"elements"`
	Screens  map[Screen][]Rule   `yaml:"screens"`

	// In the meeting: nobody else is there; the platform says that it records;
	// the host's answer to the platform's own request for permission.
	Alone      []Rule                `yaml:"alone"`
	Recorded   []Rule                `yaml:"recorded"`
	Permission map[Permission][]Rule `yaml:"permission"`

	Roster Roster `yaml:"roster"`
	Chat   Chat   `yaml:"chat"`

	source string // the file, for errors
}

// Limits are the platform's, in UTF-16 units, as pages count.
type Limits struct {
	Name int `yaml:"name"`
	Chat int `yaml:"chat"`
}

// Element is something on the page: the first of its candidates that matches
// anything visible.
type Element []Candidate

// Candidate is one way to find an element. All that it names must hold.
type Candidate struct {
	CSS       string     `yaml:"css" json:"css"`
	Text      *TextMatch `yaml:"text" json:"text,omitempty"`           // of the element, its parts or its aria-label
	Within    *Candidate `yaml:"within" json:"within,omitempty"`       // an element around it
	MinWidth  float64    `yaml:"minWidth" json:"minWidth,omitempty"`   // of the part in sight, in pixels
	MinHeight float64    `yaml:"minHeight" json:"minHeight,omitempty"` // likewise
}

// TextMatch holds the texts of which one must be there. Case, white space, the
// kind of apostrophe and final dots do not count.
type TextMatch struct {
	Equals     []string `yaml:"equals" json:"equals,omitempty"`
	StartsWith []string `yaml:"startsWith" json:"startsWith,omitempty"`
	Contains   []string `yaml:"contains" json:"contains,omitempty"`
}

// TextCondition is a text that stands in a region of the page.
type TextCondition struct {
	In        []string `yaml:"in"`
	TextMatch `yaml:",inline"`

	place string // where it stands in the profile: its key in a snapshot
}

// Rule is one way to recognise a screen. All that it names must hold.
type Rule struct {
	Hosts    []string        `yaml:"hosts"`    // the page's host is one of them
	Titles   []string        `yaml:"titles"`   // the page's title is one of them
	Text     []TextCondition `yaml:"text"`     // each is seen
	Elements []string        `yaml:"elements"` // at least AtLeast are visible
	AtLeast  int             `yaml:"atLeast"`  // 1 when left out
	Unless   []string        `yaml:"unless"`   // none of these elements is visible
}

// Roster says how to read who is there.
type Roster struct {
	Tiles    []string     `yaml:"tiles" json:"tiles"` // CSS; one element or more for each participant
	Rows     []string     `yaml:"rows" json:"rows"`   // CSS; the list of people, when it is open
	ID       []string     `yaml:"id" json:"id"`       // attributes that hold a participant's id
	Name     []TextSource `yaml:"name" json:"name"`
	Self     []TextSource `yaml:"self" json:"self"` // marks the bot's own tile
	OwnNames []string     `yaml:"ownNames" json:"-"`
	Speaking []Candidate  `yaml:"speaking" json:"speaking"`
	Count    []TextSource `yaml:"count" json:"count"` // of everyone, the bot included

	// In a tile or row: what pins its participant, shows that this is done, or
	// opens the menu in which pinItem is found.
	Pin    []Candidate `yaml:"pin" json:"pin"`
	Pinned []Candidate `yaml:"pinned" json:"pinned"`
	Menu   []Candidate `yaml:"menu" json:"menu"`
}

// Chat says how to read the chat while it is open.
type Chat struct {
	Messages []string     `yaml:"messages" json:"messages"` // CSS; one element for each message
	ID       []string     `yaml:"id" json:"id"`             // attributes that hold a message's id
	Author   []TextSource `yaml:"author" json:"author"`     // in the message, or before it
	Text     []TextSource `yaml:"text" json:"text"`         // all of the message but its author, where none is found
	Own      []Candidate  `yaml:"own" json:"own"`           // marks the bot's own messages
	OwnNames []string     `yaml:"ownNames" json:"-"`
}

// TextSource is a text to read: an attribute of an element, or its own text.
type TextSource struct {
	CSS       string `yaml:"css" json:"css"`
	Attribute string `yaml:"attribute" json:"attribute,omitempty"`
	// Pattern is a regular expression whose first group is what is wanted.
	Pattern string `yaml:"pattern" json:"pattern,omitempty"`
}

// maxProfileBytes bounds a profile file.
const maxProfileBytes = 256 << 10

// parseProfile reads and checks a profile. The source names the file in errors.
func parseProfile(source string, data []byte) (*Profile, error) {
	if len(data) > maxProfileBytes {
		return nil, fmt.Errorf("profile %s: larger than %d bytes", source, maxProfileBytes)
	}
	profile := &Profile{source: source}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(profile); err != nil {
		return nil, fmt.Errorf("profile %s: %w", source, err)
	}
	if err := decoder.Decode(new(Profile)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("profile %s: holds more than one document", source)
	}
	for place, signs := range profile.signs() {
		for i := range signs {
			for j := range signs[i].Text {
				signs[i].Text[j].place = fmt.Sprintf("%s[%d].text[%d]", place, i, j)
			}
		}
	}
	if issues := profile.check(); len(issues) > 0 {
		return nil, fmt.Errorf("profile %s: %s", source, strings.Join(issues, "; "))
	}
	return profile, nil
}

// signs returns all signs, by their place in the profile.
func (p *Profile) signs() map[string][]Rule {
	all := map[string][]Rule{"alone": p.Alone, "recorded": p.Recorded}
	for screen, signs := range p.Screens {
		all[fmt.Sprintf("screens.%s", screen)] = signs
	}
	for answer, signs := range p.Permission {
		all[fmt.Sprintf("permission.%s", answer)] = signs
	}
	return all
}

// key names the condition in a snapshot.
func (c TextCondition) key() string { return c.place }

// datePattern is a calendar date.
var datePattern = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// check returns everything that is wrong, each issue with its place.
func (p *Profile) check() []string {
	c := &checker{profile: p}
	c.expect(slices.Contains([]job.Platform{job.Meet, job.Teams, job.ZoomWeb, job.ZoomSDK}, p.Platform),
		"platform", "%q is no platform", p.Platform)
	c.expect(p.Version > 0, "version", "must be 1 or more")
	c.expect(datePattern.MatchString(p.Date), "date", "must be a date such as 2026-11-20")
	c.expect(p.Limits.Name > 0, "limits.name", "must be 1 or more")
	c.expect(p.Limits.Chat > 0, "limits.chat", "must be 1 or more")
	c.selectors("participantContent", p.ParticipantContent)
	for name, selectors := range p.Regions {
		place := "regions." + name
		c.expect(len(selectors) > 0, place, "holds no selector")
		c.selectors(place, selectors)
		for i, selector := range selectors {
			c.expect(!wholePage(selector), fmt.Sprintf("%s[%d]", place, i),
				"%q is the whole page, which holds chat: name headings or a main region", selector)
		}
	}
	for name, candidates := range p.Elements {
		c.expect(len(candidates) > 0, "elements."+name, "has no candidate")
		c.candidates("elements."+name, candidates)
	}
	for screen, signs := range p.Screens {
		place := fmt.Sprintf("screens.%s", screen)
		c.expect(slices.Contains(Screens(), screen), place, "is no screen; screens are %v", Screens())
		c.expect(len(signs) > 0, place, "has no sign")
	}
	for answer := range p.Permission {
		c.expect(answer == Granted || answer == Refused, fmt.Sprintf("permission.%s", answer), "is no answer; answers are %s and %s", Granted, Refused)
	}
	for place, signs := range p.signs() {
		for i, sign := range signs {
			c.sign(fmt.Sprintf("%s[%d]", place, i), sign)
		}
	}
	c.roster(p.Roster)
	c.chat(p.Chat)
	slices.Sort(c.issues)
	return c.issues
}

// checker gathers what is wrong with a profile.
type checker struct {
	profile *Profile
	issues  []string
}

func (c *checker) expect(ok bool, place, format string, args ...any) {
	if !ok {
		c.issues = append(c.issues, place+": "+fmt.Sprintf(format, args...))
	}
}

func (c *checker) selectors(place string, selectors []string) {
	for i, selector := range selectors {
		c.selector(fmt.Sprintf("%s[%d]", place, i), selector)
	}
}

// selector finds the mistakes that can be seen without a browser; the rest
// shows when the profile is used, and then names the selector too.
func (c *checker) selector(place, selector string) {
	c.expect(strings.TrimSpace(selector) != "", place, "the CSS selector is empty")
	for _, pair := range []string{"[]", "()"} {
		c.expect(strings.Count(selector, pair[:1]) == strings.Count(selector, pair[1:]), place,
			"%q has a %s without its pair", selector, pair)
	}
	c.expect(strings.Count(selector, `"`)%2 == 0, place, "%q has a quotation mark without its pair", selector)
}

func (c *checker) candidate(place string, candidate Candidate) {
	c.selector(place+".css", candidate.CSS)
	c.expect(candidate.MinWidth >= 0 && candidate.MinHeight >= 0, place, "minWidth and minHeight cannot be negative")
	if candidate.Text != nil {
		c.text(place+".text", *candidate.Text)
	}
	if candidate.Within != nil {
		c.candidate(place+".within", *candidate.Within)
	}
}

func (c *checker) text(place string, match TextMatch) {
	all := slices.Concat(match.Equals, match.StartsWith, match.Contains)
	c.expect(len(all) > 0, place, "names no text under equals, startsWith or contains")
	for _, text := range all {
		c.expect(strings.Trim(text, " .…") != "", place, "holds an empty text")
	}
}

func (c *checker) sign(place string, rule Rule) {
	c.expect(len(rule.Hosts)+len(rule.Titles)+len(rule.Text)+len(rule.Elements) > 0, place, "names no host, title, text or element")
	c.expect(rule.AtLeast >= 0 && rule.AtLeast <= len(rule.Elements), place,
		"atLeast is %d of %d elements", rule.AtLeast, len(rule.Elements))
	for i, condition := range rule.Text {
		at := fmt.Sprintf("%s.text[%d]", place, i)
		c.text(at, condition.TextMatch)
		c.expect(len(condition.In) > 0, at, "names no region under in")
		for _, region := range condition.In {
			_, known := c.profile.Regions[region]
			c.expect(known, at, "region %q is not defined", region)
		}
	}
	for _, name := range slices.Concat(rule.Elements, rule.Unless) {
		_, known := c.profile.Elements[name]
		c.expect(known, place, "element %q is not defined", name)
	}
}

func (c *checker) roster(roster Roster) {
	c.selectors("roster.tiles", roster.Tiles)
	c.selectors("roster.rows", roster.Rows)
	c.readings("roster.name", roster.Name)
	c.readings("roster.self", roster.Self)
	c.readings("roster.count", roster.Count)
	c.candidates("roster.speaking", roster.Speaking)
	c.candidates("roster.pin", roster.Pin)
	c.candidates("roster.pinned", roster.Pinned)
	c.candidates("roster.menu", roster.Menu)
}

func (c *checker) chat(chat Chat) {
	c.selectors("chat.messages", chat.Messages)
	c.readings("chat.author", chat.Author)
	c.readings("chat.text", chat.Text)
	c.candidates("chat.own", chat.Own)
}

func (c *checker) candidates(place string, candidates []Candidate) {
	for i, candidate := range candidates {
		c.candidate(fmt.Sprintf("%s[%d]", place, i), candidate)
	}
}

func (c *checker) readings(list string, readings []TextSource) {
	for i, reading := range readings {
		place := fmt.Sprintf("%s[%d]", list, i)
		c.selector(place+".css", reading.CSS)
		pattern, err := regexp.Compile(reading.Pattern)
		c.expect(err == nil, place+".pattern", "%q is no regular expression", reading.Pattern)
		c.expect(reading.Pattern == "" || err != nil || pattern.NumSubexp() > 0, place+".pattern",
			"%q has no group in parentheses", reading.Pattern)
	}
}

// wholePage reports whether one of a selector's alternatives is the whole page.
func wholePage(selector string) bool {
	for alternative := range strings.SplitSeq(selector, ",") {
		switch strings.ToLower(strings.TrimSpace(alternative)) {
		case "*", "html", "body", ":root", "html body", "html > body", "body *", "body > *", "html *":
			return true
		}
	}
	return false
}

// essentialScreens are those without which a bot would not know what became of
// its visit. A profile may leave the others out, where nothing is known of them.
func essentialScreens() []Screen {
	return []Screen{PreJoin, Lobby, InMeeting, Removed, Ended, Denied, NotFound, SignInWall}
}

// require checks that a profile holds what a site works with, and no element
// that neither the site nor a sign uses, which would be a slip of the pen.
func (p *Profile) require(needed, usable []string) error {
	var issues []string
	for _, name := range needed {
		if _, ok := p.Elements[name]; !ok {
			issues = append(issues, fmt.Sprintf("elements.%s: missing", name))
		}
	}
	for _, signs := range p.signs() {
		for _, sign := range signs {
			usable = slices.Concat(usable, sign.Elements, sign.Unless)
		}
	}
	for name := range p.Elements {
		if !slices.Contains(usable, name) {
			issues = append(issues, fmt.Sprintf("elements.%s: neither the adapter of %s nor a sign uses it", name, p.Platform))
		}
	}
	for _, screen := range essentialScreens() {
		if _, ok := p.Screens[screen]; !ok {
			issues = append(issues, fmt.Sprintf("screens.%s: missing", screen))
		}
	}
	if len(issues) == 0 {
		return nil
	}
	slices.Sort(issues)
	return fmt.Errorf("profile %s: %s", p.source, strings.Join(issues, "; "))
}
