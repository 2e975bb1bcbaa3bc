package recording

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

	"standin/internal/ingest"
)

// maxShift is how far packing may move sound against picture, in seconds.
const maxShift = 0.005

// near reports whether both lists agree within maxShift, want moved by offset.
func near(got, want []float64, offset float64) bool {
	return slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b-offset) <= maxShift })
}

func TestPackKeepsSoundAndPictureTogether(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]source{
		"together":                      {Seconds: 5},
		"the beep late":                 {Seconds: 5, BeepDelay: 0.25},
		"the picture begins 0.4 s late": {Seconds: 5, Late: 0.4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := record(t, source)
			folder, out := t.TempDir(), t.TempDir()
			original := filepath.Join(out, "original.mp4")
			if err := os.WriteFile(original, data, 0o600); err != nil {
				t.Fatal(err)
			}
			lay(t, folder, 0, cut(t, data))
			lay(t, folder, 1, cut(t, data))
			packed, err := packAll(t.Context(), folder, out, ingest.Report{})
			if err != nil {
				t.Fatal(err)
			}
			if packed.Partial() || len(packed.Files) != 1 {
				t.Fatalf("packed is %+v, want one whole file", packed)
			}
			file := filepath.Join(out, "recording.mp4")
			checkFile(t, file, packed.Files[0])
			flashes, beeps := onsets(t, file)
			wantFlashes, wantBeeps := onsets(t, original)
			if len(wantFlashes) < 5 || len(wantBeeps) < 5 {
				t.Fatalf("the source has %d flashes and %d beeps", len(wantFlashes), len(wantBeeps))
			}
			for i, part := range packed.Parts {
				first, last := i*len(wantFlashes), (i+1)*len(wantFlashes)
				if !near(flashes[first:min(last, len(flashes))], wantFlashes, part.Offset.Seconds()) {
					t.Errorf("part %d at %v: flashes at %v, want %v later", i, part.Offset, flashes, wantFlashes)
				}
				first, last = i*len(wantBeeps), (i+1)*len(wantBeeps)
				if !near(beeps[first:min(last, len(beeps))], wantBeeps, part.Offset.Seconds()) {
					t.Errorf("part %d at %v: beeps at %v, want %v later", i, part.Offset, beeps, wantBeeps)
				}
			}
		})
	}
}

// checkFile holds that a file is what its description says, begins at 0 and
// has its index in front.
func checkFile(t *testing.T, path string, described File) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	if described.Bytes != int64(len(data)) || described.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("described with %d bytes and sum %s, is %d and %x", described.Bytes, described.SHA256, len(data), sum)
	}
	if index, media := bytes.Index(data, []byte("moov")), bytes.Index(data, []byte("mdat")); index < 0 || index > media {
		t.Errorf("the index is at %d, the media at %d", index, media)
	}
	if found, err := scanFragments(bytes.NewReader(data), int64(len(data))); err != nil || found.Fragments > 0 || found.Truncated {
		t.Errorf("the file is in %d fragments, torn %v: %v", found.Fragments, found.Truncated, err)
	}
	text := string(decode(t, "ffprobe", "-v", "error", "-show_entries", "format=start_time", "-of", "csv=p=0", path))
	if strings.TrimSpace(text) != "0.000000" {
		t.Errorf("the file begins at %s", text)
	}
	// Decoding it all, the last frame and sample lie where the duration says.
	progress := string(decode(t, "ffmpeg", "-nostdin", "-v", "error", "-xerror", "-i", path, "-f", "null", "-progress", "-", "-"))
	_, at, _ := strings.Cut(progress[strings.LastIndex(progress, "out_time="):], "=")
	end, err := time.Parse("15:04:05.999999", strings.TrimSpace(strings.SplitN(at, "\n", 2)[0]))
	if err != nil {
		t.Fatalf("read the decoded length: %v", err)
	}
	decoded := end.Sub(end.Truncate(24 * time.Hour)).Milliseconds()
	if difference := decoded - described.DurationMs; difference < -100 || difference > 100 {
		t.Errorf("decoded %d ms, described as %d ms", decoded, described.DurationMs)
	}
}

func TestPackDescribesTheFile(t *testing.T) {
	t.Parallel()
	folder, out := t.TempDir(), t.TempDir()
	lay(t, folder, 0, cut(t, record(t, source{Seconds: 2})))
	packed, err := packAll(t.Context(), folder, out, ingest.Report{})
	if err != nil {
		t.Fatal(err)
	}
	file := packed.Files[0]
	if file.Name != "recording.mp4" || file.Kind != Video || file.ContentType != "video/mp4" ||
		file.Codecs != "avc1.42C00D,opus" || file.Width != 320 || file.Height != 180 {
		t.Errorf("described as %+v", file)
	}
	if file.DurationMs < 1900 || file.DurationMs > 2100 {
		t.Errorf("lasts %d ms, want 2000", file.DurationMs)
	}
}

func TestPackLosses(t *testing.T) {
	t.Parallel()
	const each = 1000 // milliseconds in a fragment
	data := record(t, source{Seconds: 5})
	segments := cut(t, data)
	if len(segments) != 6 {
		t.Fatalf("the source has %d segments, want a header and 5", len(segments))
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
	ragged := [][]byte{data[:1000], data[1000:1001], {}, data[1001 : len(data)/2], data[len(data)/2:]}
	for name, test := range map[string]struct {
		segments [][]byte
		reported int // number of segments in the report
		loss     Loss
		lasts    int64 // milliseconds; 0: nothing is usable
	}{
		"whole":                            {segments: segments, reported: 6, lasts: 5 * each},
		"cut anywhere":                     {segments: ragged, reported: 5, lasts: 5 * each},
		"a hole":                           {segments: without(3), reported: 6, loss: LossSegments, lasts: 2 * each},
		"the last not uploaded":            {segments: segments[:5], reported: 6, loss: LossSegments, lasts: 4 * each},
		"torn in the media":                {segments: tail(len(segments[5]) - 10), reported: 6, loss: LossTorn, lasts: 4 * each},
		"torn in a box's head":             {segments: tail(5), reported: 6, loss: LossTorn, lasts: 4 * each},
		"torn before the media":            {segments: tail(bytes.Index(segments[5], []byte("mdat")) - 4), reported: 6, loss: LossTorn, lasts: 4 * each},
		"a garbled segment":                {segments: garbled, reported: 6, loss: LossTorn, lasts: 3 * each},
		"the first missing":                {segments: without(0), reported: 6, loss: LossBeginning},
		"reported of and nothing is there": {reported: 6, loss: LossBeginning},
		"only the header":                  {segments: segments[:1], reported: 1, loss: LossUnusable},
		"no MP4":                           {segments: [][]byte{[]byte("GIF89a, or something else that is no MP4 at all")}, reported: 1, loss: LossUnusable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, out := t.TempDir(), t.TempDir()
			lay(t, folder, 0, test.segments)
			report := ingest.Report{Parts: []ingest.RecordingPart{{Number: 0, StartedAt: began, Segments: test.reported}}}
			packed, err := packAll(t.Context(), folder, out, report)
			if test.lasts == 0 {
				nothing := new(NothingSavedError)
				if !errors.As(err, &nothing) || len(nothing.Reasons) != 1 || !strings.HasSuffix(nothing.Reasons[0], string(test.loss)) {
					t.Fatalf("the error is %v, want nothing saved for %s", err, test.loss)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if loss := packed.Parts[0].Loss; loss != test.loss || packed.Partial() != (test.loss != "") {
				t.Errorf("the loss is %q, partial %v; want %q", loss, packed.Partial(), test.loss)
			}
			// A fragment's sound may reach further than its picture.
			if off := packed.Files[0].DurationMs - test.lasts; off < -50 || off > each/2 {
				t.Errorf("lasts %d ms, want %d", packed.Files[0].DurationMs, test.lasts)
			}
			checkFile(t, filepath.Join(out, "recording.mp4"), packed.Files[0])
		})
	}
}

// TestPackSeveralStretches holds that what can be joined is, that an unusable
// part is passed over, and that other settings begin another file.
func TestPackSeveralStretches(t *testing.T) {
	t.Parallel()
	folder, out := t.TempDir(), t.TempDir()
	small, large := cut(t, record(t, source{Seconds: 2})), cut(t, record(t, source{Seconds: 3, Width: 640}))
	lay(t, folder, 0, small)
	lay(t, folder, 1, [][]byte{nil, small[1]})
	lay(t, folder, 2, small[:2])
	lay(t, folder, 3, large)
	packed, err := packAll(t.Context(), folder, out, ingest.Report{})
	if err != nil {
		t.Fatal(err)
	}
	type reported struct {
		file          string
		offset, lasts int // seconds
		loss          Loss
	}
	seconds := func(d time.Duration) int { return int(d.Round(time.Second) / time.Second) }
	var got []reported
	for _, part := range packed.Parts {
		got = append(got, reported{part.File, seconds(part.Offset), seconds(part.Length), part.Loss})
	}
	want := []reported{
		{"recording.mp4", 0, 2, ""},
		{"", 0, 0, LossBeginning},
		{"recording.mp4", 2, 1, ""},
		{"recording-2.mp4", 0, 3, ""},
	}
	if !slices.Equal(got, want) {
		t.Errorf("parts are %v, want %v", got, want)
	}
	if len(packed.Files) != 2 || packed.Files[1].Width != 640 {
		t.Fatalf("files are %+v", packed.Files)
	}
	for _, file := range packed.Files {
		checkFile(t, filepath.Join(out, file.Name), file)
	}
}

func TestPackSoundless(t *testing.T) {
	t.Parallel()
	folder, out := t.TempDir(), t.TempDir()
	lay(t, folder, 0, cut(t, record(t, source{Seconds: 2, NoSound: true})))
	packed, err := packAll(t.Context(), folder, out, ingest.Report{})
	if err != nil {
		t.Fatal(err)
	}
	if file := packed.Files[0]; file.Kind != Video || file.Codecs != "avc1.42C00D" {
		t.Errorf("described as %+v", file)
	}
}

// TestPackAgain holds that an interrupted run leaves no file behind, that the
// next one clears up after one that was killed, and that the same parts
// give the same file.
func TestPackAgain(t *testing.T) {
	t.Parallel()
	folder, out := t.TempDir(), t.TempDir()
	lay(t, folder, 0, cut(t, record(t, source{Seconds: 2})))
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := packAll(stopped, folder, out, ingest.Report{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("the error of an interrupted run is %v", err)
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
		t.Errorf("packed twice: %+v and %+v", first.Files, second.Files)
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != "recording.mp4" {
		t.Errorf("the folder holds %v", entries)
	}
}

// TestMissingTool changes the environment, so it does not run in parallel.
func TestMissingTool(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Pack(t.Context(), nil, t.TempDir())
	if !is[*MissingToolError](err) || !strings.Contains(err.Error(), "apt-get install ffmpeg") {
		t.Errorf("the error is %v", err)
	}
}

func TestRunToolTellsWhatWentWrong(t *testing.T) {
	t.Parallel()
	tools := needFFmpeg(t)
	_, err := runTool(t.Context(), limitsFor(0), tools.FFmpeg, "-nostdin", "-v", "error", "-i", filepath.Join(t.TempDir(), "absent.mp4"))
	if !rejectedInput(err) || !strings.Contains(err.Error(), "No such file") {
		t.Errorf("the error is %v", err)
	}
}

// TestRunToolEndsWithItsContext holds that an interrupted tool is killed with
// all its children.
func TestRunToolEndsWithItsContext(t *testing.T) {
	t.Parallel()
	tools := needFFmpeg(t)
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	started := time.Now()
	_, err := runTool(ctx, limitsFor(0), tools.FFmpeg, "-nostdin", "-v", "error", "-re", "-f", "lavfi", "-i", "anullsrc", "-f", "null", "-")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	if took := time.Since(started); took > pipeCloseDelay {
		t.Errorf("it took %v to stop", took)
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
				t.Fatalf("wrote %d of %q: %v", n, part, err)
			}
		}
		if got := buffer.kept.String(); got != test.want || !test.keepEnd && !buffer.dropped {
			t.Errorf("keepEnd %v: kept %q, dropped %v", test.keepEnd, got, buffer.dropped)
		}
	}
}
