package transcript

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/testing/testprocess"
)

// TestAttribution checks that the words in a participant's audio are that participant's, and those
// in mixed audio of who speaks at their time, and that the transcript is in the manifest, on the
// timeline and in the search.
func TestAttribution(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sound.m4a")
	testprocess.Run(t, "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=f=300:d=8", "-c:a", "libopus", "-f", "mp4", path)
	media := func(name string, kind recording.MediaKind, participant string) recording.Media {
		return recording.Media{File: recording.File{
			Name: name, Kind: kind, ContentType: "audio/mp4", Codecs: "opus", DurationMs: 8000, ParticipantID: participant,
		}}
	}
	for name, test := range map[string]struct {
		media  []recording.Media
		source Source
		want   []string
	}{
		"mixed audio": {[]recording.Media{media("recording.m4a", recording.Audio, "")}, Mixed, []string{"p1 one", "p2 two", "p1 three"}},
		"participant audio": {[]recording.Media{
			media("recording.m4a", recording.Audio, ""), media("participant-001.m4a", recording.ParticipantAudio,
				"p1"), media("participant-002.m4a", recording.ParticipantAudio, "p2"),
		}, ParticipantAudio, []string{"p1 one", "p1 two", "p1 three", "p2 one", "p2 two", "p2 three"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, `{"text":"one two three","words":[{"word":"one","start":0.6,"end":1},{"word":"two","start":3.2,"end":3.6},{"word":"three","start":6.1,"end":6.5}]}`)
			})
			paths := map[string]string{}
			for _, m := range test.media {
				paths[m.Name] = path
			}
			r := h.finalized(t, recording.Manifest{
				Media: test.media, Participants: []recording.Participant{
					{ID: "p1", Name: "Ada"}, {ID: "p2", Name: "Bob <b>"},
				}, SpeechSource: recording.SpeechByPage,
				Speech: []recording.Speech{
					{ParticipantID: "p1", StartMs: 500, EndMs: 1500}, {ParticipantID: "p2", StartMs: 3000, EndMs: 4500},
					{ParticipantID: "p1", StartMs: 6000, EndMs: 7000},
				},
			}, paths)
			h.RunNext(t.Context())
			d, _ := h.document(t, r.ID)
			var got []string
			for _, s := range d.Segments {
				for _, word := range s.Words {
					got = append(got, s.ParticipantID+" "+word.Text)
				}
				if s.Source != test.source {
					t.Errorf("a segment has the source %q", s.Source)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("words %q, want %q", got, test.want)
			}
			var m recording.Manifest
			text, err := h.Storage.Manifest(t.Context(), r.ID)
			if err != nil || json.Unmarshal(text, &m) != nil || m.Revision != 2 || len(m.Media) != len(test.media)+2 {
				t.Errorf("the manifest is %s (%v)", text, err)
			}
			if entries := h.Data(t, r.ID, lifecycleAttached); len(entries) != 1 {
				t.Errorf("the timeline has the entries %v, want one", entries)
			}
			found, err := h.Store.SearchTexts(t.Context(), account.Caller{ConsumerID: r.ConsumerID, Mode: job.Live}, "three", job.TextFilter{}, 10)
			if err != nil || len(found) == 0 || found[0].JobID != r.ID {
				t.Errorf("the search found %v (%v)", found, err)
			}
			if h.RunNext(t.Context()) {
				t.Error("the transcription is due again")
			}
		})
	}
}
