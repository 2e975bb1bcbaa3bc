package recorder

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/ingest"
)

// trackList is a sink that checks that no chunk of a track is missing.
type trackList struct {
	t      *testing.T
	stored map[string]int // chunks of the track
}

// AppendTracks implements ParticipantTrackSink.
func (s *trackList) AppendTracks(parts []ParticipantTrackPart) error {
	for _, part := range parts {
		if part.First < 0 || part.First > s.stored[part.ID] {
			s.t.Errorf("part of %q from chunk %d, and %d are stored", part.ID, part.First, s.stored[part.ID])
		}
		s.stored[part.ID] = max(s.stored[part.ID], part.First+len(part.Chunks))
	}
	return nil
}

// FuzzPulledAudio checks that the tracks which a page reports, one report a line, are stored
// without holes, with pauses at empty lines.
func FuzzPulledAudio(f *testing.F) {
	for _, reports := range []string{
		`{"tracks":[{"id":"a","track":"t","chunks":["AA==","AQ=="]}]}` + "\n" +
			`{"tracks":[{"id":"a","first":1,"chunks":["AQ==","Ag=="],"ended":true}]}` + "\n{}",
		`{"tracks":[{"id":"a","chunks":["AA=="]},{"id":"b","cause":"muted"}]}` + "\n\n" + `{"tracks":[{"id":"a","epoch":1,"chunks":["AA=="]}]}`,
		`{"tracks":[{"id":"a","chunks":["AA=="]},{"id":"a","first":1,"chunks":["AA=="],"ended":true}],"skipped":-1}`,
		`{"tracks":[{"id":"a","first":-1},{"id":"","chunks":[""]}]}`,
	} {
		f.Add(reports)
	}
	f.Fuzz(func(t *testing.T, reports string) {
		a := &participantAudio{
			sink: &trackList{t: t, stored: map[string]int{}}, log: slog.New(slog.DiscardHandler), trackIndex: map[string]*openTrack{},
		}
		for text := range strings.SplitSeq(reports, "\n") {
			var report pullReport
			switch {
			case text == "":
				a.nextEpoch("paused")
			case json.Unmarshal([]byte(text), &report) == nil && report.validate() == nil:
				_ = a.store(a.newParts(report, time.Unix(0, 0)))
			}
		}
		a.endTracks("over")
	})
}

// FuzzFetchedSound checks that sound which a page returns is refused or complete and recent.
func FuzzFetchedSound(f *testing.F) {
	for _, text := range []string{
		`[{"source":"t","atMs":1000,"agoMs":10}]`, `[{"atMs":1e308,"agoMs":-1e308},{"source":"t"}]`, `[]`, `[{"pcm":"AAAA"}]`,
	} {
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, mixed bool) {
		var fetched []fetchedSound
		if json.Unmarshal([]byte(text), &fetched) != nil {
			t.Skip()
		}
		for i := range fetched {
			if fetched[i].PCM == nil {
				fetched[i].PCM = make([]byte, ingest.SoundFrameBytes)
			}
		}
		now := time.Unix(1, 0)
		sound, err := convertSound(fetched, now, mixed)
		for _, frame := range sound {
			if err != nil || len(frame.PCM) != ingest.SoundFrameBytes || (frame.TrackID == "") != mixed || frame.At.After(now.Add(time.Second)) ||
				frame.At.Before(now.Add(-maxSoundAge)) {
				t.Errorf("%v: %+v", err, frame)
			}
		}
	})
}
