package build

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/recording"
	"standin/internal/testing/mediacheck"
)

// TestEncoder packs a part while it is recorded, and one that cannot be decoded, which is packed
// from its segments.
func TestEncoder(t *testing.T) {
	t.Parallel()
	data := encodeRecording(t, source{Seconds: 3})
	segments := splitSegments(t, data)
	folder, out := t.TempDir(), t.TempDir()
	writeSegments(t, folder, 0, segments)
	encoder := StartEncoder(out, 0, slog.New(slog.DiscardHandler))
	for _, segment := range segments {
		encoder.Append(segment)
	}
	encoder.Close()
	if Encoded(out, 0, len(segments)) == "" || Encoded(out, 0, len(segments)+1) != "" {
		t.Fatalf("the encoder made %v", list(t, out))
	}
	broken := StartEncoder(out, 1, slog.New(slog.DiscardHandler))
	broken.Append([]byte("no media"))
	broken.Close()
	if got := list(t, out); len(got) != 1 {
		t.Errorf("a broken encoder left %v", got)
	}
	parts, err := FindParts(folder, 0, ingest.Report{})
	if err != nil {
		t.Fatal(err)
	}
	parts[0].Encoded = Encoded(out, 0, len(segments))
	parts[0].Segments = nil // they are not needed
	packed, err := Pack(t.Context(), parts, nil, out)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(out, "recording.mp4")
	checkFile(t, file, packed.Files[0])
	if got := decoded(t, file, packed.Files[0].SHA256); got.AudioCodec != "aac" || len(got.BeepsMs) != 3 || len(packed.Losses()) > 0 {
		t.Errorf("packed %+v, with %s and beeps at %v", packed, got.AudioCodec, got.BeepsMs)
	}
}

func list(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// TestPlayers: a decoder that knows nothing but AAC in MP4 finds the sound of a recording. With H.264 up
// to level 4.2 (TestPackCanBeRepeated), that is what QuickTime, iOS, Keynote, PowerPoint, Premiere and
// Windows accept.
func TestPlayers(t *testing.T) {
	t.Parallel()
	folder, out := t.TempDir(), t.TempDir()
	writeSegments(t, folder, 0, splitSegments(t, encodeRecording(t, source{Seconds: 3, NoPicture: true})))
	packed, err := packAll(t.Context(), folder, out, ingest.Report{})
	if err != nil || packed.Files[0].Codecs != "mp4a.40.2" {
		t.Fatalf("packed %+v (%v)", packed.Files, err)
	}
	file, sound := filepath.Join(out, "recording.m4a"), filepath.Join(out, "faad.wav")
	decoder := exec.CommandContext(t.Context(), "faad", "-q", "-o", sound, file) //nolint:gosec // a file of the test
	if text, err := decoder.CombinedOutput(); err != nil {
		if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") == "" {
			t.Skip("faad is not installed")
		}
		t.Fatalf("faad: %v: %s", err, text)
	}
	beeps, err := mediacheck.Tones(t.Context(), sound, 1000)
	if want := decoded(t, file, packed.Files[0].SHA256).BeepsMs; err != nil || len(want) != 3 || !near(beeps[0], want, 0) {
		t.Errorf("faad finds beeps at %v, want %v (%v)", beeps, want, err)
	}
}

// TestFilledGap: what is missing between two parts is silent in the file, but for a pause, and the
// sound of each part is at its time.
func TestFilledGap(t *testing.T) {
	t.Parallel()
	folder, out := t.TempDir(), t.TempDir()
	for part := range 2 {
		writeSegments(t, folder, part, splitSegments(t, encodeRecording(t, source{Seconds: 3})))
	}
	parts, err := FindParts(folder, 0, ingest.Report{})
	if err != nil {
		t.Fatal(err)
	}
	start := at(0)
	parts[0].StartedAt, parts[1].StartedAt = start, start.Add(9*time.Second)
	pause := ingest.Gap{From: start.Add(4 * time.Second), To: start.Add(6 * time.Second), Reason: recording.GapPaused}
	packed, err := Pack(t.Context(), parts, []ingest.Report{{Gaps: []ingest.Gap{pause}}}, out)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(out, "recording.mp4")
	checkFile(t, file, packed.Files[0])
	got := decoded(t, file, packed.Files[0].SHA256)
	first, second := got.BeepsMs[:3], got.BeepsMs[3:]
	if !near(second, first, 7*time.Second) || packed.Files[0].DurationMs < 9900 || packed.Files[0].DurationMs > 10_100 {
		t.Errorf("beeps at %v in %+v, want the second part 7 s later", got.BeepsMs, packed.Files[0])
	}
}
