package build

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestSilences finds the silence between two tones, and extracts the second tone.
func TestSilences(t *testing.T) {
	t.Parallel()
	tools := needFFmpeg(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "tones.m4a")
	_, err := runTool(t.Context(), limitsFor(1<<20), tools.FFmpeg, "-v", "error", "-f", "lavfi",
		"-i", "sine=frequency=300:duration=6,volume=0:enable='between(t,2,4)'", "-c:a", "libopus", "-f", "mp4", file)
	if err != nil {
		t.Fatal(err)
	}
	silences, err := tools.Silences(t.Context(), file, Span{time.Second, 6 * time.Second}, time.Second, -50)
	if err != nil || len(silences) != 1 {
		t.Fatalf("got %v (%v), want one silence", silences, err)
	}
	const tolerance = 100 * time.Millisecond
	if s := silences[0]; (s.Start-2*time.Second).Abs() > tolerance || (s.End-4*time.Second).Abs() > tolerance {
		t.Errorf("the silence is %v, want 2s to 4s", s)
	}
	wav := filepath.Join(dir, "speech.wav")
	if err := tools.ExtractSpeech(t.Context(), file, Span{4 * time.Second, 5 * time.Second}, wav); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(wav)
	if err != nil || (info.Size()-2*SpeechRate) > 4096 || info.Size() < 2*SpeechRate {
		t.Errorf("one second has %v bytes (%v), want %d", info, err, 2*SpeechRate)
	}
}

func FuzzParseSilences(f *testing.F) {
	f.Add("frame:1 pts:1 pts_time:1\nlavfi.silence_start=1.5\nlavfi.silence_end=2.5\nlavfi.silence_duration=1\n")
	f.Add("lavfi.silence_start=-0.01\nlavfi.silence_end=1e9\nlavfi.silence_end=NaN\nlavfi.silence_start=Inf")
	f.Fuzz(func(t *testing.T, output string) {
		window := Span{time.Minute, 2 * time.Minute}
		for _, s := range parseSilences(output, window) {
			if s.Start < window.Start || s.End > window.End || s.Length() <= 0 {
				t.Errorf("silence %v is not in %v", s, window)
			}
		}
	})
}
