package meeting

import (
	"context"
	"maps"
	"slices"
)

// Inspection reports which elements and texts of a profile a page shows. It
// helps to adapt the profile to a changed page.
type Inspection struct {
	Screen   Screen
	Evidence string

	Elements []InspectedElement // ordered by name
	Texts    []InspectedText    // ordered by path

	Participants []Participant
	Others       int // -1: the page does not show it
}

// InspectedElement is the result for one element of the profile.
type InspectedElement struct {
	Name      string       `json:"name"`
	State     ElementState `json:"state"`
	Candidate int          `json:"candidate"`          // that found it, counted from 1; 0 for none
	Selector  string       `json:"selector,omitempty"` // selector of that candidate
	Text      string       `json:"text,omitempty"`     // label or text, shortened; never the value of a field
	Disabled  bool         `json:"disabled,omitempty"`
	Covered   bool         `json:"covered,omitempty"`
}

// ElementState is whether an element was found.
type ElementState string

// The states of elements.
const (
	ElementVisible ElementState = "visible"
	ElementHidden  ElementState = "hidden" // on the page, but not visible
	ElementMissing ElementState = "missing"
)

// InspectedText is one of the texts that screens are recognized by.
type InspectedText struct {
	Path  string `json:"path"`  // path in the profile
	Found string `json:"found"` // empty when the page does not show it
}

// Inspect reads a page with a profile.
func Inspect(ctx context.Context, page Page, profile *Profile) (Inspection, error) {
	snapshot, err := profile.Snapshot(ctx, page)
	if err != nil {
		return Inspection{}, err
	}
	found := profile.classify(snapshot, History{})
	inspection := Inspection{Screen: found.screen, Evidence: describeEvidence(found.evidence), Elements: profile.InspectElements(snapshot)}
	inspection.Participants, inspection.Others = profile.participants(snapshot, "")
	var keys []string
	for _, condition := range profile.textConditions() {
		keys = append(keys, condition.key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		inspection.Texts = append(inspection.Texts, InspectedText{Path: key, Found: snapshot.Texts[key]})
	}
	return inspection, nil
}

// InspectElements returns the results for the profile's elements in a snapshot, by name.
func (p *Profile) InspectElements(snapshot Snapshot) []InspectedElement {
	var inspected []InspectedElement
	for _, name := range slices.Sorted(maps.Keys(p.Elements)) {
		one, candidates := InspectedElement{Name: name, State: ElementMissing}, p.Elements[name]
		if found, visible := snapshot.Elements[name]; visible {
			one.State, one.Candidate = ElementVisible, found.Candidate+1
			one.Text, one.Disabled, one.Covered = found.Text, found.Disabled, found.Covered
		} else if candidate, hidden := snapshot.Hidden[name]; hidden {
			one.State, one.Candidate = ElementHidden, candidate+1
		}
		if one.Candidate > 0 && one.Candidate <= len(candidates) {
			one.Selector = candidates[one.Candidate-1].CSS
		}
		inspected = append(inspected, one)
	}
	return inspected
}
