package meeting

import (
	"fmt"
	"slices"

	"standin/internal/jobs/job"
)

// Profile describes a platform's meeting page: where its elements are, and
// which words tell its screens apart. The comment at the top of
// profiles/meet.yaml explains how to write one.
type Profile struct {
	Platform job.Platform `yaml:"platform"`
	Version  int          `yaml:"version"`
	Date     string       `yaml:"date"` // year-month-day
	Limits   Limits       `yaml:"limits"`

	// ParticipantContent holds CSS selectors of the elements that contain
	// participants' names or messages. Their texts are never evidence.
	ParticipantContent []string `yaml:"participantContent"`
	// Regions name the parts of the page in which texts are searched.
	Regions  map[string][]string `yaml:"regions"`
	Elements map[string]Element  `yaml:"elements"`
	Screens  map[Screen][]Rule   `yaml:"screens"`

	Admission Admission `yaml:"admission"`

	// In the meeting: nobody else is there; the host answered the platform's own
	// request for permission.
	Alone      []Rule                `yaml:"alone"`
	Permission map[Permission][]Rule `yaml:"permission"`

	Roster Roster `yaml:"roster"`
	Chat   Chat   `yaml:"chat"`

	Captions Captions `yaml:"captions"`
	Picture  Picture  `yaml:"picture"`

	source string // the file, for errors
	text   []byte // content of the file
}

// Limits are the platform's limits in UTF-16 units, which pages count in.
type Limits struct {
	Name int `yaml:"name"`
	Chat int `yaml:"chat"`
}

// Element is an element of the page: the first of its candidates that matches
// something visible.
type Element []Candidate

// Candidate is one way to find an element. All its conditions must hold.
type Candidate struct {
	CSS       string     `yaml:"css" json:"css"`
	Text      *TextMatch `yaml:"text" json:"text,omitempty"`           // text of the element, its parts or its aria-label
	Within    *Candidate `yaml:"within" json:"within,omitempty"`       // an ancestor
	MinWidth  float64    `yaml:"minWidth" json:"minWidth,omitempty"`   // minimum width of the visible part, in pixels
	MinHeight float64    `yaml:"minHeight" json:"minHeight,omitempty"` // minimum height of the visible part, in pixels
}

// TextMatch matches a text that meets any of its conditions. Case, white space,
// the kind of apostrophe and final dots are ignored.
type TextMatch struct {
	Equals     labels `yaml:"equals" json:"equals,omitempty"`
	StartsWith labels `yaml:"startsWith" json:"startsWith,omitempty"`
	Contains   labels `yaml:"contains" json:"contains,omitempty"`
}

// messageRegion is a region that each profile has: the texts of a page with little text, and the headings and notices of others.
const messageRegion = "message"

// TextCondition requires a text in one of several regions of the page.
type TextCondition struct {
	In        []string `yaml:"in"`
	TextMatch `yaml:",inline"`

	key string // path in the profile: the key of the text in a snapshot
}

// Rule is one way to recognize a screen. All its conditions must hold.
type Rule struct {
	Hosts    []string        `yaml:"hosts"`    // the page's host is one of these
	Paths    []string        `yaml:"paths"`    // the path of the page's address begins with one of these
	Titles   []string        `yaml:"titles"`   // the page's title is one of these
	Text     []TextCondition `yaml:"text"`     // each is visible
	Elements []string        `yaml:"elements"` // at least AtLeast of these are visible
	AtLeast  int             `yaml:"atLeast"`  // 1 when omitted
	Unless   []string        `yaml:"unless"`   // none of these elements is visible

	Admitted *bool `yaml:"admitted"` // only after, or only before, the bot was admitted
	Weak     bool  `yaml:"weak"`     // the screen needs another matching rule too
	Reload   bool  `yaml:"reload"`   // the page must be loaded again to change

	path string // path in the profile, for evidence
}

// Admission describes how a call differs from a lobby.
type Admission struct {
	// LobbyTexts show that the bot was not admitted. They are searched in every
	// visible element and accessible label outside participants' content.
	LobbyTexts TextMatch `yaml:"lobbyTexts"`
	// HostTexts show that the host is absent. They are searched in the same way.
	HostTexts TextMatch `yaml:"hostTexts"`
	// Controls are elements that a call has and a lobby lacks.
	Controls []string `yaml:"controls"`
}

// Roster describes how to read who is in the meeting.
type Roster struct {
	Tiles    []string     `yaml:"tiles" json:"tiles"`   // CSS; one or more elements per participant
	Rows     []string     `yaml:"rows" json:"rows"`     // CSS; the open list of people
	Ignore   []Candidate  `yaml:"ignore" json:"ignore"` // marks tiles that belong to no participant
	ID       []string     `yaml:"id" json:"id"`         // attributes that hold a participant's id
	Name     []TextSource `yaml:"name" json:"name"`
	Self     []TextSource `yaml:"self" json:"self"` // marks the bot's own tile
	OwnNames []string     `yaml:"ownNames" json:"-"`
	Speaking []Candidate  `yaml:"speaking" json:"speaking"`
	// SpeakingColors mark who speaks, as computed CSS colors of a border, an outline, a
	// shadow, or the background of a part without text.
	SpeakingColors []string     `yaml:"speakingColors" json:"speakingColors"`
	Count          []TextSource `yaml:"count" json:"count"` // number of participants, including the bot

	// In a tile or row: the button that pins the participant, the mark that the
	// participant is pinned, and the button of the menu that holds pinItem.
	Pin    []Candidate `yaml:"pin" json:"pin"`
	Pinned []Candidate `yaml:"pinned" json:"pinned"`
	Menu   []Candidate `yaml:"menu" json:"menu"`

	Hidden []HiddenElement `yaml:"hidden" json:"-"` // hidden while the bot reads the list of people
}

// Chat describes how to read the open chat.
type Chat struct {
	Messages []string     `yaml:"messages" json:"messages"` // CSS; one element per message
	ID       []string     `yaml:"id" json:"id"`             // attributes that hold a message's id
	Author   []TextSource `yaml:"author" json:"author"`     // read in the message, or before it
	Text     []TextSource `yaml:"text" json:"text"`         // default: the message without its author
	Own      []Candidate  `yaml:"own" json:"own"`           // marks the bot's own messages
	OwnNames []string     `yaml:"ownNames" json:"-"`

	Hidden []HiddenElement `yaml:"hidden" json:"-"` // hidden while the bot keeps the chat open
}

// Captions describes how to turn on the platform's live captions and to read them.
type Captions struct {
	Enable   []string     `yaml:"enable" json:"-"`      // elements to press, each after the one before it
	On       []string     `yaml:"on" json:"-"`          // elements that show that captions are on
	Lines    []string     `yaml:"lines" json:"lines"`   // CSS; one element per line
	Author   []TextSource `yaml:"author" json:"author"` // read in the line, or before it
	Text     []TextSource `yaml:"text" json:"text"`     // default: the whole line
	OwnNames []string     `yaml:"ownNames" json:"-"`    // names of the bot, whose lines are ignored

	Language LanguageMenu `yaml:"language" json:"-"`

	Hidden []HiddenElement `yaml:"hidden" json:"-"` // hidden while the bot reads captions
}

// Picture describes what the recorded picture shows besides participants' tiles.
type Picture struct {
	Content []Candidate `yaml:"content" json:"content"` // shared content
	Kept    []Candidate `yaml:"kept" json:"kept"`       // stay visible in every layout
}

// LanguageMenu describes how to choose the language of captions where the choice
// is expected not to affect other participants. It may be empty.
type LanguageMenu struct {
	Open    []string `yaml:"open"`    // elements to press, each after the one before it
	Options string   `yaml:"options"` // CSS; one element per language
	Value   string   `yaml:"value"`   // the attribute of an option that holds its BCP 47 tag
	Close   string   `yaml:"close"`   // the element that closes the settings
}

// elements returns the elements that the menu uses.
func (m LanguageMenu) elements() []string {
	if m.Options == "" {
		return nil
	}
	return append(slices.Clone(m.Open), m.Close)
}

// HiddenElement is an element that is kept out of the recorded picture: it is
// transparent, but remains on the page.
type HiddenElement struct {
	CSS   string `yaml:"css"`
	Style string `yaml:"style"` // more declarations for it, such as its position
}

// TextSource reads a text: an attribute of an element, or its text content.
type TextSource struct {
	CSS       string `yaml:"css" json:"css"`
	Attribute string `yaml:"attribute" json:"attribute,omitempty"`
	// Pattern is a regular expression whose first group is the result.
	Pattern string `yaml:"pattern" json:"pattern,omitempty"`
}

// Text returns the profile's file.
func (p *Profile) Text() []byte { return p.text }

// Source returns the name of the profile's file.
func (p *Profile) Source() string { return p.source }

// rules returns all rules, by their path in the profile.
func (p *Profile) rules() map[string][]Rule {
	all := map[string][]Rule{"alone": p.Alone}
	for screen, rules := range p.Screens {
		all[fmt.Sprintf("screens.%s", screen)] = rules
	}
	for answer, rules := range p.Permission {
		all[fmt.Sprintf("permission.%s", answer)] = rules
	}
	return all
}

// textConditions returns the text conditions of all rules, in no fixed order.
func (p *Profile) textConditions() []TextCondition {
	var all []TextCondition
	for _, rules := range p.rules() {
		for _, rule := range rules {
			all = append(all, rule.Text...)
		}
	}
	return all
}
