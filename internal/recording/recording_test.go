package recording_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/recording"
)

// at returns a time some seconds into the meeting.
func at(seconds float64) recording.Instant {
	start := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	return recording.Instant{Time: start.Add(time.Duration(seconds * float64(time.Second)))}
}

// TestMediaPosition: pauses, and what was not recorded at first, take no time in the files.
func TestMediaPosition(t *testing.T) {
	t.Parallel()
	gaps := []recording.Gap{
		{StartMs: 0, EndMs: 500, Reason: recording.GapNoSound}, {StartMs: 500, EndMs: 700, Reason: recording.GapBotLost},
		{StartMs: 1000, EndMs: 3000, Reason: recording.GapPaused}, {StartMs: 5000, EndMs: 6000, Reason: recording.GapPaused},
	}
	for offset, want := range map[int64]time.Duration{
		-5: 0, 0: 0, 999: 999 * time.Millisecond, 1000: time.Second, 2000: time.Second, 3000: time.Second, 4000: 2 * time.Second,
		5500: 3 * time.Second, 9000: 6 * time.Second,
	} {
		if got := recording.MediaPosition(offset, gaps); got != want {
			t.Errorf("%d ms are at %s, want %s", offset, got, want)
		}
	}
}

// TestFirstPart: files begin with the first part.
func TestFirstPart(t *testing.T) {
	t.Parallel()
	gaps := []recording.Gap{{StartMs: 0, EndMs: 7000, Reason: recording.GapNotRecording}, {StartMs: 9000, EndMs: 20_000, Reason: recording.GapBotLost}}
	if got := recording.MediaPosition(30_000, gaps); got != 23*time.Second {
		t.Errorf("30 s are at %s, want 23 s", got)
	}
}

// TestRequestedGaps: only gaps that somebody asked for leave a recording complete.
func TestRequestedGaps(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]bool{
		recording.GapPaused: true, recording.GapNotRecording: false, recording.GapBotLost: false, recording.GapMediaLost: false,
		recording.GapDiskFull: false, "": false,
	} {
		if got := (recording.Gap{Reason: reason}).Requested(); got != want {
			t.Errorf("%q: requested %t", reason, got)
		}
	}
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	file := func(kind recording.MediaKind, uri string, offsetMs, durationMs, size int64) recording.Media {
		return recording.Media{URI: uri, File: recording.File{Kind: kind, StartOffsetMs: offsetMs, DurationMs: durationMs, Bytes: size}}
	}
	stay := recording.Timeline{AdmittedAt: at(1), LeftAt: at(3.5)}
	for name, c := range map[string]struct {
		manifest recording.Manifest
		want     job.Summary
	}{
		"several files": {
			recording.Manifest{Partial: true, End: recording.End{Reason: "alone"}, Timeline: stay, Media: []recording.Media{
				file(recording.Audio, "audio", 0, 4000, 1), file(recording.Video, "video", 500, 3000, 2), file(recording.Video, "video-2", 9000, 1000,
					4),
				file(recording.ParticipantAudio, "ada", 0, 99_000, 8), file(recording.Captions, "captions", 0, 0, 16),
			}},
			job.Summary{EndReason: "alone", Partial: true, MediaURI: "video", Captions: true, DurationMs: 10_000, Bytes: 31},
		},
		"audio only": {
			recording.Manifest{Media: []recording.Media{file(recording.Audio, "audio", 0, 4000, 1)}},
			job.Summary{MediaURI: "audio", DurationMs: 4000, Bytes: 1},
		},
		"nothing was recorded": {
			recording.Manifest{Timeline: stay, Media: []recording.Media{file(recording.Chat, "chat", 0, 0, 7)}},
			job.Summary{DurationMs: 2500, Bytes: 7},
		},
		"never admitted":        {recording.Manifest{Timeline: recording.Timeline{LeftAt: at(3)}}, job.Summary{}},
		"no end of the meeting": {recording.Manifest{Timeline: recording.Timeline{AdmittedAt: at(3)}}, job.Summary{}},
	} {
		got := job.Summary{MediaURI: "old", Captions: true, DurationMs: 1, Bytes: 1, Participants: []job.Participant{{ID: "old"}}}
		if c.manifest.Summarize(&got); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	var many job.Summary
	recording.Manifest{Participants: make([]recording.Participant, job.MaxSummaryParticipants+1)}.Summarize(&many)
	if len(many.Participants) != job.MaxSummaryParticipants {
		t.Errorf("%d participants", len(many.Participants))
	}
}

// TestOrigin: offsets are relative to the recording, or to the admission of a bot that records
// nothing.
func TestOrigin(t *testing.T) {
	t.Parallel()
	timeline := recording.Timeline{JoinedAt: at(1), AdmittedAt: at(2)}
	if got := timeline.Origin(); !got.Equal(at(2).Time) {
		t.Errorf("without a recording: %s", got)
	}
	timeline.RecordingStartedAt = at(3)
	if got := timeline.Origin(); !got.Equal(at(3).Time) {
		t.Errorf("with a recording: %s", got)
	}
}

func TestNullValues(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal([]any{recording.Instant{}, at(0.25), recording.ConsentOutcome(""), recording.ConsentDenied})
	if want := `[null,"2026-11-20T09:00:00.250Z",null,"denied"]`; err != nil || string(text) != want {
		t.Errorf("%s (%v), want %s", text, err, want)
	}
	for text, want := range map[string]recording.Instant{`"2026-11-20T10:00:00.25+01:00"`: at(0.25), "null": {}} {
		got := at(9)
		if err := json.Unmarshal([]byte(text), &got); err != nil || !got.Equal(want.Time) || !got.IsZero() && got.Location() != time.UTC {
			t.Errorf("%s is %s (%v)", text, got, err)
		}
	}
	if err := json.Unmarshal([]byte(`"yesterday"`), new(recording.Instant)); err == nil {
		t.Error("yesterday is an instant")
	}
}

// TestWebVTT: cues last long enough to be read, and begin where their speech is in the file.
func TestWebVTT(t *testing.T) {
	t.Parallel()
	got := string(recording.WebVTT([]recording.Cue{
		{StartMs: 3_600_500, EndMs: 3_600_600, Speaker: "Ada & <Ben> --", Text: "a\r\n\n--> b\u2028c"}, {StartMs: 0, EndMs: 1000, Text: "x"},
	}, []recording.Gap{{StartMs: 1000, EndMs: 2000, Reason: recording.GapPaused}}))
	if want := "WEBVTT\n\n00:59:59.500 --> 01:00:00.000\n<v Ada &amp; &lt;Ben&gt; -- >a --&gt; b c\n\n00:00:00.000 --> 00:00:01.000\nx\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80")
	for name, ok := range map[string]bool{
		recording.WorkPrefix(id) + "finish-1": true, recording.WorkPrefix(id): true, "work-" + id.String()[1:] +
			"-x": false, "work-": false, id.String(): false, "": false,
	} {
		if got, parsed := recording.ParseWorkName(name); parsed != ok || ok && got != id {
			t.Errorf("%q: %s, %t", name, got, parsed)
		}
	}
	const job = "https://standin.test/api/v1/jobs/0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80"
	media := recording.TextFile{
		Name: "chat.json", Kind: recording.Chat, ContentType: "application/json", Content: []byte("{}"),
	}.Attachment()
	if recording.MediaURI("https://standin.test/", id.String(), media.Name) != job+"/media/chat.json" || media.Bytes != 2 ||
		media.SHA256 != "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" || media.Kind != recording.Chat {
		t.Errorf("%+v", media)
	}
	if got := recording.ManifestURI("https://standin.test", id.String()); got != job+"/manifest" {
		t.Errorf("the manifest is at %s", got)
	}
}
