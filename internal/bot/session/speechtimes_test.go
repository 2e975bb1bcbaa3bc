package session

import (
	"math"
	"slices"
	"testing"
	"time"

	"standin/internal/bot/report"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/recording"
	"standin/internal/recording/build"
	"standin/internal/replica"
)

// TestSpeechTimes records two participants who speak in turn, with pauses between them, and
// compares when each speech begins and ends with the recorded sound, and with the
// participant's own audio file.
func TestSpeechTimes(t *testing.T) {
	visit(t, job.Meet, scenario{
		reason: report.ReasonHostEnded, meeting: replica.Settings{Participants: []replica.Participant{{Name: ada}, {Name: ben}}},
		configure: func(s *Settings) {
			s.Recording.Mode, s.Recording.ParticipantAudio = job.RecordAudio, launch.ParticipantAudioOn
		},
		during: func(h *harness) {
			h.Helper()
			h.admitAndRecord(1)
			h.awaitReport("five speeches", func(r build.FinalReport) bool { return len(r.Speech) >= 5 })
			h.meeting.End()
		},
		check: checkSpeechTimes,
	})
}

// checkSpeechTimes checks the beginning and the end of each speech. The first and the last
// may be cut off by the recording.
func checkSpeechTimes(h *harness) {
	limit := 150 * time.Millisecond
	if exact() {
		limit = 50 * time.Millisecond
	}
	begins, ends := h.sound(h.report.Media[0], h.report.Parts[0].StartedAt)
	owners := map[string]string{} // file -> participant
	started := map[string]time.Time{}
	for _, packed := range h.report.PackedTracks {
		for _, track := range h.report.AudioTracks {
			if track.Number == packed.Number {
				owners[packed.File], started[packed.File] = track.PersonID, track.StartedAt
			}
		}
	}
	check := func(what, person string, at time.Time, moments []time.Time) {
		nearest := time.Duration(math.MaxInt64)
		for _, moment := range moments {
			if difference := at.Sub(moment); difference.Abs() < nearest.Abs() {
				nearest = difference
			}
		}
		h.Logf("%s of %s: %s after that of the sound", what, person, nearest)
		if nearest.Abs() > limit {
			h.Errorf("%s of %s at %s is %s away from the sound", what, person, at, nearest)
		}
	}
	for i, speech := range h.report.Speech {
		if i == 0 || i == len(h.report.Speech)-1 {
			continue
		}
		check("beginning", speech.PersonID, speech.From, begins)
		check("end", speech.PersonID, speech.To, ends)
		for _, file := range h.report.Media {
			if owners[file.Name] == speech.PersonID && file.Kind == recording.ParticipantAudio {
				from, _ := h.sound(file, started[file.Name])
				check("beginning in "+file.Name, speech.PersonID, speech.From, from)
			}
		}
	}
}

// sound returns when the sound of an uploaded file, which starts at a time, begins and
// ends. Short pauses are part of it, as in the recorder.
func (h *harness) sound(file recording.File, start time.Time) (begins, ends []time.Time) {
	h.Helper()
	tools, err := build.FindTools()
	if err != nil {
		h.Fatal(err)
	}
	length := time.Duration(file.DurationMs) * time.Millisecond
	silences, err := tools.Silences(h.Context(), h.file(file.Name), build.Span{End: length}, 200*time.Millisecond, -45)
	if err != nil {
		h.Fatal(err)
	}
	for _, silence := range silences {
		begins, ends = append(begins, start.Add(silence.End)), append(ends, start.Add(silence.Start))
	}
	return slices.Clip(begins), slices.Clip(ends)
}
