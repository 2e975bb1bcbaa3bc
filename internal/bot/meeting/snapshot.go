package meeting

// Snapshot is what a page showed at one moment, in terms of a profile.
type Snapshot struct {
	Scheme   string  `json:"scheme"` // scheme with its colon, such as "https:"
	Host     string  `json:"host"`
	Path     string  `json:"path"`
	Status   int     `json:"status"`   // HTTP status of the document; 0 when unknown
	Document int64   `json:"document"` // identifies the loaded document
	Language string  `json:"language"` // language that the document states
	Title    string  `json:"title"`
	Width    float64 `json:"width"`
	Height   float64 `json:"height"`

	Elements map[string]VisibleElement `json:"elements"` // the visible ones
	Hidden   map[string]int            `json:"hidden"`   // invisible elements of the page -> index of the candidate
	Texts    map[string]string         `json:"texts"`    // condition -> text that meets it

	LobbyText string  `json:"lobbyText"` // one of the profile's lobby texts, anywhere on the page
	HostText  string  `json:"hostText"`  // the same of the texts for an absent host
	Outline   Outline `json:"outline"`   // empty in the meeting
	Over      *Dialog `json:"over"`      // the dialog that covers the page

	Media int          `json:"media"` // tracks on which media from others arrive
	Open  int          `json:"open"`  // connections that the page has not closed, also those that failed
	Audio []AudioTrack `json:"audio"` // the audio tracks among them; in the meeting only

	Tiles    []RosterEntry `json:"tiles"`
	TileList int           `json:"tileList"` // number of the list of tiles' elements on the page
	Rows     []RosterEntry `json:"rows"`
	Counts   []string      `json:"counts"`

	Chat     []ChatEntry   `json:"chat"`     // oldest first
	Captions []CaptionLine `json:"captions"` // oldest first
}

// Outline is what a page shows outside participants' content, without a profile.
type Outline struct {
	Headings []string         `json:"headings"`
	Notices  []string         `json:"notices"` // dialogs, alerts, status messages and live regions
	Texts    []string         `json:"texts"`
	Buttons  []OutlineControl `json:"buttons"`
	Fields   []OutlineControl `json:"fields"`
}

// OutlineControl is a button, link or field.
type OutlineControl struct {
	Label    string `json:"label"`
	Type     string `json:"type,omitempty"` // type of a field
	Filled   bool   `json:"filled,omitempty"`
	Disabled bool   `json:"disabled,omitempty"`
	Link     bool   `json:"link,omitempty"`
}

// Dialog is a dialog that covers the page, or a layer that acts as one.
type Dialog struct {
	Text    string         `json:"text"`
	Marked  bool           `json:"marked"` // marked as a dialog by its role
	Buttons []DialogButton `json:"buttons"`
	// Unchecked is set when the dialog holds a box that is not checked.
	Unchecked bool `json:"unchecked,omitempty"`
}

// DialogButton is a button or link of a dialog.
type DialogButton struct {
	Label    string `json:"label"`
	Icon     bool   `json:"icon"`   // small, and without a text
	Corner   bool   `json:"corner"` // lies in an upper corner of the dialog
	Link     bool   `json:"link"`   // leads to another page
	Disabled bool   `json:"disabled"`
	Covered  bool   `json:"covered"`
}

// AudioTrack is a track on which audio arrives.
type AudioTrack struct {
	Track        string        `json:"track"`
	Level        *float64      `json:"level"` // 0 to 1; nil when it is unknown
	Contributors []Contributor `json:"contributors"`
}

// Contributor is a source whose audio a track contains (RFC 3550, section 5.1: CSRC).
type Contributor struct {
	ID    string   `json:"id"`
	Level *float64 `json:"level"`
}

// VisibleElement is an element of the profile that the page shows.
type VisibleElement struct {
	Candidate int    `json:"candidate"` // index of the candidate that found it
	Text      string `json:"text"`      // label or text, shortened
	Value     string `json:"value"`     // value of a field
	Disabled  bool   `json:"disabled"`
	Covered   bool   `json:"covered"` // something lies over it

	// Contradicted is set for a device's button that says both that the device is on and that it is off.
	Contradicted bool `json:"contradicted,omitempty"`
}

// RosterEntry is a participant as a tile, or a row of the list of people, shows
// it.
type RosterEntry struct {
	ID       string   `json:"id"`
	Names    []string `json:"names"`    // names, in the order of the profile's sources
	Mark     *string  `json:"mark"`     // the mark of the bot's own tile, when there is one
	MarkText string   `json:"markText"` // the text beside the mark
	Speaking bool     `json:"speaking"`
	Tracks   []string `json:"tracks"` // tracks that it plays

	Place string `json:"place,omitempty"` // of a row: its place in the list, as far as the page tells
	Kind  int    `json:"kind"`            // index of the selector that found it

	Controls []string `json:"controls"` // the visible ones of pin, pinned and menu
	X        float64  `json:"x"`        // center on the page
	Y        float64  `json:"y"`
}

// Name returns the first name that was read, without badges, or "".
func (e RosterEntry) Name() string {
	for _, name := range e.Names {
		if cleaned := cleanName(name); cleaned != "" {
			return cleaned
		}
	}
	return ""
}

// shownName returns the first name as the page shows it, or "".
func (e RosterEntry) shownName() string {
	if len(e.Names) == 0 {
		return ""
	}
	return e.Names[0]
}

// namePrefix starts the ids of participants to whom the page gives none.
const namePrefix = "name:"

// identity returns the page's id of a participant, or else an id made from the
// name, or "" when there is neither.
func (e RosterEntry) identity() string {
	switch {
	case e.ID != "":
		return e.ID
	case e.Name() != "":
		return namePrefix + e.Name()
	}
	return ""
}

// ChatEntry is a chat message as the page shows it.
type ChatEntry struct {
	ID     string `json:"id"`
	Author string `json:"author"`
	Text   string `json:"text"`
	Own    bool   `json:"own"`
}

// Visible reports whether an element is visible.
func (s Snapshot) Visible(element string) bool {
	_, visible := s.Elements[element]
	return visible
}

// present reports whether an element is on the page, visible or not.
func (s Snapshot) present(element string) bool {
	_, hidden := s.Hidden[element]
	return hidden || s.Visible(element)
}

// clickable reports whether a click would reach the element.
func (s Snapshot) clickable(element string) bool {
	found, visible := s.Elements[element]
	return visible && !found.Disabled && !found.Covered && !found.Contradicted
}
