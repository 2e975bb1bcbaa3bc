package mediacheck_test

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"standin/internal/testing/mediacheck"
)

// makeFile creates a media file with ffmpeg. Without the tools, the test fails in CI
// and is skipped elsewhere.
func makeFile(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	if err := mediacheck.Available(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("this test needs tools: %v", err)
		}
		t.Skipf("this test needs tools: %v", err)
	}
	path := filepath.Join(t.TempDir(), name)
	command := exec.CommandContext(t.Context(), "ffmpeg", append(append([]string{"-v", "error", "-nostdin"}, arguments...), path)...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("create %s: %v: %s", name, err, output)
	}
	return path
}

// Sources of three seconds. The flash fills one eighth of a moving picture from
// 0.2 s after each full second for 0.12 s (0.19 because a frame's time is not
// exactly 0.2); beepAt makes 0.1 s of beep.
const (
	flashing = "testsrc2=size=320x180:rate=15:duration=3,eq=brightness=-0.3:contrast=0.5," +
		"drawbox=x=20:y=20:w=120:h=60:color=white:t=fill:enable='between(mod(t,1),0.19,0.32)'"
	flashingFull = "color=c=0x224466:size=320x180:rate=15:duration=3," +
		"drawbox=color=white:t=fill:enable='between(mod(t,1),0.19,0.32)'"
	quietTalk = "+0.25*sin(2*PI*170*t)*sin(2*PI*3*t)+0.15*sin(2*PI*510*t)*sin(2*PI*5*t)+0.05*(sin(2*PI*680*t)+sin(2*PI*850*t)+sin(2*PI*1020*t)+sin(2*PI*1190*t)+sin(2*PI*1360*t))*sin(2*PI*4*t)+0.04*random(0)"
)

func beepAt(from, to, more string) string {
	return "aevalsrc='0.3*sin(2*PI*1000*t)*between(mod(t,1)," + from + "," + to + ")" + more + "':s=48000:d=3"
}

func TestDecodeFindsFlashesAndBeeps(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		picture, sound string
		flashes, beeps int
		flashMs        float64 // of the first
		differenceMs   float64 // beep after flash
	}{
		"in a tile":          {flashing, beepAt("0.2", "0.3", ""), 3, 3, 200, 0},
		"sound late":         {flashing, beepAt("0.35", "0.45", ""), 3, 3, 200, 150},
		"under talk":         {flashing, beepAt("0.2", "0.3", quietTalk), 3, 3, 200, 0},
		"talk only":          {flashing, "aevalsrc='0" + quietTalk + "':s=48000:d=3", 3, 0, 200, 0},
		"a steady tone":      {flashing, "sine=frequency=1000:duration=3", 3, 0, 200, 0},
		"no flash, no sound": {"color=c=0x224466:size=320x180:rate=15:duration=3", "anullsrc=d=3", 0, 0, 0, 0},
		"a change of picture": {
			"color=c=0x101010:size=320x180:rate=15:duration=3,drawbox=color=white:t=fill:enable='gte(t,2)'", "anullsrc=d=3", 1, 0, 2000, 0,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && !slices.Contains([]string{"sound late", "under talk", "no flash, no sound"}, name) {
				t.Skip("long: make check-long")
			}
			file := makeFile(t, "file.mkv", "-f", "lavfi", "-i", test.picture, "-f", "lavfi", "-i", test.sound,
				"-c:v", "mpeg4", "-q:v", "3", "-threads", "1", "-c:a", "flac")
			report, err := mediacheck.Decode(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			if report.Width != 320 || report.Height != 180 || report.VideoCodec != "mpeg4" || report.AudioCodec != "flac" || report.Frames != 45 {
				t.Errorf("report %+v", report)
			}
			if math.Abs(report.DurationMs-3000) > 70 {
				t.Errorf("duration %.0f ms, want 3000", report.DurationMs)
			}
			if len(report.FlashesMs) != test.flashes || len(report.BeepsMs) != test.beeps {
				t.Fatalf("flashes at %.0f, beeps at %.0f; want %d and %d", report.FlashesMs, report.BeepsMs, test.flashes, test.beeps)
			}
			const frameMs = 1000.0 / 15
			if test.flashes > 0 && math.Abs(report.FlashesMs[0]-test.flashMs) > frameMs {
				t.Errorf("first flash at %.0f ms, want %.0f", report.FlashesMs[0], test.flashMs)
			}
			pairs := report.Pairs()
			if len(pairs) != min(test.flashes, test.beeps) {
				t.Errorf("%d pairs", len(pairs))
			}
			for _, pair := range pairs {
				if math.Abs(pair.DifferenceMs()-test.differenceMs) > 10 {
					t.Errorf("beep at %.0f is %.0f ms after its flash, want %.0f", pair.BeepMs, pair.DifferenceMs(), test.differenceMs)
				}
			}
		})
	}
}

func TestDecodeDetectsBlackBorders(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		filter string
		want   bool
	}{
		"above":       {"pad=iw:ih+30:0:30", false},
		"letterboxed": {"pad=iw:ih+60:0:30", true},
		"pillarboxed": {"pad=iw+60:ih:30:0", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := makeFile(t, "file.mkv", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=15:duration=1,lutyuv=y='max(val,60)',"+test.filter,
				"-c:v", "mpeg4")
			report, err := mediacheck.Decode(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			if report.BlackBorders != test.want || report.AudioCodec != "" {
				t.Errorf("report %+v, want borders %v", report, test.want)
			}
		})
	}
}

func TestDecodeKeepsFrameTimes(t *testing.T) {
	t.Parallel()
	// The frames between 2 and 4 s are removed; the rest keeps its times.
	file := makeFile(t, "file.mp4", "-f", "lavfi", "-i", "testsrc2=size=64x36:rate=15:duration=5,select='not(between(t,2.01,3.99))'",
		"-vsync", "vfr", "-c:v", "mpeg4")
	report, err := mediacheck.Decode(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if report.Frames != 46 || math.Abs(report.LongestFrameAtMs-2000) > 1 || math.Abs(report.LongestFrameGapMs-2000) > 1 ||
		math.Abs(report.VideoEndMs-4933) > 1 {
		t.Errorf("report %+v", report)
	}
}

func TestDecodeKeepsAudioGaps(t *testing.T) {
	t.Parallel()
	// The audio between 1 and 2 s is removed; the rest keeps its times.
	file := makeFile(t, "file.mkv", "-f", "lavfi", "-i", beepAt("0.2", "0.3", ""),
		"-af", "aselect='not(between(t,1,2))'", "-c:a", "flac")
	report, err := mediacheck.Decode(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{200, 2200}
	if len(report.BeepsMs) != len(want) {
		t.Fatalf("beeps at %.0f, want %.0f", report.BeepsMs, want)
	}
	for index, beep := range report.BeepsMs {
		if math.Abs(beep-want[index]) > 10 {
			t.Errorf("beep %d at %.0f ms, want %.0f", index, beep, want[index])
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	whole := makeFile(t, "whole.mp4", "-f", "lavfi", "-i", flashing, "-c:v", "mpeg4")
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string][]byte{
		"cut":   content[:len(content)/2],
		"empty": nil,
		"text":  []byte("this is not a media file"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "broken.mp4")
			if err := os.WriteFile(path, broken, 0o600); err != nil {
				t.Fatal(err)
			}
			report, err := mediacheck.Decode(t.Context(), path)
			var failure *mediacheck.DecodeError
			if !errors.As(err, &failure) {
				t.Errorf("Decode = %+v, %v; want a DecodeError", report, err)
			}
		})
	}
}

func TestDecodeMissingTool(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var missing *mediacheck.MissingToolError
	if _, err := mediacheck.Decode(t.Context(), "any"); !errors.As(err, &missing) || missing.Tool != "ffmpeg" {
		t.Errorf("Decode = %v, want a MissingToolError for ffmpeg", err)
	}
}
