package meeting

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Snapshot is what a page showed at one moment, in the words of a profile.
type Snapshot struct {
	Scheme string  `json:"scheme"` // with its colon
	Host   string  `json:"host"`
	Title  string  `json:"title"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`

	Elements map[string]VisibleElement `json:"elements"` // those in sight
	Hidden   map[string]int            `json:"hidden"`   // those on the page and out of sight: which candidate
	Texts    map[string]string         `json:"texts"`    // by condition: the text that fulfils it

	Tiles  []RosterEntry `json:"tiles"`
	Rows   []RosterEntry `json:"rows"`
	Counts []string      `json:"counts"`

	Chat []ChatEntry `json:"chat"` // oldest first
}

// VisibleElement is an element in sight.
type VisibleElement struct {
	Candidate int    `json:"candidate"` // which candidate of the profile found it
	Text      string `json:"text"`      // its label or text, shortened
	Value     string `json:"value"`     // of a field
	Disabled  bool   `json:"disabled"`
	Covered   bool   `json:"covered"` // something lies over it
}

// RosterEntry is a participant as a tile or a row of the list shows it.
type RosterEntry struct {
	ID       string   `json:"id"`
	Names    []string `json:"names"`  // as the profile's readings found them
	Mark     *string  `json:"mark"`   // the mark of the bot's own tile, when there is one
	Marked   string   `json:"marked"` // the text beside the mark
	Speaking bool     `json:"speaking"`
	Tracks   []string `json:"tracks"` // of the sound that it plays

	Offers []string `json:"offers"` // what of pin, pinned and menu is in sight
	X      float64  `json:"x"`      // its middle, on the page
	Y      float64  `json:"y"`
}

// ChatEntry is a message of the chat as the page shows it.
type ChatEntry struct {
	ID     string `json:"id"`
	Author string `json:"author"`
	Text   string `json:"text"`
	Own    bool   `json:"own"`
}

// Visible reports whether an element is in sight.
func (s Snapshot) Visible(element string) bool {
	_, visible := s.Elements[element]
	return visible
}

// there reports whether an element is on the page, in sight or not.
func (s Snapshot) there(element string) bool {
	_, hidden := s.Hidden[element]
	return hidden || s.Visible(element)
}

// clickable reports whether a click on the element would reach it.
func (s Snapshot) clickable(element string) bool {
	seen, visible := s.Elements[element]
	return visible && !seen.Disabled && !seen.Covered
}

// probeScript is a JavaScript function; see there.
//
//go:embed probe.js
var probeScript string

// probe looks at a page with the eyes of one profile.
type probe struct {
	call string // the script and its first argument, without the last parenthesis
}

// probeCondition is a TextCondition as the script takes it.
type probeCondition struct {
	Key   string    `json:"key"`
	In    []string  `json:"in"`
	Match TextMatch `json:"match"`
}

// newProbe writes the profile's looking part into the script.
func newProbe(profile *Profile) (probe, error) {
	conditions := []probeCondition{}
	all := profile.signs()
	for _, place := range slices.Sorted(maps.Keys(all)) {
		for _, sign := range all[place] {
			for _, text := range sign.Text {
				conditions = append(conditions, probeCondition{Key: text.key(), In: text.In, Match: text.TextMatch})
			}
		}
	}
	argument, err := json.Marshal(map[string]any{
		"participantContent": notNil(profile.ParticipantContent),
		"regions":            profile.Regions,
		"elements":           profile.Elements,
		"conditions":         conditions,
		"roster": Roster{
			Tiles: notNil(profile.Roster.Tiles), Rows: notNil(profile.Roster.Rows), ID: notNil(profile.Roster.ID),
			Name: notNil(profile.Roster.Name), Self: notNil(profile.Roster.Self),
			Speaking: notNil(profile.Roster.Speaking), Count: notNil(profile.Roster.Count),
			Pin: notNil(profile.Roster.Pin), Pinned: notNil(profile.Roster.Pinned), Menu: notNil(profile.Roster.Menu),
		},
		"chat": Chat{
			Messages: notNil(profile.Chat.Messages), ID: notNil(profile.Chat.ID), Author: notNil(profile.Chat.Author),
			Text: notNil(profile.Chat.Text), Own: notNil(profile.Chat.Own),
		},
	})
	if err != nil {
		return probe{}, fmt.Errorf("writing profile %s into the probe: %w", profile.source, err)
	}
	return probe{call: "(" + probeScript + ")(" + string(argument)}, nil
}

// notNil makes an empty list of none, which the script can walk.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return slices.Clip(list)
}

// look returns what the page shows.
func (p probe) look(ctx context.Context, page Page) (Snapshot, error) {
	var snapshot Snapshot
	if err := page.Eval(ctx, p.call+")", &snapshot); err != nil {
		return Snapshot{}, fmt.Errorf("looking at the page: %w", err)
	}
	return snapshot, nil
}

// element returns the script that yields an element of the profile.
func (p probe) element(name string) string {
	return p.find(name)
}

// offer returns the script that yields what a participant's tile or row offers.
func (p probe) offer(person RosterEntry, offer string) string {
	wanted := struct {
		ID    string `json:"id"`
		Name  string `json:"name"`
		Offer string `json:"offer"`
	}{ID: person.ID, Offer: offer}
	if len(person.Names) > 0 {
		wanted.Name = person.Names[0]
	}
	return p.find(wanted)
}

// find returns the script that yields what is wanted.
func (p probe) find(wanted any) string {
	encoded, _ := json.Marshal(wanted) // strings always encode
	return p.call + "," + string(encoded) + ")"
}
