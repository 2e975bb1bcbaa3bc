package meeting

import (
	"context"
	"maps"
	"slices"

	"standin/internal/job"
)

// Inspection is what a page shows in the eyes of a profile: whoever mends the
// profile sees which elements and texts it still finds.
type Inspection struct {
	Platform job.Platform
	Version  int // of the profile
	Date     string
	Source   string // the profile's file

	Screen   Screen
	Evidence string

	Elements []InspectedElement // by name
	Texts    []InspectedText    // by place

	Participants []Participant
	Others       int // -1: the page does not tell
	Recorded     bool
	Permission   Permission
	Chat         []ChatMessage
}

// InspectedElement is what became of one of the profile's elements.
type InspectedElement struct {
	Name      string
	State     ElementState
	Candidate int    // which candidate found it, counted from 0; -1 when none did
	Selector  string // that candidate's
	Text      string // its label or text, shortened; never what a field holds
	Disabled  bool
	Covered   bool
}

// ElementState says whether an element was found.
type ElementState string

// The states of elements.
const (
	ElementVisible ElementState = "visible"
	ElementHidden  ElementState = "hidden" // on the page, and out of sight
	ElementMissing ElementState = "missing"
)

// InspectedText is one of the texts by which screens are recognised.
type InspectedText struct {
	Place string // in the profile
	Found string // empty when the page does not show it
}

// Inspect looks at a page with the eyes of a profile.
func Inspect(ctx context.Context, page Page, profile *Profile) (Inspection, error) {
	probe, err := newProbe(profile)
	if err != nil {
		return Inspection{}, err
	}
	snapshot, err := probe.look(ctx, page)
	if err != nil {
		return Inspection{}, err
	}
	inspection := Inspection{
		Platform: profile.Platform, Version: profile.Version, Date: profile.Date, Source: profile.source,
		Recorded: profile.recorded(snapshot), Permission: profile.permission(snapshot), Chat: profile.chat(snapshot, ""),
	}
	inspection.Screen, inspection.Evidence = profile.Classify(snapshot)
	inspection.Participants, inspection.Others = profile.people(snapshot, "")
	for _, name := range slices.Sorted(maps.Keys(profile.Elements)) {
		inspection.Elements = append(inspection.Elements, inspect(snapshot, name, profile.Elements[name]))
	}
	for _, place := range profile.textPlaces() {
		inspection.Texts = append(inspection.Texts, InspectedText{Place: place, Found: snapshot.Texts[place]})
	}
	return inspection, nil
}

// inspect tells what became of one element.
func inspect(snapshot Snapshot, name string, element Element) InspectedElement {
	inspected := InspectedElement{Name: name, State: ElementMissing, Candidate: -1}
	if seen, visible := snapshot.Elements[name]; visible {
		inspected.State, inspected.Candidate = ElementVisible, seen.Candidate
		inspected.Text, inspected.Disabled, inspected.Covered = seen.Text, seen.Disabled, seen.Covered
	} else if candidate, hidden := snapshot.Hidden[name]; hidden {
		inspected.State, inspected.Candidate = ElementHidden, candidate
	}
	if inspected.Candidate >= 0 && inspected.Candidate < len(element) {
		inspected.Selector = element[inspected.Candidate].CSS
	}
	return inspected
}

// textPlaces lists where the profile's texts stand, in a stable order.
func (p *Profile) textPlaces() []string {
	var places []string
	for _, signs := range p.signs() {
		for _, sign := range signs {
			for _, text := range sign.Text {
				places = append(places, text.key())
			}
		}
	}
	slices.Sort(places)
	return places
}
