package meeting

import (
	"slices"
	"testing"
)

// TestDecideSpeech checks that the more direct evidence decides who speaks.
func TestDecideSpeech(t *testing.T) {
	t.Parallel()
	level := func(value float64) *float64 { return &value }
	loud, silent := level(0.2), level(0)
	owners := []TrackOwner{{Track: "a", ParticipantID: "ada"}}
	for name, c := range map[string]struct {
		marked  []string // by the page
		present []string
		audio   []AudioTrack
		owners  []TrackOwner
		want    []string
		sources []SpeechSource
	}{
		"nothing is known": {nil, []string{"ada", "ben"}, nil, nil, nil, nil},
		"the page marks one": {
			[]string{"ben"}, []string{"ada", "ben"}, nil, nil, []string{"ben"}, []SpeechSource{SpeechByPage},
		},
		"an owned track is loud": {
			nil, []string{"ada", "ben"}, []AudioTrack{{Track: "a", Level: loud}}, owners, []string{"ada"}, []SpeechSource{SpeechByAudio},
		},
		"an owned track is silent": {
			[]string{"ada"}, []string{"ada", "ben"}, []AudioTrack{{Track: "a", Level: silent}, {Track: "b", Level: loud}}, owners, nil,
			[]SpeechSource{SpeechByPage, SpeechByAudio},
		},
		"the page marks one in silence": {
			[]string{"ben"}, []string{"ada", "ben"}, []AudioTrack{{Track: "mix", Level: silent}}, nil, nil, []SpeechSource{SpeechByPage},
		},
		"the page marks one, and a track is unknown": {
			[]string{"ben"}, []string{"ada", "ben"}, []AudioTrack{{Track: "a", Level: silent}, {Track: "b"}}, nil, []string{"ben"},
			[]SpeechSource{SpeechByPage},
		},
		"a mix is loud": {
			[]string{"ben"}, []string{"ada", "ben"}, []AudioTrack{{Track: "mix", Level: loud}}, nil, []string{"ben"},
			[]SpeechSource{SpeechByPage},
		},
		"the only other one is loud": {
			nil, []string{"ada"}, []AudioTrack{{Track: "mix", Level: loud}}, nil, []string{"ada"}, []SpeechSource{SpeechByAudio},
		},
		"the only other one by contribution": {
			nil, []string{"ada"}, []AudioTrack{{Track: "mix", Contributors: []Contributor{{ID: "7", Level: loud}}}}, nil, []string{"ada"},
			[]SpeechSource{SpeechByAudio},
		},
		"a level is not known": {
			[]string{"ada"}, []string{"ada"}, []AudioTrack{{Track: "mix", Contributors: []Contributor{{ID: "7"}}}}, nil, []string{"ada"},
			[]SpeechSource{SpeechByPage},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var participants []Participant
			for _, id := range c.present {
				participants = append(participants, Participant{ID: id, Speaking: slices.Contains(c.marked, id)})
			}
			sources, _, _ := decideSpeech(Snapshot{Audio: c.audio}, participants, len(participants), c.owners)
			var speaking []string
			for _, one := range participants {
				if one.Speaking {
					speaking = append(speaking, one.ID)
				}
			}
			if !slices.Equal(speaking, c.want) || !slices.Equal(sources, c.sources) {
				t.Errorf("%q speak by %q, want %q by %q", speaking, sources, c.want, c.sources)
			}
		})
	}
}

// TestContributorsAreCounted checks that participants whose audio arrives are in
// the roster's number, although the page shows fewer.
func TestContributorsAreCounted(t *testing.T) {
	t.Parallel()
	snapshot := withTiles(Snapshot{}, "Ada")
	snapshot.Audio = []AudioTrack{
		{Track: "1", Contributors: []Contributor{{ID: "5"}, {ID: "6"}}}, {Track: "2", Contributors: []Contributor{{ID: "6"}, {ID: "7"}}},
	}
	if _, others := new(Profile).participants(snapshot, "Standin"); others != 3 {
		t.Errorf("%d others, want 3", others)
	}
}
