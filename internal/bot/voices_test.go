package bot

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/recording"
	"standin/internal/replica"
	"standin/internal/testing/mediacheck"
)

// TestParticipantAudio records, on each platform's replica, each participant's
// own sound: with a pause and with somebody who leaves and comes back, beside a
// recording without a picture, and beside one of another size.
func TestParticipantAudio(t *testing.T) {
	t.Parallel()
	needTools(t)
	stage := startReplica(t)
	for platform, c := range map[job.Platform]struct {
		recorder recorder.Settings
		act      func(*outing)
		runs     int // times that the beeping participant is heard
		main     recording.File
	}{
		job.Meet: {
			recorder.Settings{FramesPerSecond: 5}, comeAndGo, 3,
			recording.File{Name: "recording.mp4", Kind: recording.Video, Width: 1280, Height: 720},
		},
		job.Teams: {
			recorder.Settings{AudioOnly: true}, talk, 1,
			recording.File{Name: "recording.m4a", Kind: recording.Audio},
		},
		job.ZoomWeb: {
			recorder.Settings{FramesPerSecond: 5, Width: 960, Height: 540, VideoBitsPerSecond: 300_000}, talk, 1,
			recording.File{Name: "recording.mp4", Kind: recording.Video, Width: 960, Height: 540},
		},
	} {
		t.Run(string(platform), func(t *testing.T) {
			t.Parallel()
			r := row{
				reason: reasonHostEnded, act: c.act,
				bot: func(s *Settings) { s.ParticipantAudio, s.Recorder = true, c.recorder },
				check: func(o *outing) {
					first := o.report.Media[0]
					if first.Name != c.main.Name || first.Kind != c.main.Kind || first.Width != c.main.Width || first.Height != c.main.Height {
						o.Errorf("the recording is %+v, want %+v", first, c.main)
					}
					checkVoices(o, first.Name, c.runs)
				},
			}
			newOuting(t, stage, platform, r, &delays{}).run()
		})
	}
}

// ada and ben are the replica's usual participants: she beeps, he talks.
const (
	ada = "Ada Quill"
	ben = "Ben Okafor"
)

// comeAndGo has the beeping participant heard before and after a pause, and
// again after she left and came back.
func comeAndGo(o *outing) {
	o.Helper()
	o.letIn(1)
	o.heard(ada, 1)
	o.heard(ben, 1)
	o.order(ingest.PauseRecording, nil)
	o.told(job.BotRecordingPaused)
	o.order(ingest.ResumeRecording, nil)
	o.toldTimes(job.BotRecordingStarted, 2)
	o.heard(ada, 2)
	if err := o.meeting.Leave(ada); err != nil {
		o.Fatal(err)
	}
	if err := o.meeting.Join(replica.Participant{Name: ada, Beeps: true}); err != nil {
		o.Fatal(err)
	}
	o.heard(ada, 3)
	o.meeting.End()
}

// talk has both heard.
func talk(o *outing) {
	o.Helper()
	o.letIn(1)
	o.heard(ada, 1)
	o.heard(ben, 1)
	o.meeting.End()
}

// heard waits until so many voices of somebody have come, the last of which
// lasts some seconds.
func (o *outing) heard(name string, times int) {
	o.Helper()
	const enough = 4 // segments, two seconds
	o.awaitReport(name+" is heard", func(r recording.FinalReport) bool {
		voices := voicesOf(r, name)
		return len(voices) >= times && o.segments(voices[len(voices)-1].Number) >= enough
	})
}

// voicesOf are somebody's in a report.
func voicesOf(report recording.FinalReport, name string) []ingest.AudioTrack {
	ids := map[string]bool{}
	for _, one := range report.People {
		ids[one.ID] = one.Name == name
	}
	return slices.DeleteFunc(slices.Clone(report.AudioTracks), func(v ingest.AudioTrack) bool { return !ids[v.PersonID] })
}

// segments is how many segments of a voice were uploaded. The caller holds the
// service's lock.
func (o *outing) segments(voice int) int {
	prefix, _, _ := strings.Cut(ingest.TrackSegmentName(voice, 0), "000000.")
	count := 0
	for name, content := range o.service.Media {
		if ingest.IsBundleName(name) {
			count += strings.Count(content, "\x00"+prefix) + strings.Count(content[:min(len(prefix), len(content))], prefix)
		}
	}
	return count
}

// checkVoices holds each file against whose it is and when it was said. The
// beeping participant was heard so many times.
func checkVoices(o *outing, recorded string, times int) {
	o.Helper()
	mixed := o.beeps(recorded)
	if len(mixed) == 0 || len(o.report.Gaps) > 1 || len(o.report.Parts) != 1 {
		o.Fatalf("beeps at %.0f, gaps %+v", mixed, o.report.Gaps)
	}
	start, pause := o.report.Parts[0].StartedAt, ingest.Gap{From: time.Now(), To: time.Now()}
	if len(o.report.Gaps) > 0 {
		pause = o.report.Gaps[0]
	}
	var sounded []time.Time // when the main recording has its beeps
	for _, beep := range mixed {
		at := start.Add(milliseconds(beep))
		if at.After(pause.From) {
			at = at.Add(pause.To.Sub(pause.From))
		}
		sounded = append(sounded, at)
	}
	adas := voicesOf(o.report, ada)
	if len(adas) != times || len(voicesOf(o.report, ben)) != min(times, 2) {
		o.Errorf("the voices are %+v of %+v", o.report.AudioTracks, o.report.People)
	}
	for _, voice := range o.report.AudioTracks {
		at := slices.IndexFunc(o.report.PackedTracks, func(p recording.PackedTrack) bool { return p.Number == voice.Number })
		if at < 0 || !voice.Complete {
			o.Errorf("voice %+v is not whole, or not packed", voice)
			continue
		}
		name := o.report.PackedTracks[at].File
		file := o.report.Media[slices.IndexFunc(o.report.Media, func(f recording.File) bool { return f.Name == name })]
		if file.Kind != recording.ParticipantAudio || file.ContentType != "audio/mp4" || file.Codecs != "opus" {
			o.Errorf("a voice's file is %+v", file)
		}
		end := voice.StartedAt.Add(time.Duration(file.DurationMs) * time.Millisecond)
		const slack = 700 * time.Millisecond // an order takes its time
		if voice.StartedAt.Before(pause.From) && end.After(pause.From.Add(slack)) {
			o.Errorf("%s, from %s to %s, goes on into the pause from %s", name, voice.StartedAt, end, pause.From)
		}
		beeps := o.beeps(name)
		hers := slices.ContainsFunc(adas, func(v ingest.AudioTrack) bool { return v.Number == voice.Number })
		if hers != (len(beeps) > 0) {
			o.Errorf("%s: Ada's %v, beeps at %.0f", name, hers, beeps)
		}
		if hers {
			o.checkBeeps(name, voice.StartedAt, beeps, sounded)
		}
	}
}

// checkBeeps expects a voice's beeps within 80 ms of the main recording's
// (issue): the median, because the first ones may come while the page still
// finds its pace.
func (o *outing) checkBeeps(name string, start time.Time, beeps []float64, sounded []time.Time) {
	o.Helper()
	var distances []time.Duration
	for _, beep := range beeps {
		nearest := time.Hour
		for _, other := range sounded {
			if distance := start.Add(milliseconds(beep)).Sub(other); distance.Abs() < nearest.Abs() {
				nearest = distance
			}
		}
		distances = append(distances, nearest)
	}
	slices.Sort(distances)
	o.Logf("%s is from the main recording's beeps: %s", name, distances)
	if median := distances[len(distances)/2]; median.Abs() > 80*time.Millisecond {
		o.Errorf("%s is %s from the main recording", name, median)
	}
}

// beeps decodes an uploaded file and tells when its beeps begin.
func (o *outing) beeps(name string) []float64 {
	o.Helper()
	content, ok := o.service.Uploaded(name)
	if !ok {
		o.Fatalf("%s was not uploaded", name)
	}
	path := filepath.Join(o.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		o.Fatal(err)
	}
	report, err := mediacheck.Decode(o.Context(), path)
	if err != nil {
		o.Fatalf("%s: %v", name, err)
	}
	return report.BeepsMs
}

func milliseconds(n float64) time.Duration {
	return time.Duration(math.Round(n * float64(time.Millisecond)))
}

// TestWhoseVoice: a voice is somebody's when one tile alone has played it, and
// nobody's from the moment that another has; a track that is used anew is
// another voice.
func TestWhoseVoice(t *testing.T) {
	t.Parallel()
	r := newTestReport(t)
	say := func(id, track string, chunks int, end bool, cause string) {
		t.Helper()
		voice := recorder.ParticipantTrack{ID: id, TrackID: track, StartedAt: began}
		number, ok := r.voice(voice)
		if !ok {
			t.Fatal("there is no number left")
		}
		first := r.voices()[number].Segments
		r.said([]recorder.ParticipantTrackPart{{ParticipantTrack: voice, First: first, Chunks: make([][]byte, chunks), Ended: end, Cause: cause}})
	}
	seen := func(track, who string) { r.played([]meeting.TrackOwner{{Track: track, ParticipantID: who}}) }
	seen("1", "nobody yet")
	say("a", "1", 2, false, "")
	say("b", "2", 1, false, "")
	seen("1", "ada")
	seen("2", "ben")
	seen("2", "cleo")
	seen("2", "ben")
	say("a", "1", 3, true, "")
	seen("1", "dora") // the track is nobody's voice now
	say("c", "1", 1, true, "the page was left")
	want := []ingest.AudioTrack{
		{Number: 0, Segments: 5, Complete: true, PersonID: "ada"},
		{Number: 1, Segments: 1},
		{Number: 2, Segments: 1, EndedBy: "the page was left"},
	}
	got := r.voices()
	for i := range got {
		got[i].StartedAt = time.Time{}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the voices are\n%+v, want\n%+v", got, want)
	}
	if kept := inSpool(t, r); len(kept.AudioTracks) != 3 || kept.AudioTracks[0].PersonID != "ada" {
		t.Errorf("kept: %+v", kept.AudioTracks)
	}
}
