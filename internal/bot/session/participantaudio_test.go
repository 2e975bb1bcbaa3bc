package session

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/report"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/recording"
	"standin/internal/recording/build"
	"standin/internal/replica"
	"standin/internal/testing/mediacheck"
)

// TestParticipantAudio records each participant's audio, with a pause and a participant
// who rejoins. TestPlatforms of package meeting finds the owners of tracks on all platforms.
func TestParticipantAudio(t *testing.T) {
	visit(t, job.Meet, scenario{
		reason: report.ReasonHostEnded, during: rejoin,
		configure: func(s *Settings) { s.Recording.ParticipantAudio = launch.ParticipantAudioOn },
		check:     checkTracks,
	})
}

// ada and ben are the replica's participants: Ada beeps, Ben talks.
const (
	ada = "Ada Quill"
	ben = "Ben Okafor"
)

// rejoin records Ada before and after a pause, and after she rejoined.
func rejoin(h *harness) {
	h.admitAndRecord(1)
	h.awaitTrack(ada, 1)
	h.awaitTrack(ben, 1)
	h.command(ingest.PauseRecording, nil)
	h.event(job.BotRecordingPaused)
	h.command(ingest.ResumeRecording, nil)
	h.nthEvent(job.BotRecordingStarted, 2)
	h.awaitTrack(ada, 2)
	h.participantLeaves(ada)
	if err := h.meeting.Join(replica.Participant{Name: ada, Beeps: true}); err != nil {
		h.Fatal(err)
	}
	h.awaitTrack(ada, 3)
	h.meeting.End()
}

// awaitTrack waits until a participant has n audio tracks, the last of them some
// seconds long.
func (h *harness) awaitTrack(name string, n int) {
	h.Helper()
	const enough = 4 // segments, two seconds
	h.awaitReport("audio of "+name, func(r build.FinalReport) bool {
		tracks := tracksOf(r, name)
		return len(tracks) >= n && h.segments(tracks[len(tracks)-1].Number) >= enough
	})
}

// tracksOf returns the audio tracks of a participant.
func tracksOf(report build.FinalReport, name string) []ingest.AudioTrack {
	ids := map[string]bool{}
	for _, one := range report.People {
		ids[one.ID] = one.Name == name
	}
	return slices.DeleteFunc(slices.Clone(report.AudioTracks), func(v ingest.AudioTrack) bool { return !ids[v.PersonID] })
}

// segments returns how many segments of a track were uploaded. The caller holds
// the service's lock.
func (h *harness) segments(track int) int {
	prefix, _, _ := strings.Cut(ingest.TrackSegmentName(track, 0), "000000.")
	count := 0
	for name, content := range h.service.Media {
		if ingest.IsBundleName(name) {
			count += strings.Count(content, "\x00"+prefix) + strings.Count(content[:min(len(prefix), len(content))], prefix)
		}
	}
	return count
}

// checkTracks checks the owner and the timing of each file.
func checkTracks(h *harness) {
	mixed := h.beeps(h.report.Media[0].Name)
	if len(mixed) == 0 || len(h.laterGaps()) != 1 || len(h.report.Parts) != 1 {
		h.Fatalf("beeps at %.0f, gaps %+v", mixed, h.report.Gaps)
	}
	started, pause := h.report.Parts[0].StartedAt, h.laterGaps()[0]
	var reference []time.Time // beeps of the main recording
	for _, beep := range mixed {
		at := started.Add(milliseconds(beep))
		if at.After(pause.From) {
			at = at.Add(pause.To.Sub(pause.From))
		}
		reference = append(reference, at)
	}
	adas := tracksOf(h.report, ada)
	if len(adas) != 3 || len(tracksOf(h.report, ben)) != 2 {
		h.Errorf("tracks: %+v of %+v", h.report.AudioTracks, h.report.People)
	}
	for _, track := range h.report.AudioTracks {
		at := slices.IndexFunc(h.report.PackedTracks, func(p build.PackedTrack) bool { return p.Number == track.Number })
		if at < 0 || !track.Complete {
			h.Errorf("track %+v is incomplete, or not packed", track)
			continue
		}
		name := h.report.PackedTracks[at].File
		file := h.report.Media[slices.IndexFunc(h.report.Media, func(f recording.File) bool { return f.Name == name })]
		if file.Kind != recording.ParticipantAudio || file.ContentType != "audio/mp4" || file.Codecs != "opus" {
			h.Errorf("file of a track: %+v", file)
		}
		end := track.StartedAt.Add(time.Duration(file.DurationMs) * time.Millisecond)
		const slack = time.Second // of the recorded clock; the recording goes on for longer after the pause
		if track.StartedAt.Before(pause.From) && end.After(pause.To.Add(slack)) {
			h.Errorf("%s, from %s to %s, continues after the pause from %s to %s", name, track.StartedAt, end, pause.From, pause.To)
		}
		beeps := h.beeps(name)
		hers := slices.ContainsFunc(adas, func(v ingest.AudioTrack) bool { return v.Number == track.Number })
		if hers != (len(beeps) > 0) {
			h.Errorf("%s: Ada's %v, beeps at %.0f", name, hers, beeps)
		}
		if hers {
			h.checkBeeps(name, track.StartedAt, beeps, reference)
		}
	}
}

// checkBeeps checks the median offset from the beeps of the main recording, because
// the first beeps may come while the page is still starting. It does so only with
// make beat, which sets STANDIN_TEST_SECONDS: the offset needs an idle machine.
func (h *harness) checkBeeps(name string, start time.Time, beeps []float64, reference []time.Time) {
	var distances []time.Duration
	for _, beep := range beeps {
		nearest := time.Hour
		for _, other := range reference {
			if distance := start.Add(milliseconds(beep)).Sub(other); distance.Abs() < nearest.Abs() {
				nearest = distance
			}
		}
		distances = append(distances, nearest)
	}
	slices.Sort(distances)
	h.Logf("%s differs from the main recording by %s", name, distances)
	const limit = 80 * time.Millisecond
	if median := distances[len(distances)/2]; exact() && median.Abs() > limit {
		h.Errorf("%s differs by %s from the main recording", name, median)
	}
}

// beeps decodes an uploaded file and returns when its beeps start.
func (h *harness) beeps(name string) []float64 {
	h.Helper()
	report, err := mediacheck.Decode(h.Context(), h.file(name))
	if err != nil {
		h.Fatalf("%s: %v", name, err)
	}
	return report.BeepsMs
}

// file returns the path of a copy of an uploaded file.
func (h *harness) file(name string) string {
	h.Helper()
	content, ok := h.service.Uploaded(name)
	if !ok {
		h.Fatalf("%s was not uploaded", name)
	}
	path := filepath.Join(h.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		h.Fatal(err)
	}
	return path
}

func milliseconds(n float64) time.Duration {
	return time.Duration(math.Round(n * float64(time.Millisecond)))
}
