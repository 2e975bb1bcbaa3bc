package meeting

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
)

// TestClean: no text of a participant has control characters, changes the direction
// of the text around it, or is longer than the service takes.
func TestClean(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", ingest.MaxAuthorCharacters)
	o := Observation{
		Evidence: "text \"a\x00\nb\"", Reasons: []Evidence{{What: "d\xff"}},
		Participants: []Participant{{ID: "name:\u202eevil\x00", Name: "\u202eevil\x00\n name"}, {ID: long + "x", Name: long + "x"}},
		TrackOwners:  []TrackOwner{{Track: "1", ParticipantID: "name:\u202eevil\x00"}},
		Chat:         []ChatMessage{{Author: "a\tb", Text: "one\r\ntwo\x00\u202e"}, {Text: strings.Repeat("m", ingest.MaxTextCharacters+1)}},
		Captions:     []CaptionLine{{Author: "e\u2066", Text: "f\ng"}},
	}
	o.Clean()
	want := Observation{
		Evidence: "text \"a b\"", Reasons: []Evidence{{What: "d\uFFFD"}},
		Participants: []Participant{{ID: "name:evil", Name: "evil name"}, {ID: long, Name: long}},
		TrackOwners:  []TrackOwner{{Track: "1", ParticipantID: "name:evil"}},
		Chat:         []ChatMessage{{Author: "a b", Text: "one\ntwo\u202e"}, {Text: strings.Repeat("m", ingest.MaxTextCharacters)}},
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
	if !found || entry.Name() != snapshot.Tiles[1].Name() {
		t.Errorf("found %+v (%v)", entry, found)
	}
}

// FuzzReplay checks that what a page may write into the snapshots of a visit is decided
// on evidence, and cleaned.
func FuzzReplay(f *testing.F) {
	for _, seed := range []string{
		`[{"known":{"requested":true},"snapshot":{"elements":{"leaveButton":{"text":"Leave"}},"media":1,"tiles":[{"names":["Ada (Host)"],"tracks":["a"]}],"counts":["People 99999999999999999999"]}}]`,
		`[{"snapshot":{"over":{"text":"Terms","marked":true,"buttons":[{"label":"OK"},{"label":"\u202e","icon":true}]},"outline":{"headings":["The call ended"]}}},{"at":"2026-01-02T03:04:05Z"}]`,
		`[{"known":{"admitted":true},"snapshot":{"rows":[{"names":["",":"],"mark":"","place":"-1"}],"chat":[{"text":"yes"}],"captions":[{"text":"\u0000"}],"audio":[{"track":"a","level":1e308,"contributors":[{}]}]}}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var captured []CapturedSnapshot
		if json.Unmarshal([]byte(text), &captured) != nil {
			return
		}
		for _, platform := range []job.Platform{job.Meet, job.Teams, job.ZoomWeb} {
			site := siteOf(t, platform)
			for i, decision := range Replay(site.profile, captured) {
				if decision.Screen != Unknown && totalWeight(decision.Evidence) < minWeight {
					t.Errorf("%s has too little evidence: %+v", decision.Screen, decision.Evidence)
				}
				site.visit.resume(captured[i].Known, captured[i].At)
				seen := site.observe(captured[i].Snapshot, captured[i].At)
				before := fmt.Sprintf("%+v", seen)
				if seen.Clean(); fmt.Sprintf("%+v", seen) != before || seen.Others < -1 {
					t.Errorf("observed %s, which is %+v when it is cleaned", before, seen)
				}
			}
		}
	})
}
