package build

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/recording"
	"standin/internal/recording/storage"
)

const testBase = "https://standin.example.com"

// finisherHarness is a finisher with its own storage and job.
type finisherHarness struct {
	*Finisher
	recordings *storage.Recordings // of the finisher
	input      ManifestInput
	id         uuid.UUID
}

func newFinisherHarness(t *testing.T) finisherHarness {
	t.Helper()
	return newFinisherHarnessOn(t, openStorage(t, folderAddress(filepath.Join(t.TempDir(), "storage"))))
}

// newFinisherHarnessOn is newFinisherHarness with a given storage.
func newFinisherHarnessOn(t *testing.T, recordings *storage.Recordings) finisherHarness {
	t.Helper()
	input := testInput()
	input.Job.ID = uuid.New()
	return finisherHarness{
		Finisher: &Finisher{
			Storage: recordings,
			BaseURL: testBase,
			TempDir: t.TempDir(),
			Log:     slog.New(slog.DiscardHandler),
		},
		recordings: recordings, input: input, id: input.Job.ID,
	}
}

// upload stores segments as uploads, except nil ones.
func (h finisherHarness) upload(t *testing.T, attempt, part int, segments [][]byte) {
	t.Helper()
	for sequence, segment := range segments {
		if segment != nil {
			put(t, h.recordings, h.id, attempt, ingest.SegmentName(part, sequence), string(segment))
		}
	}
}

// report uploads an attempt's report.
func (h finisherHarness) report(t *testing.T, report ingest.Report, media ...recording.File) {
	t.Helper()
	put(t, h.recordings, h.id, report.Attempt, ingest.ReportName, marshal(FinalReport{Report: report, Media: media}))
}

// packByBot packs segments as a bot does, uploads the file and returns its
// description.
func (h finisherHarness) packByBot(t *testing.T, attempt int, segments [][]byte) recording.File {
	t.Helper()
	type source string // a SHA-256
	type result struct {
		content string
		file    recording.File
	}
	packed := once(t, source(sumText(string(bytes.Join(segments, nil)))), func() (result, error) {
		folder, out := t.TempDir(), t.TempDir()
		writeSegments(t, folder, 0, segments)
		packed, err := packAll(t.Context(), folder, out, ingest.Report{})
		if err != nil {
			return result{}, err
		}
		content, err := os.ReadFile(filepath.Join(out, "recording.mp4"))
		return result{string(content), packed.Files[0]}, err
	})
	put(t, h.recordings, h.id, attempt, "recording.mp4", packed.content)
	return packed.file
}

// check checks that a manifest is valid, is stored, and describes the stored media.
func (h finisherHarness) check(t *testing.T, manifest recording.Manifest) {
	t.Helper()
	checkSchema(t, manifest)
	read, exists, err := h.recordings.StoredManifest(t.Context(), h.id)
	if err != nil || !exists {
		t.Fatalf("no stored manifest: %v", err)
	}
	if want, got := marshal(manifest), marshal(read); want != got {
		t.Errorf("stored manifest is\n%s\nnot\n%s", got, want)
	}
	for _, media := range manifest.Media {
		content, _, err := h.recordings.OpenMedia(t.Context(), h.id, media.Name)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), media.Name)
		text, err := io.ReadAll(content)
		if err := errors.Join(err, content.Close(), os.WriteFile(path, text, 0o600)); err != nil || int64(len(text)) != media.Bytes {
			t.Fatalf("read %d bytes of %s: %v", len(text), media.Name, err)
		}
		checkFile(t, path, media.File)
	}
	if entries, err := os.ReadDir(h.TempDir); err != nil || len(entries) > 0 {
		t.Errorf("temporary folder contains %v, %v", entries, err)
	}
}

// TestFinishUsesBotFile also checks that finishing a job again changes nothing, also after the
// deletion of its uploads.
func TestFinishUsesBotFile(t *testing.T) {
	t.Parallel()
	finisher := newFinisherHarness(t)
	segments := splitSegments(t, encodeRecording(t, source{Seconds: 3}))
	finisher.upload(t, 0, 0, segments)
	file := finisher.packByBot(t, 0, segments)
	finisher.report(t, leftReport(0, completePart(0, 0, 3)), file)
	put(t, finisher.recordings, finisher.id, 0, "capture-0.zip", "png")
	manifest, err := finisher.Finish(t.Context(), finisher.input)
	if err != nil {
		t.Fatal(err)
	}
	finisher.check(t, manifest)
	if want := []recording.Media{{
		File: file, URI: testBase + "/api/v1/jobs/" + finisher.id.String() + "/media/recording.mp4",
	}}; !slices.Equal(manifest.Media, want) {
		t.Errorf("media is %+v, want %+v", manifest.Media, want)
	}
	if manifest.Partial || manifest.End.Reason != "host_ended" || len(manifest.Gaps) > 0 {
		t.Errorf("manifest is %+v", manifest)
	}
	again, err := finisher.Finish(t.Context(), finisher.input)
	if err != nil || !reflect.DeepEqual(again, manifest) {
		t.Errorf("repeated: %+v, %v", again, err)
	}
	if err := finisher.recordings.DeleteUploads(t.Context(), finisher.id); err != nil {
		t.Fatal(err)
	}
	after, err := finisher.Finish(t.Context(), finisher.input)
	if err != nil || marshal(after) != marshal(manifest) {
		t.Errorf("after the deletion of the uploads: %s, %v", marshal(after), err)
	}
}

// TestFinishRejectsMismatchedFiles checks that files that do not match the report
// are not used: the segments are packed instead, or there is an error.
func TestFinishRejectsMismatchedFiles(t *testing.T) {
	t.Parallel()
	segments := splitSegments(t, encodeRecording(t, source{Seconds: 3}))
	for name, corrupt := range map[string]func(*recording.File){
		"other checksum": func(f *recording.File) { f.SHA256 = sumText("another") },
		"other length":   func(f *recording.File) { f.Bytes++ },
		"not uploaded":   func(f *recording.File) { f.Name = "other.mp4" },
		"other path":     func(f *recording.File) { f.Name = "../1/recording.mp4" },
		"no media kind":  func(f *recording.File) { f.Kind = "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finisher := newFinisherHarness(t)
			file := finisher.packByBot(t, 0, segments)
			corrupt(&file)
			finisher.report(t, leftReport(0, completePart(0, 0, 3)), file)
			if _, err := finisher.Finish(t.Context(), finisher.input); !is[*MediaMismatchError](err) {
				t.Errorf("error is %v", err)
			}
			if name != "other checksum" {
				return // the segments are packed for the same reason
			}
			finisher.upload(t, 0, 0, segments)
			manifest, err := finisher.Finish(t.Context(), finisher.input)
			if err != nil || len(manifest.Media) != 1 || manifest.Media[0].Name != "recording.mp4" {
				t.Fatalf("with segments: media is %+v, %v", manifest.Media, err)
			}
			finisher.check(t, manifest)
		})
	}
}

func TestFinishWithoutMedia(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		report  *ingest.Report
		started bool // the service observed that recording started
		partial bool
	}{
		"no report, not recorded":    {},
		"no report, recorded":        {started: true, partial: true},
		"report without a recording": {report: &ingest.Report{EndReason: "removed"}},
		"report with a recording":    {report: &ingest.Report{Parts: []ingest.RecordingPart{openPart(0, 0)}}, partial: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finisher := newFinisherHarness(t)
			if test.started {
				finisher.input.ObservedTimeline.RecordingStartedAt = recording.Instant{Time: recordingStart}
			}
			if test.report != nil {
				finisher.report(t, *test.report)
			}
			manifest, err := finisher.Finish(t.Context(), finisher.input)
			if err != nil {
				t.Fatal(err)
			}
			finisher.check(t, manifest)
			if len(manifest.Media) > 0 || manifest.Partial != test.partial {
				t.Errorf("media is %v, partial %v; want none, %v", manifest.Media, manifest.Partial, test.partial)
			}
			if has, err := finisher.HasMedia(t.Context(), finisher.id); has || err != nil {
				t.Errorf("HasMedia: %v, %v", has, err)
			}
		})
	}
}

func TestFinishWithoutBot(t *testing.T) {
	t.Parallel()
	segments := splitSegments(t, encodeRecording(t, source{Seconds: 3}))
	for name, test := range map[string]struct {
		upload   func(t *testing.T, finisher finisherHarness)
		long     bool
		duration int64 // milliseconds
		adopted  bool  // the bot uploaded a finished file
		partial  bool
		reason   string
	}{
		"killed while recording": {
			upload: func(t *testing.T, finisher finisherHarness) {
				finisher.upload(t, 0, 0, segments[:3])
				finisher.report(t, lostReport(0, openPart(0, 0)))
			},
			duration: 2100, partial: true, reason: "bot_lost",
		},
		"killed before its first report": {
			upload: func(t *testing.T, finisher finisherHarness) { finisher.upload(t, 0, 0, segments[:3]) },
			long:   true, duration: 2100, partial: true, reason: "bot_lost",
		},
		"killed after leaving": {
			upload: func(t *testing.T, finisher finisherHarness) {
				finisher.upload(t, 0, 0, segments)
				part := completePart(0, 0, 3)
				part.Segments = len(segments)
				finisher.report(t, leftReport(0, part))
			},
			long: true, duration: 3000, reason: "host_ended",
		},
		"killed after packing": {
			upload: func(t *testing.T, finisher finisherHarness) {
				finisher.upload(t, 0, 0, [][]byte{segments[0], nil, segments[2]})
				finisher.report(t, leftReport(0, completePart(0, 0, 3)), finisher.packByBot(t, 0, segments))
			},
			duration: 3000, adopted: true, reason: "host_ended",
		},
		"unreadable report": {
			upload: func(t *testing.T, finisher finisherHarness) {
				finisher.upload(t, 0, 0, segments)
				put(t, finisher.recordings, finisher.id, 0, ingest.ReportName, `{"parts":`)
			},
			long: true, duration: 3000, partial: true, reason: "bot_lost",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.long && testing.Short() {
				t.Skip("long: make check-long")
			}
			finisher := newFinisherHarness(t)
			test.upload(t, finisher)
			if has, err := finisher.HasMedia(t.Context(), finisher.id); !has || err != nil {
				t.Errorf("HasMedia: %v, %v", has, err)
			}
			var stages []Stage
			progress := func(stage Stage, done, total int64) {
				if done > total || done < 0 {
					t.Errorf("%s: %d of %d", stage, done, total)
				}
				if len(stages) == 0 || stages[len(stages)-1] != stage {
					stages = append(stages, stage)
				}
			}
			// A folder of an earlier run that was killed must be removed.
			stale := filepath.Join(finisher.TempDir, recording.WorkPrefix(finisher.id)+"finish-1")
			if err := os.Mkdir(stale, 0o700); err != nil {
				t.Fatal(err)
			}
			manifest, err := finisher.FinishWithoutBot(t.Context(), finisher.input, "bot_lost", progress)
			if err != nil {
				t.Fatal(err)
			}
			want := []Stage{Fetching, Packing, Storing}
			if test.adopted {
				want = []Stage{Storing}
			}
			if !slices.Equal(stages, want) {
				t.Errorf("stages are %v, want %v", stages, want)
			}
			finisher.check(t, manifest)
			if off := manifest.Media[0].DurationMs - test.duration; off < -50 || off > 500 {
				t.Errorf("duration is %d ms, want %d", manifest.Media[0].DurationMs, test.duration)
			}
			if manifest.Partial != test.partial || manifest.End.Reason != test.reason {
				t.Errorf("partial %v, end reason %s; want %v, %s", manifest.Partial, manifest.End.Reason, test.partial, test.reason)
			}
		})
	}
}

// TestFinishedFileOfEarlierAttempt checks that the finished file of an earlier
// attempt is part of the recording, for different uploads of a later attempt.
func TestFinishedFileOfEarlierAttempt(t *testing.T) {
	t.Parallel()
	segments := splitSegments(t, encodeRecording(t, source{Seconds: 3}))
	later := ingest.RecordingPart{Number: 0, StartedAt: at(10), EndedAt: at(13), Segments: len(segments), Complete: true}
	for name, test := range map[string]struct {
		upload  func(t *testing.T, finisher finisherHarness) // the second attempt
		media   []string
		offsets []int64
		gaps    []recording.Gap
		partial bool
	}{
		"report only": {
			upload: func(t *testing.T, finisher finisherHarness) { finisher.report(t, leftReport(1)) },
			media:  []string{"recording.mp4"}, offsets: []int64{0},
		},
		"segments": {
			upload: func(t *testing.T, finisher finisherHarness) {
				finisher.upload(t, 1, 0, segments)
				finisher.report(t, leftReport(1, later))
			},
			media: []string{"recording-2.mp4", "recording.mp4"}, offsets: []int64{0, 10000}, gaps: []recording.Gap{{
				StartMs: 3000, EndMs: 10000, Reason: recording.GapBotLost,
			}}, partial: true,
		},
		"finished file": {
			upload: func(t *testing.T, finisher finisherHarness) {
				finisher.report(t, leftReport(1, later), finisher.packByBot(t, 1, segments))
			},
			media: []string{"recording.mp4", "recording-2.mp4"}, offsets: []int64{0, 10000}, gaps: []recording.Gap{{
				StartMs: 3000, EndMs: 10000, Reason: recording.GapBotLost,
			}}, partial: true,
		},
		"unusable segments": {
			upload: func(t *testing.T, finisher finisherHarness) {
				finisher.upload(t, 1, 0, segments[:1])
				finisher.report(t, lostReport(1, openPart(0, 10)))
			},
			media: []string{"recording.mp4"}, offsets: []int64{0}, gaps: []recording.Gap{{
				StartMs: 3000, EndMs: 10000, Reason: recording.GapMediaLost,
			}}, partial: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finisher := newFinisherHarness(t)
			finisher.report(t, ingest.Report{Attempt: 0, Parts: []ingest.RecordingPart{completePart(0, 0, 3)}}, finisher.packByBot(t, 0, segments))
			test.upload(t, finisher)
			finish := map[string]func() (recording.Manifest, error){
				"Finish": func() (recording.Manifest, error) { return finisher.Finish(t.Context(), finisher.input) },
				"Salvage": func() (recording.Manifest, error) {
					return finisher.FinishWithoutBot(t.Context(), finisher.input, "bot_lost", nil)
				},
			}
			for method, finish := range finish {
				manifest, err := finish()
				if err != nil {
					t.Fatalf("%s: %v", method, err)
				}
				finisher.check(t, manifest)
				var names []string
				var offsets []int64
				for _, media := range manifest.Media {
					names, offsets = append(names, media.Name), append(offsets, media.StartOffsetMs)
				}
				if !slices.Equal(names, test.media) || !slices.Equal(offsets, test.offsets) {
					t.Errorf("%s: media is %v at %v, want %v at %v", method, names, offsets, test.media, test.offsets)
				}
				if manifest.Partial != test.partial || !sameGaps(manifest.Gaps, test.gaps) {
					t.Errorf("%s: partial %v, gaps %v; want %v, %v", method, manifest.Partial, manifest.Gaps, test.partial, test.gaps)
				}
			}
		})
	}
}

// sameGaps compares gaps. It allows 100 ms for the start, because the end of a file
// is accurate to a frame or two.
func sameGaps(got, want []recording.Gap) bool {
	return slices.EqualFunc(got, want, func(a, b recording.Gap) bool {
		return a.Reason == b.Reason && a.EndMs == b.EndMs && a.StartMs-b.StartMs > -100 && a.StartMs-b.StartMs < 100
	})
}

func TestFinishWithoutBotWithoutUsableMedia(t *testing.T) {
	t.Parallel()
	segments := splitSegments(t, encodeRecording(t, source{Seconds: 3}))
	for name, upload := range map[string]func(t *testing.T, finisher finisherHarness){
		"no uploads":       func(*testing.T, finisherHarness) {},
		"report only":      func(t *testing.T, finisher finisherHarness) { finisher.report(t, lostReport(0, openPart(0, 0))) },
		"no first segment": func(t *testing.T, finisher finisherHarness) { finisher.upload(t, 0, 0, [][]byte{nil, segments[1]}) },
		"header only":      func(t *testing.T, finisher finisherHarness) { finisher.upload(t, 0, 0, segments[:1]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finisher := newFinisherHarness(t)
			upload(t, finisher)
			if _, err := finisher.FinishWithoutBot(t.Context(), finisher.input, "bot_lost", nil); !is[*NothingSavedError](err) {
				t.Errorf("error is %v", err)
			}
			if _, err := finisher.recordings.Manifest(t.Context(), finisher.id); !is[*recording.NotFoundError](err) {
				t.Errorf("a manifest is stored; error is %v", err)
			}
		})
	}
}

// TestAttach attaches a file twice. The second time nothing changes.
func TestAttach(t *testing.T) {
	t.Parallel()
	recordings := openStorage(t, "file://"+t.TempDir())
	input := testInput()
	id := input.Job.ID
	text := recording.TextFile{
		Name: "transcript.json", Kind: recording.Transcript, ContentType: "application/json", Content: []byte("{}"),
	}
	files := []recording.Attachment{text.Attachment()}
	if _, err := recordings.Attach(t.Context(), id, "https://standin.example.com", files); !is[*recording.NotFoundError](err) {
		t.Errorf("without a manifest: %v", err)
	}
	if err := recordings.PutManifest(t.Context(), id, newManifest(input, nil, Packed{Files: []recording.File{testFile()}},
		"https://standin.example.com")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if revision, err := recordings.Attach(t.Context(), id, "https://standin.example.com", files); err != nil || revision != 2 {
			t.Fatal(revision, err)
		}
	}
	manifest, _, err := recordings.StoredManifest(t.Context(), id)
	if err != nil || manifest.Revision != 2 || len(manifest.Media) != 2 || manifest.Media[1].Bytes != 2 {
		t.Errorf("got %s (%v)", marshal(manifest), err)
	}
	checkSchema(t, manifest)
}
