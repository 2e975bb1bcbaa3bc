package meeting

import (
	"reflect"
	"strings"
	"testing"
)

// TestClean: no text of a participant has control characters, changes the direction
// of the text around it, or is longer than the service takes.
func TestClean(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", maxName)
	o := Observation{
		Evidence: "text \"a\x00\nb\"", Reasons: []Evidence{{What: "d\xff"}},
		Participants: []Participant{{ID: "name:\u202eevil\x00", Name: "\u202eevil\x00\n name"}, {ID: long + "x", Name: long + "x"}},
		TrackOwners:  []TrackOwner{{Track: "1", ParticipantID: "name:\u202eevil\x00"}},
		Chat:         []ChatMessage{{Author: "a\tb", Text: "one\r\ntwo\x00\u202e"}, {Text: strings.Repeat("m", maxMessage+1)}},
		Captions:     []CaptionLine{{Author: "e\u2066", Text: "f\ng"}},
	}
	o.Clean()
	want := Observation{
		Evidence: "text \"a b\"", Reasons: []Evidence{{What: "d\uFFFD"}},
		Participants: []Participant{{ID: "name:evil", Name: "evil name"}, {ID: long, Name: long}},
		TrackOwners:  []TrackOwner{{Track: "1", ParticipantID: "name:evil"}},
		Chat:         []ChatMessage{{Author: "a b", Text: "one\ntwo\u202e"}, {Text: strings.Repeat("m", maxMessage)}},
		Captions:     []CaptionLine{{Author: "e", Text: "f g"}},
	}
	if !reflect.DeepEqual(o, want) {
		t.Errorf("got  %+v\nwant %+v", o, want)
	}
}

// TestPinCleanedParticipant: the participant of an observation is found on the page
// that has other characters in its ID.
func TestPinCleanedParticipant(t *testing.T) {
	t.Parallel()
	snapshot := Snapshot{Tiles: []RosterEntry{{Names: []string{"Ada"}}, {Names: []string{"\u202eBen\x00"}}}}
	entry, found := findEntry(snapshot, Participant{ID: "name:Ben"})
	if !found || entry.name() != snapshot.Tiles[1].name() {
		t.Errorf("found %+v (%v)", entry, found)
	}
}
