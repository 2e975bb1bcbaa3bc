package report

import (
	"slices"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
)

// TestTrackOwner: a track belongs to the one participant whose tile played it, and
// to nobody once another tile did. A reused page track is a new track.
func TestTrackOwner(t *testing.T) {
	t.Parallel()
	r := newTestReport(t)
	say := func(id, pageTrack string, chunks int, end bool, cause string) {
		t.Helper()
		track := recorder.ParticipantTrack{ID: id, TrackID: pageTrack, StartedAt: start}
		number, ok := r.tracks.number(track, r.clock.Convert(track.StartedAt))
		if !ok {
			t.Fatal("all numbers are used")
		}
		first := r.current().AudioTracks[number].Segments
		r.saveIfChanged(func() bool {
			return r.tracks.addParts([]recorder.ParticipantTrackPart{{
				ParticipantTrack: track, First: first, Chunks: make([][]byte, chunks), Ended: end, Cause: cause,
			}})
		})
	}
	seen := func(track, who string) { r.UpdatePlayed([]meeting.TrackOwner{{Track: track, ParticipantID: who}}) }
	seen("1", "nobody yet")
	say("a", "1", 2, false, "")
	say("b", "2", 1, false, "")
	seen("1", "ada")
	seen("2", "ben")
	seen("2", "cleo")
	seen("2", "ben")
	say("a", "1", 3, true, "")
	seen("1", "dora") // the page track is free now
	say("c", "1", 1, true, "the page was left")
	want := []ingest.AudioTrack{
		{Number: 0, Segments: 5, Complete: true, PersonID: "ada"},
		{Number: 1, Segments: 1},
		{Number: 2, Segments: 1, EndedBy: "the page was left"},
	}
	got := r.current().AudioTracks
	for i := range got {
		got[i].StartedAt = time.Time{}
	}
	if !slices.Equal(got, want) {
		t.Errorf("tracks:\n%+v, want\n%+v", got, want)
	}
	if saved := lastSaved(t, r); len(saved.AudioTracks) != 3 || saved.AudioTracks[0].PersonID != "ada" {
		t.Errorf("saved: %+v", saved.AudioTracks)
	}
}
