package meeting

import (
	"slices"
	"testing"

	"standin/internal/jobs/job"
)

// shownAs returns a roster entry with one name.
func shownAs(id, name string) RosterEntry {
	person := RosterEntry{ID: id}
	if name != "" {
		person.Names = []string{name}
	}
	return person
}

// markedAs returns a roster entry with the mark of the bot's own tile.
func markedAs(id, name, mark string) RosterEntry {
	person := shownAs(id, name)
	person.Mark, person.MarkText = &mark, name
	return person
}

func TestParticipants(t *testing.T) {
	t.Parallel()
	speaking := shownAs("a", "Ada")
	speaking.Speaking = true
	for name, c := range map[string]struct {
		snapshot Snapshot
		want     []Participant
		others   int
	}{
		"no information": {Snapshot{}, nil, -1},
		"a name that the list cuts, and one that goes on with states": {
			Snapshot{
				Tiles: []RosterEntry{shownAs("", "Smith, John"), shownAs("", "Mira Holt")},
				Rows:  []RosterEntry{shownAs("", "Smith"), shownAs("", "Mira Holt, Stummgeschaltet")},
			},
			[]Participant{{ID: "name:Smith, John", Name: "Smith, John"}, {ID: "name:Mira Holt", Name: "Mira Holt"}}, 2,
		},
		"alone": {
			Snapshot{Tiles: []RosterEntry{markedAs("me", "Standin", "Standin")}}, nil, 0,
		},
		"alone, own tile twice, one of them marked": {
			Snapshot{
				Tiles: []RosterEntry{markedAs("me", "Standin", "Standin"), shownAs("me", "Standin")}, Counts: []string{"People - 1 joined"},
			}, nil, 0,
		},
		"alone, own tile twice under two ids, counted twice": {
			Snapshot{
				Tiles:  []RosterEntry{markedAs("me", "Standin", "Standin"), markedAs("me2", "You", "Standin")},
				Counts: []string{"People - 2 joined"},
			}, nil, 0,
		},
		"alone, by the count only": {Snapshot{Counts: []string{"People - 1 joined"}}, nil, 0},
		"two, own tile twice under two ids, counted once": {
			Snapshot{
				Tiles:  []RosterEntry{markedAs("me", "Standin", "Standin"), markedAs("me2", "Standin", "Standin"), shownAs("a", "Ada")},
				Counts: []string{"People - 2 joined"},
			},
			[]Participant{{ID: "a", Name: "Ada"}}, 1,
		},
		"every label carries the word for oneself": {
			Snapshot{Tiles: []RosterEntry{markedAs("me", "You", "You"), markedAs("a", "Ada", "You")}},
			[]Participant{{ID: "a", Name: "Ada"}}, 1,
		},
		"no mark, the word for oneself": {
			Snapshot{Tiles: []RosterEntry{shownAs("me", "You"), shownAs("a", "Ada")}},
			[]Participant{{ID: "a", Name: "Ada"}}, 1,
		},
		"somebody with the bot's name is somebody else": {
			Snapshot{Tiles: []RosterEntry{markedAs("me", "Standin", "Standin"), shownAs("b", "Standin")}, Counts: []string{"People - 2 joined"}},
			[]Participant{{ID: "b", Name: "Standin"}}, 1,
		},
		"more than are drawn": {
			Snapshot{Tiles: []RosterEntry{markedAs("me", "Standin", "Standin"), speaking}, Counts: []string{"", "People - 1,204 joined"}},
			[]Participant{{ID: "a", Name: "Ada", Speaking: true}}, 1203,
		},
		"a participant drawn twice": {
			Snapshot{Tiles: []RosterEntry{markedAs("me", "Standin", "Standin"), shownAs("a", ""), speaking}},
			[]Participant{{ID: "a", Name: "Ada", Speaking: true}}, 1,
		},
		"the list of people is open": {
			Snapshot{
				Tiles: []RosterEntry{markedAs("me", "Standin", "Standin"), shownAs("a", "")},
				Rows:  []RosterEntry{shownAs("me", "Standin"), shownAs("a", "Ada"), shownAs("b", "Ben")},
			},
			[]Participant{{ID: "a", Name: "Ada"}, {ID: "b", Name: "Ben"}}, 2,
		},
		"rows without ids": {
			Snapshot{
				Tiles: []RosterEntry{markedAs("me", "Standin", "Standin"), shownAs("a", "Ada")},
				Rows:  []RosterEntry{shownAs("", "You"), shownAs("", "Ada"), shownAs("", "Ben"), shownAs("", "")},
			},
			[]Participant{{ID: "a", Name: "Ada"}, {ID: "name:Ben", Name: "Ben"}}, 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			people, others := siteOf(t, job.Meet).profile.participants(c.snapshot, "")
			if !slices.Equal(people, c.want) || others != c.others {
				t.Errorf("people = %+v, %d others; want %+v, %d", people, others, c.want, c.others)
			}
		})
	}
}

// TestParticipantsByOwnName checks that on pages without marks the bot's own tile
// is identified by its name, and that similar names are other participants.
func TestParticipantsByOwnName(t *testing.T) {
	t.Parallel()
	profile := siteOf(t, job.Teams).profile
	for name, c := range map[string]struct {
		snapshot Snapshot
		want     []Participant
		others   int
	}{
		"own tile twice": {
			Snapshot{Tiles: []RosterEntry{shownAs("", "Standin"), shownAs("", "My video"), shownAs("", "Ada")}, Counts: []string{"People (2)"}},
			[]Participant{{ID: "name:Ada", Name: "Ada"}}, 1,
		},
		"alone": {Snapshot{Tiles: []RosterEntry{shownAs("", "Standin"), shownAs("", "standin ")}}, nil, 0},
		"a look-alike": {
			Snapshot{Tiles: []RosterEntry{shownAs("", "Standin"), shownAs("", "St\u0430ndin")}},
			[]Participant{{ID: "name:St\u0430ndin", Name: "St\u0430ndin"}}, 1,
		},
		"somebody of the same name is counted": {
			Snapshot{Tiles: []RosterEntry{shownAs("", "Standin"), shownAs("", "Standin")}, Counts: []string{"People (2)"}}, nil, 1,
		},
		"another one with the bot's name and something in parentheses": {
			Snapshot{Rows: []RosterEntry{markedAs("", "Standin", "Standin"), shownAs("", "Standin (Acme)")}},
			[]Participant{{ID: "name:Standin (Acme)", Name: "Standin (Acme)"}}, 1,
		},
		"two with the bot's name and something in parentheses": {
			Snapshot{Rows: []RosterEntry{shownAs("", "Standin (moi)"), shownAs("", "Standin (Acme)")}},
			[]Participant{{ID: "name:Standin (Acme)", Name: "Standin (Acme)"}}, 1,
		},
		"rows": {
			Snapshot{Tiles: []RosterEntry{shownAs("", "Standin")}, Rows: []RosterEntry{shownAs("", "Standin"), shownAs("", "Ada")}},
			[]Participant{{ID: "name:Ada", Name: "Ada"}}, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			people, others := profile.participants(c.snapshot, "Standin")
			if !slices.Equal(people, c.want) || others != c.others {
				t.Errorf("people = %+v, %d others; want %+v, %d", people, others, c.want, c.others)
			}
		})
	}
}

// TestTrackOwners checks that a track has an owner only when one tile plays it.
func TestTrackOwners(t *testing.T) {
	t.Parallel()
	playing := func(person RosterEntry, tracks ...string) RosterEntry {
		person.Tracks = tracks
		return person
	}
	for name, c := range map[string]struct {
		platform job.Platform
		tiles    []RosterEntry
		want     []TrackOwner
	}{
		"nothing is played in tiles": {job.Meet, []RosterEntry{shownAs("a", "Ada")}, nil},
		"each in its tile": {
			job.Meet, []RosterEntry{playing(shownAs("a", "Ada"), "1"), playing(shownAs("b", "Ben"), "2")},
			[]TrackOwner{{"1", "a"}, {"2", "b"}},
		},
		"twice in one tile, and in two of one participant": {
			job.Meet, []RosterEntry{playing(shownAs("a", "Ada"), "1", "1"), playing(shownAs("a", "Ada"), "1")}, []TrackOwner{{"1", "a"}},
		},
		"in the tiles of two": {
			job.Meet, []RosterEntry{playing(shownAs("a", "Ada"), "1", "2"), playing(shownAs("b", "Ben"), "1")}, []TrackOwner{{"2", "a"}},
		},
		"in the bot's own tile too": {
			job.Meet, []RosterEntry{playing(markedAs("me", "Standin", "Standin"), "1"), playing(shownAs("a", "Ada"), "1")}, nil,
		},
		"by name":                  {job.Teams, []RosterEntry{playing(shownAs("", "Ada"), "1")}, []TrackOwner{{"1", "name:Ada"}}},
		"by a name that two bear":  {job.Teams, []RosterEntry{playing(shownAs("", "Ada"), "1"), playing(shownAs("", "Ada"), "2")}, nil},
		"in a tile without a name": {job.Teams, []RosterEntry{playing(shownAs("", ""), "1")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := siteOf(t, c.platform).profile.trackOwners(Snapshot{Tiles: c.tiles}, ""); !slices.Equal(got, c.want) {
				t.Errorf("played: %+v, want %+v", got, c.want)
			}
		})
	}
}
