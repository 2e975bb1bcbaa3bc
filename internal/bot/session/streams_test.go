package session

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/ingest"
	"standin/internal/bot/recorder"
	"standin/internal/bot/report"
	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/recording/build"
	"standin/internal/replica"
	"standin/internal/testing/mediacheck"
)

// TestStreams records the video of each participant as it is received, with a participant who leaves and rejoins and one
// who joins late.
func TestStreams(t *testing.T) {
	visit(t, job.Meet, scenario{
		reason: report.ReasonHostEnded,
		configure: func(s *Settings) {
			s.Recording.Capture = job.CaptureStreams
		},
		during: func(h *harness) {
			h.admitAndRecord(1)
			h.awaitReport("streams", func(r build.FinalReport) bool { return len(r.Parts) > 0 && r.Parts[0].SoundOnly })
			h.awaitVideo(ada, 1)
			h.awaitVideo(ben, 1)
			h.participantLeaves(ada)
			if err := h.meeting.Join(replica.Participant{Name: ada, Beeps: true}); err != nil {
				h.Fatal(err)
			}
			h.awaitVideo(ada, 2)
			h.meeting.End()
		},
		check: checkVideos,
	})
}

// awaitVideo waits until a participant has n tracks of video, the last of them some seconds long.
func (h *harness) awaitVideo(name string, n int) {
	h.Helper()
	h.awaitReport("video of "+name, func(r build.FinalReport) bool {
		tracks := tracksOf(r, name)
		for i, track := range slices.Backward(tracks) {
			if track.Kind != string(recording.ParticipantVideo) {
				tracks = slices.Delete(tracks, i, i+1)
			}
		}
		return len(tracks) >= n && h.segments(tracks[len(tracks)-1].Number) >= 3
	})
}

// checkVideos checks that the video of each participant is packed, with what is his, as long as he was recorded and together
// with the sound, and that there is no file with the picture.
func checkVideos(h *harness) {
	var sound []time.Time
	videos := map[string]int{}
	for _, file := range h.report.Media {
		switch file.Kind {
		case recording.Video:
			h.Errorf("the picture was packed: %+v", file)
		case recording.Audio:
			if file.Name != "recording.m4a" {
				h.Errorf("the sound: %+v", file)
			}
			for _, beep := range h.beeps(file.Name) {
				sound = append(sound, h.report.Parts[0].StartedAt.Add(milliseconds(beep)))
			}
		}
	}
	for _, packed := range h.report.PackedTracks {
		at := slices.IndexFunc(h.report.Media, func(file recording.File) bool { return file.Name == packed.File })
		track := h.report.AudioTracks[slices.IndexFunc(h.report.AudioTracks, func(t ingest.AudioTrack) bool { return t.Number == packed.Number })]
		if at < 0 || track.Kind == "" {
			continue
		}
		file := h.report.Media[at]
		media, err := mediacheck.Decode(h.Context(), h.file(file.Name))
		if err != nil {
			h.Fatal(err)
		}
		if file.Kind != recording.ParticipantVideo || file.ContentType != "video/webm" || file.Codecs != "vp8" || media.VideoCodec != "vp8" {
			h.Errorf("video: %+v", file)
		}
		name := h.report.People[slices.IndexFunc(h.report.People, func(p ingest.Person) bool { return p.ID == track.PersonID })].Name
		videos[name]++
		if hers := name == ada; hers != (len(media.FlashesMs) >= 3) {
			h.Errorf("%s of %s flashes at %.0f", file.Name, name, media.FlashesMs)
		}
		if want := time.Duration(packed.LengthMs) * time.Millisecond; want < 2*time.Second ||
			(time.Duration(media.DurationMs)*time.Millisecond-want).Abs() > 200*time.Millisecond || media.LongestFrameGapMs > 500 {
			h.Errorf("%s has %.0f ms, with a frame of %.0f ms; its track has %v", file.Name, media.DurationMs, media.LongestFrameGapMs, want)
		}
		if name != ada {
			continue
		}
		// The sound of a track that begins needs seconds to come as late as its picture.
		var differences []time.Duration
		for _, flash := range media.FlashesMs {
			nearest := time.Hour
			for _, beep := range sound {
				if difference := track.StartedAt.Add(milliseconds(flash)).Sub(beep); difference.Abs() < nearest.Abs() {
					nearest = difference
				}
			}
			differences = append(differences, nearest)
		}
		h.Logf("%s: flashes %v after the beeps", file.Name, differences)
		if !slices.ContainsFunc(differences, func(d time.Duration) bool { return d.Abs() < 100*time.Millisecond }) {
			h.Errorf("the flashes of %s come %v after the beeps", file.Name, differences)
		}
	}
	if videos[ada] != 2 || videos[ben] != 1 {
		h.Errorf("videos: %v", videos)
	}
}

// TestStreamsMissing records the page when the video of participants does not come any more, and keeps what came before.
func TestStreamsMissing(t *testing.T) {
	var page atomic.Pointer[browser.Page]
	visit(t, job.Meet, scenario{
		reason: report.ReasonHostEnded,
		configure: func(s *Settings) {
			s.Recording.Capture = job.CaptureStreams
			s.startRecorder = func(ctx context.Context, b *browser.Browser, p *browser.Page, settings recorder.Settings,
				sink recorder.Sink) (*recorder.Recorder, error) {
				page.Store(p)
				return recorder.Start(ctx, b, p, settings, sink)
			}
		},
		during: func(h *harness) {
			h.admitAndRecord(1)
			h.awaitReport("streams", func(r build.FinalReport) bool { return len(r.Parts) > 0 && r.Parts[0].SoundOnly })
			h.awaitVideo(ada, 1)
			const take = `[...window[Symbol.for("standin.connections")]].forEach(c => c.deref()?.getReceivers().forEach(r => { r.transform = null; }))`
			if err := page.Load().EvalInPage(h.Context(), take, nil); err != nil {
				h.Fatal(err)
			}
			fault := h.event(job.BotMediaFault)
			if !strings.Contains(string(fault.Data), `"no_streams"`) {
				h.Errorf("fault: %s", fault.Data)
			}
			h.awaitReport("the page", func(r build.FinalReport) bool { return len(r.Parts) > 1 && r.Parts[1].Segments >= 4 })
			h.meeting.End()
		},
		check: func(h *harness) {
			var kinds []string
			for _, file := range h.report.Media {
				kinds = append(kinds, file.Name)
			}
			if !slices.Contains(kinds, "recording.m4a") || !slices.Contains(kinds, "recording-2.mp4") || !slices.Contains(kinds, "video-001.webm") {
				h.Errorf("files %q", kinds)
			}
			parts, gaps := h.report.Parts, h.laterGaps()
			if len(parts) != 2 || !parts[0].Complete || parts[1].SoundOnly || len(gaps) != 1 || gaps[0].To.Sub(gaps[0].From) > 5*time.Second {
				h.Errorf("parts %+v, gaps %+v", parts, gaps)
			}
		},
	})
}
