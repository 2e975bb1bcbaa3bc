package meeting

import (
	"context"
	"maps"
	"slices"

	"standin/internal/job"
)

// Inspection reports which elements and texts of a profile a page shows. It
// helps to adapt the profile to a changed page.
type Inspection struct {
	Platform job.Platform
	Version  int // version of the profile
	Date     string
	Source   string // the profile's file

	Screen   Screen
	Evidence string
	Reasons  []Evidence

	Elements []InspectedElement // ordered by name
	Texts    []InspectedText    // ordered by path

	Participants []Participant
	Others       int // -1: the page does not show it
	Recorded     bool
	Permission   Permission
	Chat         []ChatMessage
}

// InspectedElement is the result for one element of the profile.
type InspectedElement struct {
	Name      string
	State     ElementState
	Candidate int    // index of the candidate that found it; -1 for none
	Selector  string // selector of that candidate
	Text      string // label or text, shortened; never the value of a field
	Disabled  bool
	Covered   bool
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
	Path  string // path in the profile
	Found string // empty when the page does not show it
}

// Inspect reads a page with a profile.
func Inspect(ctx context.Context, page Page, profile *Profile) (Inspection, error) {
	probe, err := newProbe(profile)
	if err != nil {
		return Inspection{}, err
	}
	snapshot, err := probe.snapshot(ctx, page)
	if err != nil {
		return Inspection{}, err
	}
	inspection := Inspection{
		Platform: profile.Platform, Version: profile.Version, Date: profile.Date, Source: profile.source,
		Recorded: profile.recorded(snapshot), Permission: profile.permission(snapshot), Chat: profile.chatMessages(snapshot, ""),
	}
	found := profile.classify(snapshot, History{})
	inspection.Screen, inspection.Evidence, inspection.Reasons = found.screen, describeEvidence(found.evidence), found.evidence
	inspection.Participants, inspection.Others = profile.participants(snapshot, "")
	for _, name := range slices.Sorted(maps.Keys(profile.Elements)) {
		inspection.Elements = append(inspection.Elements, inspectElement(snapshot, name, profile.Elements[name]))
	}
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

// inspectElement returns the result for one element.
func inspectElement(snapshot Snapshot, name string, element Element) InspectedElement {
	inspected := InspectedElement{Name: name, State: ElementMissing, Candidate: -1}
	if found, visible := snapshot.Elements[name]; visible {
		inspected.State, inspected.Candidate = ElementVisible, found.Candidate
		inspected.Text, inspected.Disabled, inspected.Covered = found.Text, found.Disabled, found.Covered
	} else if candidate, hidden := snapshot.Hidden[name]; hidden {
		inspected.State, inspected.Candidate = ElementHidden, candidate
	}
	if inspected.Candidate >= 0 && inspected.Candidate < len(element) {
		inspected.Selector = element[inspected.Candidate].CSS
	}
	return inspected
}
