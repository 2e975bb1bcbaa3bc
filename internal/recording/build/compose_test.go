package build

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/testing/mediacheck"
	"standin/internal/testing/testprocess"
)

var composedAt = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// composed is a meeting: Ada and Ben have their cameras on, Ben not from 4 s to 6 s; Cid has none, and comes at 2 s. Ada
// speaks, then Ben, then Cid. Nothing is recorded from 10 s to 11 s, and Ada shares her screen from then on.
func composed() recording.Manifest {
	at := func(ms int64) recording.Instant {
		return recording.Instant{Time: composedAt.Add(time.Duration(ms) * time.Millisecond)}
	}
	file := func(name string, kind recording.MediaKind, participant string, from, length int64) recording.Media {
		return recording.Media{File: recording.File{
			Name: name, Kind: kind, ParticipantID: participant, StartOffsetMs: from, DurationMs: length, Width: 640, Height: 360,
		}}
	}
	return recording.Manifest{
		Timeline: recording.Timeline{RecordingStartedAt: at(0)},
		Gaps:     []recording.Gap{{StartMs: 10_000, EndMs: 11_000, Reason: recording.GapPaused}},
		Media: []recording.Media{
			file("recording.m4a", recording.Audio, "", 0, 13_000),
			file("video-001.webm", recording.ParticipantVideo, "ada", 0, 14_000),
			file("video-002.webm", recording.ParticipantVideo, "ben", 500, 12_500),
			file("screen-003.webm", recording.ScreenShare, "ada", 11_000, 3000),
		},
		VideoGaps: []recording.VideoGap{{Name: "video-002.webm", StartMs: 4000, EndMs: 6000}},
		Participants: []recording.Participant{
			{ID: "ada", Name: "Ada", JoinedAt: at(-5000)}, {ID: "ben", Name: "Ben", JoinedAt: at(-1000), LeftAt: at(13_000)},
			{ID: ingest.OwnID, Name: "Standin", JoinedAt: at(0)}, {ID: "cid", Name: "Cid <'\\:;[]> 赵", JoinedAt: at(2000)},
		},
		Speech: []recording.Speech{
			{ParticipantID: "ada", StartMs: 0, EndMs: 3000}, {ParticipantID: "ben", StartMs: 2500, EndMs: 7000},
			{ParticipantID: "cid", StartMs: 6900, EndMs: 7100}, {ParticipantID: "cid", StartMs: 9000, EndMs: 9500},
		},
	}
}

// TestScenes: who is large, who is beside, and when that changes, in each layout.
func TestScenes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		layout job.Layout
		want   string
	}{
		"speaker": {job.LayoutSpeaker, `0: ada 0,0 1024x720; (ben) 1028,289 252x142
500: ada 0,0 1024x720; ben 1028,289 252x142
2000: ada 0,0 1024x720; ben 1028,216 252x142; (cid) 1028,362 252x142
4000: (ben) 0,0 1024x720; ada 1028,216 252x142; (cid) 1028,362 252x142
6000: ben 0,0 1024x720; ada 1028,216 252x142; (cid) 1028,362 252x142
9000: (cid) 0,0 1024x720; ada 1028,216 252x142; ben 1028,362 252x142
11000: [ada] 0,0 1024x720; (cid) 1028,143 252x142; ada 1028,289 252x142; ben 1028,435 252x142
13000: [ada] 0,0 1024x720; (cid) 1028,216 252x142; ada 1028,362 252x142
`},
		"content": {job.LayoutContent, `0: ada 0,0 1024x720; (ben) 1028,289 252x142
500: ada 0,0 1024x720; ben 1028,289 252x142
2000: ada 0,0 1024x720; ben 1028,216 252x142; (cid) 1028,362 252x142
4000: (ben) 0,0 1024x720; ada 1028,216 252x142; (cid) 1028,362 252x142
6000: ben 0,0 1024x720; ada 1028,216 252x142; (cid) 1028,362 252x142
9000: (cid) 0,0 1024x720; ada 1028,216 252x142; ben 1028,362 252x142
11000: [ada] 0,0 1120x720; (cid) 1124,316 156x88
`},
		"gallery": {job.LayoutGallery, `0: ada 0,2 1280x356; (ben) 0,362 1280x356
500: ada 0,2 1280x356; ben 0,362 1280x356
2000: ada 2,2 636x356; ben 642,2 636x356; (cid) 322,362 636x356
4000: ada 2,2 636x356; (ben) 642,2 636x356; (cid) 322,362 636x356
6000: ada 2,2 636x356; ben 642,2 636x356; (cid) 322,362 636x356
11000: [ada] 2,2 636x356; ada 642,2 636x356; ben 2,362 636x356; (cid) 642,362 636x356
13000: [ada] 2,2 636x356; ada 642,2 636x356; (cid) 322,362 636x356
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got strings.Builder
			for _, s := range scenes(composed(), 0, 14_000, test.layout, 1280, 720) {
				var places []string
				for _, p := range s.places {
					who := p.participant
					switch {
					case p.file == "":
						who = "(" + who + ")"
					case p.whole:
						who = "[" + who + "]"
					}
					places = append(places, fmt.Sprintf("%s %d,%d %dx%d", who, p.x, p.y, p.width, p.height))
				}
				fmt.Fprintf(&got, "%d: %s\n", s.fromMs, strings.Join(places, "; "))
			}
			if got.String() != test.want {
				t.Errorf("got\n%swant\n%s", &got, test.want)
			}
		})
	}
}

// TestComposable: the picture is for the mixed sound, also of a second bot when the first one recorded the tab.
func TestComposable(t *testing.T) {
	t.Parallel()
	file := func(name string, kind recording.MediaKind) recording.Media {
		return recording.Media{File: recording.File{Name: name, Kind: kind}}
	}
	tab, second := file("recording.mp4", recording.Video), file("recording-2.m4a", recording.Audio)
	sound, own := file("recording.m4a", recording.Audio), file("participant-001.m4a", recording.ParticipantAudio)
	video, screen := file("video-001.webm", recording.ParticipantVideo), file("screen-001.webm", recording.ScreenShare)
	for name, test := range map[string]struct {
		media    []recording.Media
		composed string // empty: nothing
	}{
		"streams":                     {[]recording.Media{sound, own, video}, "recording.mp4"},
		"only a screen":               {[]recording.Media{sound, screen}, "recording.mp4"},
		"the tab":                     {[]recording.Media{tab, own}, ""},
		"sound":                       {[]recording.Media{sound, own}, ""},
		"the tab, and then streams":   {[]recording.Media{tab, second, own, video}, "recording-2.mp4"},
		"videos without mixed sound":  {[]recording.Media{own, video}, ""},
		"streams, and their composed": {[]recording.Media{sound, video, tab}, "recording.mp4"},
	} {
		if _, composed, ok := Composable(recording.Manifest{Media: test.media}); composed != test.composed || ok != (composed != "") {
			t.Errorf("%s: %q %v, want %q", name, composed, ok, test.composed)
		}
	}
}

// ffmpeg runs ffmpeg, and returns what it writes.
func ffmpeg(t *testing.T, arguments ...string) []byte {
	t.Helper()
	return testprocess.Run(t, needFFmpeg(t).FFmpeg, append([]string{"-nostdin", "-v", "error", "-y"}, arguments...)...)
}

// TestCompose: each person is where the scenes say, at the time they say, without the pause; a video may change its size.
func TestCompose(t *testing.T) {
	t.Parallel()
	folder, m, tools := t.TempDir(), composed(), needFFmpeg(t)
	encode := func(arguments ...string) { ffmpeg(t, arguments...) }
	video := func(name, color string, seconds string, sizes ...string) {
		t.Helper()
		list := ""
		for i, size := range sizes {
			part := filepath.Join(folder, fmt.Sprintf("%s-%d.mkv", name, i))
			encode("-f", "lavfi", "-i", "color="+color+":r=25:s="+size+":d="+seconds, "-c:v", "libvpx", "-b:v", "200k", part)
			list += "file " + filepath.Base(part) + "\n"
		}
		if err := os.WriteFile(filepath.Join(folder, name+".txt"), []byte(list), 0o600); err != nil {
			t.Fatal(err)
		}
		encode("-f", "concat", "-i", filepath.Join(folder, name+".txt"), "-c", "copy", filepath.Join(folder, name))
	}
	video("video-001.webm", "red", "7", "640x360", "320x180")
	video("video-002.webm", "blue", "12.5", "320x180")
	video("screen-003.webm", "yellow", "3", "640x480")
	encode("-f", "lavfi", "-i", "sine=440:d=13", "-c:a", "aac", filepath.Join(folder, "recording.m4a"))
	sound, _, ok := Composable(m)
	if !ok {
		t.Fatal("the recording cannot be composed")
	}
	like := Composition{Width: 1280, Height: 720, FramesPerSecond: 25, BitRate: 1_200_000}
	file, err := tools.Compose(t.Context(), m, sound, like, folder, "recording.mp4")
	if err != nil {
		t.Fatal(err)
	}
	off := file.DurationMs - sound.DurationMs
	if off < -40 || off > 40 || file.Kind != recording.Video || file.Width != 1280 || file.Height != 720 {
		t.Errorf("%+v", file)
	}
	red, blue, yellow, gray, black := [3]int{255, 0, 0}, [3]int{0, 0, 255}, [3]int{255, 255, 0}, [3]int{0x3c, 0x3c, 0x3c}, [3]int{0, 0, 0}
	for _, one := range []struct {
		at    string // in the file
		x, y  int
		color [3]int
	}{
		{"0.4", 500, 300, red}, {"0.4", 1150, 300, gray}, {"0.6", 1150, 360, blue}, {"1.9", 1150, 433, black}, {"2.1", 1150, 380, gray},
		{"3.9", 500, 300, red}, {"4.1", 500, 300, gray}, {"4.1", 1150, 287, red}, {"5.9", 500, 300, gray}, {"6.1", 500, 300, blue},
		{"7.5", 1150, 287, red}, {"8.9", 500, 300, blue}, {"9.1", 500, 300, gray}, {"9.9", 1150, 433, blue},
		{"10.1", 500, 300, yellow}, {"10.1", 10, 300, black}, {"11.9", 1150, 505, blue}, {"12.1", 1150, 505, black}, {"12.1", 1150, 433, red},
	} {
		frame := ffmpeg(t, "-ss", one.at, "-i", filepath.Join(folder, file.Name), "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
		if len(frame) != 1280*720*3 {
			t.Fatalf("no picture at %s", one.at)
		}
		for i, want := range one.color {
			if got := int(frame[(one.y*1280+one.x)*3+i]); got < want-24 || got > want+24 {
				t.Errorf("at %s, (%d,%d) is %v, want %v", one.at, one.x, one.y, frame[(one.y*1280+one.x)*3:][:3], one.color)
				break
			}
		}
	}
}

// TestComposeSync: one sees and hears at the same time, although the video begins later, and after a pause.
func TestComposeSync(t *testing.T) {
	t.Parallel()
	folder, tools := t.TempDir(), needFFmpeg(t)
	encode := func(name string, arguments ...string) {
		t.Helper()
		ffmpeg(t, append(append([]string{"-f", "lavfi", "-i"}, arguments...), filepath.Join(folder, name))...)
	}
	// Each second of the meeting has a beep and a flash; the sound has no pause, which was from 5.4 s to 8.7 s.
	encode("recording.m4a", "aevalsrc='0.5*sin(2*PI*1000*t)*lt(mod(if(lt(t,5.4),t,t+3.3),1),0.1)':s=48000:d=12", "-c:a", "aac")
	flashes := "color=gray:s=320x180:r=25:d=15,drawbox=t=fill:c=white:enable='lt(mod(t+0.3,1),0.12)'"
	encode("video-001.webm", flashes, "-c:v", "libvpx", "-b:v", "300k")
	m := recording.Manifest{
		Timeline: recording.Timeline{RecordingStartedAt: recording.Instant{Time: composedAt}},
		Gaps:     []recording.Gap{{StartMs: 5400, EndMs: 8700, Reason: recording.GapPaused}},
		Media: []recording.Media{
			{File: recording.File{Name: "recording.m4a", Kind: recording.Audio, DurationMs: 12_000}},
			{File: recording.File{Name: "video-001.webm", Kind: recording.ParticipantVideo, StartOffsetMs: 300, DurationMs: 15_000}},
		},
	}
	sound, _, _ := Composable(m)
	like := Composition{Width: 320, Height: 180, FramesPerSecond: 25, BitRate: 1_200_000}
	file, err := tools.Compose(t.Context(), m, sound, like, folder, "recording.mp4")
	if err != nil {
		t.Fatal(err)
	}
	report, err := mediacheck.Decode(t.Context(), filepath.Join(folder, file.Name))
	if err != nil {
		t.Fatal(err)
	}
	pairs := report.Pairs()
	for _, pair := range pairs {
		if off := pair.DifferenceMs(); off < -50 || off > 50 {
			t.Errorf("the beep at %.0f ms is %.0f ms after the flash", pair.BeepMs, off)
		}
	}
	if len(pairs) < 10 {
		t.Errorf("%d beeps have a flash", len(pairs))
	}
}

// TestScenesProperties: whatever a manifest says, scenes follow each other without a hole, and places are within the picture, apart
// from each other, and of one person or file each.
func TestScenesProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(-5000, 20_000)
		m := recording.Manifest{Timeline: recording.Timeline{RecordingStartedAt: recording.Instant{Time: composedAt}}}
		at := func(name string) recording.Instant {
			return recording.Instant{Time: composedAt.Add(time.Duration(ms.Draw(t, name)) * time.Millisecond)}
		}
		id := rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e", "unknown"})
		for i := range rapid.IntRange(0, 5).Draw(t, "people") {
			m.Participants = append(m.Participants, recording.Participant{ID: string(rune('a' + i)), JoinedAt: at("joined")})
			if rapid.Bool().Draw(t, "left") {
				m.Participants[i].LeftAt = at("leftAt")
			}
		}
		for i := range rapid.IntRange(0, 8).Draw(t, "files") {
			kind := rapid.SampledFrom([]recording.MediaKind{recording.ParticipantVideo, recording.ScreenShare, recording.Audio}).Draw(t, "kind")
			file := recording.File{
				Name: fmt.Sprint(i), Kind: kind, ParticipantID: id.Draw(t, "owner"),
				StartOffsetMs: ms.Draw(t, "start"), DurationMs: ms.Draw(t, "length"),
			}
			m.Media = append(m.Media, recording.Media{File: file})
			if rapid.Bool().Draw(t, "gap") {
				m.VideoGaps = append(m.VideoGaps, recording.VideoGap{Name: file.Name, StartMs: ms.Draw(t, "from"), EndMs: ms.Draw(t, "to")})
			}
		}
		for range rapid.IntRange(0, 10).Draw(t, "speeches") {
			m.Speech = append(m.Speech, recording.Speech{ParticipantID: id.Draw(t, "speaker"), StartMs: ms.Draw(t, "from"), EndMs: ms.Draw(t, "to")})
		}
		from := rapid.Int64Range(0, 5000).Draw(t, "recorded from")
		to := from + rapid.Int64Range(1, 15_000).Draw(t, "recorded for")
		layout := rapid.SampledFrom([]job.Layout{job.LayoutSpeaker, job.LayoutGallery, job.LayoutContent, job.LayoutPage}).Draw(t, "layout")
		end := from
		for _, s := range scenes(m, from, to, layout, 1280, 720) {
			if s.fromMs != end || s.toMs <= s.fromMs {
				t.Fatalf("a scene from %d to %d follows one until %d", s.fromMs, s.toMs, end)
			}
			end = s.toMs
			for i, p := range s.places {
				if p.x < 0 || p.y < 0 || p.width < 1 || p.height < 1 || p.x+p.width > 1280 || p.y+p.height > 720 {
					t.Fatalf("at %d, a place is outside: %+v", s.fromMs, p)
				}
				for _, other := range s.places[:i] {
					if p.x < other.x+other.width && other.x < p.x+p.width && p.y < other.y+other.height && other.y < p.y+p.height {
						t.Fatalf("at %d, %+v covers %+v", s.fromMs, p, other)
					}
					if p.file == other.file && p.participant == other.participant {
						t.Fatalf("at %d, %+v is there twice", s.fromMs, p)
					}
				}
			}
		}
		if end != to {
			t.Fatalf("the scenes end at %d, not at %d", end, to)
		}
	})
}
