package meeting

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Evidence is one independent piece of evidence for a screen, or against it.
type Evidence struct {
	Kind   EvidenceKind `json:"kind"`
	What   string       `json:"what"`            // the text, the elements or the number of tracks, for people
	Where  string       `json:"where,omitempty"` // the entry of the profile, or the part of the page
	Weight int          `json:"weight"`          // negative when it is against the screen
}

// EvidenceKind is the kind of a piece of evidence.
type EvidenceKind string

// The kinds of evidence.
const (
	EvidenceAddress  EvidenceKind = "address"
	EvidenceTitle    EvidenceKind = "title"
	EvidenceText     EvidenceKind = "text"
	EvidenceElement  EvidenceKind = "element" // controls and landmarks
	EvidenceMedia    EvidenceKind = "media"
	EvidenceRoster   EvidenceKind = "roster"
	EvidenceDuration EvidenceKind = "duration"
	EvidenceHistory  EvidenceKind = "history" // what happened earlier in the visit
)

// minWeight is the evidence that a screen needs: one unmistakable piece, or two
// weak ones.
const (
	minWeight  = 2
	weakWeight = 1
)

// totalWeight returns the sum of the weights.
func totalWeight(evidence []Evidence) (total int) {
	for _, e := range evidence {
		total += e.Weight
	}
	return total
}

// textEvidence returns the evidence of a text of the page.
func textEvidence(text, where string, weight int) Evidence {
	return Evidence{Kind: EvidenceText, What: fmt.Sprintf("text %q", text), Where: where, Weight: weight}
}

// weakEvidence returns evidence that does not suffice alone.
func weakEvidence(kind EvidenceKind, what string) Evidence {
	return Evidence{Kind: kind, What: what, Weight: weakWeight}
}

// requestedEvidence returns the evidence that the bot asked to join.
func requestedEvidence() Evidence {
	return weakEvidence(EvidenceHistory, "joining was requested")
}

// requestedForEvidence returns the evidence of the time since the bot asked to join.
func requestedForEvidence(past History) Evidence {
	return durationEvidence("joining was requested %s ago", past.RequestedFor)
}

// durationEvidence returns the evidence that something has lasted; format describes it.
func durationEvidence(format string, lasted time.Duration) Evidence {
	return weakEvidence(EvidenceDuration, fmt.Sprintf(format, lasted.Round(time.Second)))
}

// mediaEvidence returns the evidence of media that arrives.
func mediaEvidence(snapshot Snapshot, weight int) Evidence {
	return Evidence{Kind: EvidenceMedia, What: fmt.Sprintf("media of others on %d tracks", snapshot.Media), Weight: weight}
}

// callGoneEvidence returns the evidence that nothing of the call is left.
func callGoneEvidence() Evidence {
	return weakEvidence(EvidenceElement, "the call's controls are gone")
}

// isUnmistakable reports whether a piece of evidence suffices alone.
func isUnmistakable(e Evidence) bool { return e.Weight >= minWeight }

// describeEvidence returns the evidence as one line of text.
func describeEvidence(evidence []Evidence) string {
	var what []string
	for _, e := range evidence {
		what = append(what, e.What)
	}
	return strings.Join(what, "; ")
}

// Decision is the screen that a snapshot was classified as, and why. A sequence of
// decisions is the evidence log of a visit.
type Decision struct {
	At       time.Time  `json:"at"`
	Screen   Screen     `json:"screen"`
	Pending  Screen     `json:"pending,omitempty"` // the terminal screen that is not confirmed yet
	Evidence []Evidence `json:"evidence,omitempty"`
	Accepted string     `json:"accepted,omitempty"` // text of the notice that the bot accepts
}

// Weak reports whether a recognized screen rests on weak evidence only.
func (d Decision) Weak() bool {
	return d.Screen != Unknown && !slices.ContainsFunc(d.Evidence, isUnmistakable)
}

// SameAs reports whether a decision has the same result as an earlier one, and accepts nothing
// new.
func (d Decision) SameAs(other Decision) bool {
	return d.Screen == other.Screen && d.Pending == other.Pending && (d.Accepted == "" || d.Accepted == other.Accepted)
}

// History is what earlier snapshots of a visit established.
type History struct {
	OwnName      string        `json:"ownName,omitempty"` // under which the bot joined; empty when unknown
	Requested    bool          `json:"requested"`         // the join button was pressed
	Admitted     bool          `json:"admitted"`          // the meeting was observed, with proof
	RequestedFor time.Duration `json:"requestedFor"`      // time since the join button was first pressed
	AloneFor     time.Duration `json:"aloneFor"`          // the page has looked like a call without others
	JoinedFor    time.Duration `json:"joinedFor"`         // the join button has been disabled after it was pressed
	// ClosedFor is the time for which a dialog has been over a call whose connections the page has closed.
	ClosedFor time.Duration `json:"closedFor,omitempty"`

	Acknowledged      string        `json:"acknowledged,omitempty"`    // text of the last dialog that only asked to be acknowledged, and was
	AcknowledgedFor   time.Duration `json:"acknowledgedFor,omitempty"` // time since it was first acknowledged
	AcknowledgedTimes int           `json:"acknowledgedTimes,omitempty"`
}
