package build

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/recording"
	"standin/internal/recording/storage"
	"standin/internal/testing/s3test"
)

// finishedRecording is a finished recording that tests can change.
type finishedRecording struct {
	finisherHarness
	manifest recording.Manifest
	content  []byte // of its only file
}

func finishRecording(t *testing.T, recordings *storage.Recordings, source source) finishedRecording {
	t.Helper()
	finisher := newFinisherHarnessOn(t, recordings)
	finisher.upload(t, 0, 0, splitSegments(t, encodeRecording(t, source)))
	finisher.report(t, leftReport(0, completePart(0, 0, source.Seconds)))
	manifest, err := finisher.Finish(t.Context(), finisher.input)
	if err != nil {
		t.Fatal(err)
	}
	content, _, err := recordings.OpenMedia(t.Context(), finisher.id, manifest.Media[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(content); err != nil {
		t.Fatal(err)
	}
	return finishedRecording{finisherHarness: finisher, manifest: manifest, content: text.Bytes()}
}

// replace replaces the content of the file. It updates the manifest if
// updateManifest is true.
func (f *finishedRecording) replace(t *testing.T, content []byte, updateManifest bool) {
	t.Helper()
	media := &f.manifest.Media[0]
	if err := f.recordings.PutMedia(t.Context(), f.id, media.Name, bytes.NewReader(content), sumText(string(content))); err != nil {
		t.Fatal(err)
	}
	if updateManifest {
		media.Bytes, media.SHA256 = int64(len(content)), sumText(string(content))
	}
}

func (f *finishedRecording) verify(t *testing.T) VerifyReport {
	t.Helper()
	if err := f.recordings.PutManifest(t.Context(), f.id, f.manifest); err != nil {
		t.Fatal(err)
	}
	verifier := &Verifier{Recordings: f.recordings, Tools: needFFmpeg(t)}
	report, err := verifier.Verify(t.Context(), f.id)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestVerify checks that valid recordings have no problems, with each kind of storage, without
// audio, and with video that begins late.
func TestVerify(t *testing.T) {
	t.Parallel()
	inFolder := func(t *testing.T) string { return folderAddress(t.TempDir()) }
	for name, test := range map[string]struct {
		address func(t *testing.T) string
		source  source
	}{
		"folder":     {inFolder, source{Seconds: 3}},
		"S3":         {func(t *testing.T) string { return s3test.Start(t).Address() }, source{Seconds: 3}},
		"no audio":   {inFolder, source{Seconds: 3, NoSound: true}},
		"late video": {inFolder, source{Seconds: 3, Late: 0.4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "folder" && testing.Short() {
				t.Skip("long: make check-long")
			}
			verifyValid(t, openStorage(t, test.address(t)), test.source)
		})
	}
}

// verifyValid checks that a finished recording has no problems.
func verifyValid(t *testing.T, recordings *storage.Recordings, source source) {
	t.Helper()
	finished := finishRecording(t, recordings, source)
	report := finished.verify(t)
	if !report.OK() || len(report.Files) != 1 {
		t.Fatalf("%+v: %+v", source, report)
	}
	file, reported := report.Files[0], finished.manifest.Media[0]
	if file.Bytes != reported.Bytes || file.SHA256 != reported.SHA256 || file.Codecs != reported.Codecs || file.DecodedMs < 2800 ||
		file.DecodedMs > 3600 {
		t.Errorf("%+v: %+v, want %+v", source, file, reported)
	}
}

// copyFrom returns a copy of a recording whose storage is a folder.
func (f *finishedRecording) copyFrom(t *testing.T, folder string) finishedRecording {
	t.Helper()
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	finisher, manifest, recordings := *f.Finisher, f.manifest, openStorage(t, folderAddress(copied))
	finisher.Storage, manifest.Media = recordings, slices.Clone(f.manifest.Media)
	return finishedRecording{finisherHarness: finisherHarness{&finisher, recordings, f.input, f.id}, manifest: manifest, content: f.content}
}

// TestVerifyFindsDamage checks that every kind of damage is reported.
func TestVerifyFindsDamage(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	valid := finishRecording(t, openStorage(t, folderAddress(folder)), source{Seconds: 3})
	for name, test := range map[string]struct {
		corrupt func(t *testing.T, f *finishedRecording)
		want    []string
	}{
		"truncated": {func(t *testing.T, f *finishedRecording) { f.replace(t, f.content[:len(f.content)*2/3], false) },
			[]string{"bytes, not", "its SHA-256 is", "decoded"}},
		"corrupt in the middle, manifest updated": {func(t *testing.T, f *finishedRecording) {
			corrupted := slices.Clone(f.content)
			for i := len(corrupted) / 2; i < len(corrupted)/2+4000; i++ {
				corrupted[i] = 0xa5
			}
			f.replace(t, corrupted, true)
		}, []string{"it cannot be decoded"}},
		"playlist": {func(t *testing.T, f *finishedRecording) {
			f.replace(t, []byte("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://127.0.0.1:1/other.mp4\n#EXT-X-ENDLIST\n"), true)
		}, []string{"it cannot be read"}},
		"not an MP4": {func(t *testing.T, f *finishedRecording) {
			f.replace(t, []byte("GIF89a and no more"), true)
		}, []string{"it cannot be read"}},
		"empty": {func(t *testing.T, f *finishedRecording) { f.replace(t, nil, true) }, []string{"it cannot be read"}},
		"no key frame": {func(t *testing.T, f *finishedRecording) {
			f.replace(t, withoutFirstKeyFrame(t, f.content), true)
		}, []string{"key frame"}},
		"other manifest": {func(_ *testing.T, f *finishedRecording) {
			media := &f.manifest.Media[0]
			media.DurationMs, media.Codecs, media.Width, media.Height = media.DurationMs+2000, "avc1.640028,mp4a.40.2", 1280, 720
			f.manifest.JobID, f.manifest.SchemaVersion = uuid.NewString(), 9
			f.manifest.Gaps = []recording.Gap{
				{StartMs: 2000, EndMs: 1000, Reason: recording.GapPaused}, {StartMs: 1, EndMs: 1000, Reason: recording.GapBotLost},
			}
		}, []string{
			"it states a length of", "its codecs are", "its picture is 320x180, not 1280x720", "the manifest is of job", "version is 9",
			"a gap goes from 2000 to 1000", "not called partial",
		}},
		"missing file": {func(_ *testing.T, f *finishedRecording) { f.manifest.Media[0].Name = "other.mp4" }, []string{"the file is missing"}},
		"other path": {func(_ *testing.T, f *finishedRecording) {
			f.manifest.Media[0].Name = "../manifest.json"
		}, []string{"cannot have that name"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && slices.Contains([]string{"corrupt in the middle, manifest updated", "not an MP4", "no key frame"}, name) {
				t.Skip("long: make check-long")
			}
			recording := valid.copyFrom(t, folder)
			test.corrupt(t, &recording)
			report := recording.verify(t)
			problems := report.Problems
			for _, file := range report.Files {
				problems = append(problems, file.Problems...)
			}
			for _, want := range test.want {
				if report.OK() || !strings.Contains(strings.Join(problems, "\n"), want) {
					t.Errorf("problems = %q, want one with %q", problems, want)
				}
			}
		})
	}
}

// withoutFirstKeyFrame returns a recording that begins in the middle of a group of
// pictures.
func withoutFirstKeyFrame(t *testing.T, content []byte) []byte {
	t.Helper()
	folder := t.TempDir()
	from, to := filepath.Join(folder, "from.mp4"), filepath.Join(folder, "to.mp4")
	if err := os.WriteFile(from, content, 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), needFFmpeg(t).FFmpeg, "-nostdin", "-v", "error", "-i", from, "-map", "0", "-c", "copy",
		"-bsf:v", "noise=drop='lt(n,1)'", "-movflags", "+faststart", to)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("drop the first key frame: %v: %s", err, output)
	}
	corrupted, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return corrupted
}

// TestVerifyWithoutManifest checks that a missing manifest is a problem, and that an
// unavailable store is an error.
func TestVerifyWithoutManifest(t *testing.T) {
	t.Parallel()
	proxy := s3test.Start(t)
	recordings := openStorage(t, proxy.Address())
	verifier := &Verifier{Recordings: recordings, Tools: needFFmpeg(t)}
	id := uuid.New()
	put(t, recordings, id, 0, ingest.ReportName, "{}")
	if report, err := verifier.Verify(t.Context(), id); err != nil || report.OK() || report.Problems[0] != "the manifest is missing" {
		t.Errorf("%+v, %v", report, err)
	}
	proxy.SetFaults(func(*http.Request, int64) s3test.Fault { return s3test.Fault{Refuse: true} })
	if report, err := verifier.Verify(t.Context(), id); err == nil {
		t.Errorf("unavailable store: no error, report %+v", report)
	}
}
