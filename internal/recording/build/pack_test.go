package build

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/recording"
)

// near reports whether got equals want plus offset, in milliseconds and within the resolution
// of mediacheck.
func near(got, want []float64, offset time.Duration) bool {
	return slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b-offset.Seconds()*1000) <= 10 })
}

// TestPackPreservesSync checks that packing preserves the timestamps of audio and
// video.
func TestPackPreservesSync(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]source{
		"beep delayed":            {Seconds: 3, BeepDelay: 0.25},
		"video begins 0.4 s late": {Seconds: 3, Late: 0.4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && source.Late == 0 {
				t.Skip("long: make check-long")
			}
			data := encodeRecording(t, source)
			folder, out := t.TempDir(), t.TempDir()
			original := filepath.Join(out, "original.mp4")
			if err := os.WriteFile(original, data, 0o600); err != nil {
				t.Fatal(err)
			}
			writeSegments(t, folder, 0, splitSegments(t, data))
			writeSegments(t, folder, 1, splitSegments(t, data))
			packed, err := packAll(t.Context(), folder, out, ingest.Report{})
			if err != nil {
				t.Fatal(err)
			}
			if packed.Partial() || len(packed.Files) != 1 {
				t.Fatalf("packed = %+v, want one complete file", packed)
			}
			file := filepath.Join(out, "recording.mp4")
			checkFile(t, file, packed.Files[0])
			got, want := decoded(t, file, packed.Files[0].SHA256), decoded(t, original, sumText(string(data)))
			if len(want.FlashesMs) < 3 || len(want.BeepsMs) < 3 {
				t.Fatalf("source has the flashes %v and beeps %v", want.FlashesMs, want.BeepsMs)
			}
			for i, part := range packed.Parts {
				first, last := i*len(want.FlashesMs), (i+1)*len(want.FlashesMs)
				if !near(got.FlashesMs[first:min(last, len(got.FlashesMs))], want.FlashesMs, part.Offset) {
					t.Errorf("part %d at %v: flashes at %v, want %v later", i, part.Offset, got.FlashesMs, want.FlashesMs)
				}
				first, last = i*len(want.BeepsMs), (i+1)*len(want.BeepsMs)
				if !near(got.BeepsMs[first:min(last, len(got.BeepsMs))], want.BeepsMs, part.Offset) {
					t.Errorf("part %d at %v: beeps at %v, want %v later", i, part.Offset, got.BeepsMs, want.BeepsMs)
				}
			}
		})
	}
}

// checkFile checks that a file matches its description and has its index before the media.
func checkFile(t *testing.T, path string, described recording.File) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	if described.Bytes != int64(len(data)) || described.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("described as %d bytes with checksum %s, is %d with %x", described.Bytes, described.SHA256, len(data), sum)
	}
	if index, media := bytes.Index(data, []byte("moov")), bytes.Index(data, []byte("mdat")); index < 0 || index > media {
		t.Errorf("index is at %d, media at %d", index, media)
	}
	if found, err := scanFragments(bytes.NewReader(data), int64(len(data))); err != nil || found.Fragments > 0 || found.Truncated {
		t.Errorf("file has %d fragments, truncated %v: %v", found.Fragments, found.Truncated, err)
	}
	content := decoded(t, path, described.SHA256)
	if difference := max(content.VideoEndMs, content.AudioEndMs) - float64(described.DurationMs); difference < -150 || difference > 100 {
		t.Errorf("decoded to %.0f and %.0f ms, described as %d ms", content.VideoEndMs, content.AudioEndMs, described.DurationMs)
	}
}

func TestPackLosses(t *testing.T) {
	t.Parallel()
	const fragmentMs = 1000
	data := encodeRecording(t, source{Seconds: 5})
	segments := splitSegments(t, data)
	if len(segments) != 6 {
		t.Fatalf("source has %d segments, want a header and 5", len(segments))
	}
	without := func(missing int) [][]byte {
		segments := slices.Clone(segments)
		segments[missing] = nil
		return segments
	}
	tail := func(bytes int) [][]byte {
		segments := slices.Clone(segments)
		segments[5] = segments[5][:bytes]
		return segments
	}
	garbled := slices.Clone(segments)
	garbled[4] = bytes.Repeat([]byte{0xa5}, len(segments[4]))
	unaligned := [][]byte{data[:1000], data[1000:1001], {}, data[1001 : len(data)/2], data[len(data)/2:]}
	for name, test := range map[string]struct {
		segments [][]byte
		reported int // number of segments in the report
		loss     Loss
		duration int64 // milliseconds; 0 if the part is unusable
		short    bool
	}{
		"segments not split at fragments": {segments: unaligned, reported: 5, duration: 5 * fragmentMs, short: true},
		"segment missing":                 {segments: without(3), reported: 6, loss: LossSegments, duration: 5 * fragmentMs},
		"last segment missing":            {segments: segments[:5], reported: 6, loss: LossSegments, duration: 4 * fragmentMs},
		"truncated in the media": {
			segments: tail(len(segments[5]) - 10), reported: 6, loss: LossTorn, duration: 4 * fragmentMs, short: true,
		},
		"truncated in a box header": {segments: tail(5), reported: 6, loss: LossTorn, duration: 4 * fragmentMs},
		"truncated before the media": {
			segments: tail(bytes.Index(segments[5], []byte("mdat")) - 4), reported: 6, loss: LossTorn, duration: 4 * fragmentMs,
		},
		"corrupt segment":           {segments: garbled, reported: 6, loss: LossTorn, duration: 3 * fragmentMs, short: true},
		"first segment missing":     {segments: without(0), reported: 6, loss: LossBeginning},
		"reported without segments": {reported: 6, loss: LossBeginning},
		"header only":               {segments: segments[:1], reported: 1, loss: LossUnusable},
		"not an MP4": {
			segments: [][]byte{[]byte("GIF89a, or something else that is no MP4 at all")}, reported: 1, loss: LossUnusable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && test.duration > 0 && !test.short {
				t.Skip("long: make check-long")
			}
			folder, out := t.TempDir(), t.TempDir()
			writeSegments(t, folder, 0, test.segments)
			report := ingest.Report{Parts: []ingest.RecordingPart{{Number: 0, StartedAt: recordingStart, Segments: test.reported}}}
			packed, err := packAll(t.Context(), folder, out, report)
			if test.duration == 0 {
				nothing := new(NothingSavedError)
				if !errors.As(err, &nothing) || len(nothing.Reasons) != 1 || !strings.HasSuffix(nothing.Reasons[0], string(test.loss)) {
					t.Fatalf("error is %v, want NothingSavedError with %s", err, test.loss)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if loss := packed.Parts[0].Loss; loss != test.loss || packed.Partial() != (test.loss != "") {
				t.Errorf("loss is %q, partial %v; want %q", loss, packed.Partial(), test.loss)
			}
			// The audio of a fragment may be longer than its video.
			if off := packed.Files[0].DurationMs - test.duration; off < -50 || off > fragmentMs/2 {
				t.Errorf("duration is %d ms, want %d", packed.Files[0].DurationMs, test.duration)
			}
			checkFile(t, filepath.Join(out, "recording.mp4"), packed.Files[0])
		})
	}
}

// TestPackSeveralParts checks that parts with the same settings are joined, that an
// unusable part is skipped, and that other settings start a new file.
func TestPackSeveralParts(t *testing.T) {
	t.Parallel()
	folder, out := t.TempDir(), t.TempDir()
	small, large := splitSegments(t, encodeRecording(t, source{Seconds: 2})), splitSegments(t,
		encodeRecording(t, source{Seconds: 2, Width: 640}))
	writeSegments(t, folder, 0, small)
	writeSegments(t, folder, 1, [][]byte{nil, small[1]})
	writeSegments(t, folder, 2, small[:2])
	writeSegments(t, folder, 3, large)
	packed, err := packAll(t.Context(), folder, out, ingest.Report{})
	if err != nil {
		t.Fatal(err)
	}
	type result struct {
		file             string
		offset, duration int // seconds
		loss             Loss
	}
	seconds := func(d time.Duration) int { return int(d.Round(time.Second) / time.Second) }
	var got []result
	for _, part := range packed.Parts {
		got = append(got, result{part.File, seconds(part.Offset), seconds(part.Length), part.Loss})
	}
	want := []result{
		{"recording.mp4", 0, 2, ""},
		{"", 0, 0, LossBeginning},
		{"recording.mp4", 2, 1, ""},
		{"recording-2.mp4", 0, 2, ""},
	}
	if !slices.Equal(got, want) {
		t.Errorf("parts = %v, want %v", got, want)
	}
	if len(packed.Files) != 2 || packed.Files[1].Width != 640 {
		t.Fatalf("files = %+v", packed.Files)
	}
	for _, file := range packed.Files {
		checkFile(t, filepath.Join(out, file.Name), file)
	}
}

// TestPackAudioParts checks that the parts of a recording without video are joined.
func TestPackAudioParts(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make check-long")
	}
	t.Parallel()
	folder, out := t.TempDir(), t.TempDir()
	for part := range 2 {
		segment := encodeRecording(t, source{Seconds: 2, NoPicture: true})
		writeSegments(t, folder, part, [][]byte{segment})
	}
	packed, err := packAll(t.Context(), folder, out, ingest.Report{})
	if err != nil {
		t.Fatal(err)
	}
	if len(packed.Files) != 1 || packed.Files[0].Name != "recording.m4a" || packed.Parts[1].Offset.Round(time.Second) != 2*time.Second {
		t.Fatalf("files = %+v", packed.Files)
	}
	checkFile(t, filepath.Join(out, "recording.m4a"), packed.Files[0])
}

// TestPackCanBeRepeated checks that an interrupted run leaves no files, that the
// next run removes the files of a killed one, and that packing is deterministic and describes
// the file.
func TestPackCanBeRepeated(t *testing.T) {
	t.Parallel()
	folder, out := t.TempDir(), t.TempDir()
	writeSegments(t, folder, 0, splitSegments(t, encodeRecording(t, source{Seconds: 3})))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := packAll(ctx, folder, out, ingest.Report{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted run: error is %v", err)
	}
	if err := os.MkdirAll(filepath.Join(out, workPrefix+"killed", "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	first, err := packAll(t.Context(), folder, out, ingest.Report{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := packAll(t.Context(), folder, out, ingest.Report{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(first.Files, second.Files) {
		t.Errorf("two runs have different files: %+v and %+v", first.Files, second.Files)
	}
	file := first.Files[0]
	if file.Name != "recording.mp4" || file.Kind != recording.Video || file.ContentType != "video/mp4" || file.Codecs != "avc1.42C00D,mp4a.40.2" ||
		file.Width != 320 || file.Height != 180 || file.DurationMs < 2900 || file.DurationMs > 3100 {
		t.Errorf("described as %+v", file)
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != "recording.mp4" {
		t.Errorf("folder contains %v", entries)
	}
}

// TestMissingTool is not parallel because it changes the environment.
func TestMissingTool(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Pack(t.Context(), nil, nil, t.TempDir())
	if !is[*MissingToolError](err) || !strings.Contains(err.Error(), "apt-get install ffmpeg") {
		t.Errorf("error is %v", err)
	}
}

func TestRunToolReportsStderr(t *testing.T) {
	t.Parallel()
	_, err := runScript(t, t.Context(), limitsFor(0), "echo No such file >&2; exit 1")
	if !RejectedInput(err) || !strings.Contains(err.Error(), "No such file") {
		t.Errorf("error is %v", err)
	}
}

func TestBoundedBuffer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		keepEnd bool
		want    string
	}{{false, "abcd"}, {true, "efgh"}} {
		buffer := boundedBuffer{limit: 4, keepEnd: test.keepEnd}
		for _, part := range []string{"abc", "d", "efg", "h"} {
			if n, err := buffer.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatalf("Write returned %d for %q: %v", n, part, err)
			}
		}
		if got := buffer.content.String(); got != test.want || !test.keepEnd && !buffer.dropped {
			t.Errorf("keepEnd %v: got %q, dropped %v", test.keepEnd, got, buffer.dropped)
		}
	}
}
