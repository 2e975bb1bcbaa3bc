package report

import (
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/bot/spool"
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

// TestEvictedTracks checks that tracks take no second place on the disk once uploaded segments are evicted: the service packs
// the recording then.
func TestEvictedTracks(t *testing.T) {
	t.Parallel()
	store, err := spool.Open(filepath.Join(t.TempDir(), "spool"), spool.Settings{Limit: 200_000})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	r := New(0, "v9", false, store, NewClock())
	sink := NewTrackSink(slog.New(slog.DiscardHandler), r)
	held := func() int {
		files, _ := filepath.Glob(filepath.Join(store.ScratchDir(), "tracks", "*")) // the pattern is valid
		return len(files)
	}
	track := recorder.ParticipantTrack{ID: "a", TrackID: "a", StartedAt: start}
	for i := range 40 {
		err := sink.AppendTracks([]recorder.ParticipantTrackPart{{ParticipantTrack: track, First: i, Chunks: [][]byte{make([]byte, 10_000)}}})
		if err != nil {
			t.Fatal(err)
		}
		if want := store.Evicted() == 0; (held() == 1) != want {
			t.Fatalf("after %d segments, of which %d are evicted: %d files", i+1, store.Evicted(), held())
		}
		for name, ok := "", true; ok; {
			if name, ok = store.NextFile(func(string) bool { return true }); !ok {
				break
			}
			file, version, err := store.OpenFile(name)
			if err == nil {
				err = errors.Join(file.Close(), store.MarkUploaded(version))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if store.Evicted() == 0 {
		t.Error("nothing was evicted")
	}
}
