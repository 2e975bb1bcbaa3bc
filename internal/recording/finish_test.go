package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/uuid"

	"standin/internal/ingest"
)

const testBase = "https://standin.example.com"

// finisherHarness is a finisher with a storage and a job of its own.
type finisherHarness struct {
	*Finisher
	facts ManifestInput
	id    uuid.UUID
}

func newFinisherHarness(t *testing.T) finisherHarness {
	t.Helper()
	facts := someFacts()
	facts.Job.ID = uuid.New()
	return finisherHarness{
		Finisher: &Finisher{
			Storage: openStorage(t, folderAddress(filepath.Join(t.TempDir(), "storage"))),
			BaseURL: testBase,
			TempDir: t.TempDir(),
			Log:     slog.New(slog.DiscardHandler),
		},
		facts: facts, id: facts.Job.ID,
	}
}

// upload puts segments into storage; a nil one is left out.
func (d finisherHarness) upload(t *testing.T, attempt, part int, segments [][]byte) {
	t.Helper()
	for sequence, segment := range segments {
		if segment != nil {
			put(t, d.Storage, d.id, attempt, ingest.SegmentName(part, sequence), string(segment))
		}
	}
}

// report uploads an attempt's report.
func (d finisherHarness) report(t *testing.T, report ingest.Report, media ...File) {
	t.Helper()
	text, err := json.Marshal(FinalReport{Report: report, Media: media})
	if err != nil {
		t.Fatal(err)
	}
	put(t, d.Storage, d.id, report.Attempt, ingest.ReportName, string(text))
}

// packByBot packs segments as a bot does, uploads the file and describes it.
func (d finisherHarness) packByBot(t *testing.T, attempt int, segments [][]byte) File {
	t.Helper()
	folder, out := t.TempDir(), t.TempDir()
	lay(t, folder, 0, segments)
	packed, err := packAll(t.Context(), folder, out, ingest.Report{})
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(out, "recording.mp4"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, d.Storage, d.id, attempt, "recording.mp4", string(content))
	return packed.Files[0]
}

// check holds that a manifest fits its schema, is the one in storage, and
// describes the media in storage.
func (d finisherHarness) check(t *testing.T, manifest Manifest) {
	t.Helper()
	checkSchema(t, manifest)
	read, stands, err := d.Storage.storedManifest(t.Context(), d.id)
	if err != nil || !stands {
		t.Fatalf("no manifest is stored: %v", err)
	}
	if want, got := asJSON(t, manifest), asJSON(t, read); want != got {
		t.Errorf("the stored manifest is\n%s\nnot\n%s", got, want)
	}
	for _, media := range manifest.Media {
		content, size, _, err := d.Storage.OpenMedia(t.Context(), d.id, media.Name)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), media.Name)
		text, err := io.ReadAll(content)
		if err := errors.Join(err, content.Close(), os.WriteFile(path, text, 0o600)); err != nil || size != media.Bytes {
			t.Fatalf("read %d bytes of %s: %v", size, media.Name, err)
		}
		checkFile(t, path, media.File)
	}
	if entries, err := os.ReadDir(d.TempDir); err != nil || len(entries) > 0 {
		t.Errorf("the temporary folder holds %v, %v", entries, err)
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFromBotAdoptsItsFile(t *testing.T) {
	t.Parallel()
	finisher := newFinisherHarness(t)
	segments := cut(t, record(t, source{Seconds: 3}))
	finisher.upload(t, 0, 0, segments)
	file := finisher.packByBot(t, 0, segments)
	report := left(0, whole(0, 0, 3))
	finisher.report(t, report, file)
	manifest, err := finisher.Finish(t.Context(), finisher.facts)
	if err != nil {
		t.Fatal(err)
	}
	finisher.check(t, manifest)
	if want := []Media{{File: file, URI: testBase + "/api/v1/jobs/" + finisher.id.String() + "/media/recording.mp4"}}; !slices.Equal(manifest.Media, want) {
		t.Errorf("media is %+v, want %+v", manifest.Media, want)
	}
	if manifest.Partial || manifest.End.Reason != "host_ended" || len(manifest.Gaps) > 0 {
		t.Errorf("the manifest is %+v", manifest)
	}
	again, err := finisher.Finish(t.Context(), finisher.facts)
	if err != nil || !reflect.DeepEqual(again, manifest) {
		t.Errorf("again: %+v, %v", again, err)
	}
	if err := finisher.Storage.DeleteUploads(t.Context(), finisher.id); err != nil {
		t.Fatal(err)
	}
	after, err := finisher.Finish(t.Context(), finisher.facts)
	if err != nil || asJSON(t, after) != asJSON(t, manifest) {
		t.Errorf("after the uploads are gone: %s, %v", asJSON(t, after), err)
	}
}

// TestFromBotDistrusts holds that files which were not uploaded as the report
// says are not adopted: the segments are packed, or it is an error.
func TestFromBotDistrusts(t *testing.T) {
	t.Parallel()
	segments := cut(t, record(t, source{Seconds: 2}))
	for name, spoil := range map[string]func(*File){
		"another sum":    func(f *File) { f.SHA256 = sumText("another") },
		"another length": func(f *File) { f.Bytes++ },
		"not uploaded":   func(f *File) { f.Name = "other.mp4" },
		"a way out":      func(f *File) { f.Name = "../1/recording.mp4" },
		"no kind":        func(f *File) { f.Kind = "" },
	} {
		for _, saved := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, segments %v", name, saved), func(t *testing.T) {
				t.Parallel()
				finisher := newFinisherHarness(t)
				file := finisher.packByBot(t, 0, segments)
				spoil(&file)
				finisher.report(t, left(0, whole(0, 0, 2)), file)
				if saved {
					finisher.upload(t, 0, 0, segments)
				}
				manifest, err := finisher.Finish(t.Context(), finisher.facts)
				if !saved {
					if !is[*MediaMismatchError](err) {
						t.Errorf("the error is %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				finisher.check(t, manifest)
				if len(manifest.Media) != 1 || manifest.Media[0].Name != "recording.mp4" {
					t.Errorf("media is %+v", manifest.Media)
				}
			})
		}
	}
}

func TestFromBotWithoutMedia(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		report  *ingest.Report
		started bool // the service heard that recording began
		partial bool
	}{
		"a foreign bot that never recorded": {},
		"a foreign bot that recorded":       {started: true, partial: true},
		"a report of no recording":          {report: &ingest.Report{EndReason: "removed"}},
		"a report of a recording":           {report: &ingest.Report{Parts: []ingest.RecordingPart{torn(0, 0)}}, partial: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finisher := newFinisherHarness(t)
			if test.started {
				finisher.facts.ObservedTimeline.RecordingStartedAt = Instant{began}
			}
			if test.report != nil {
				finisher.report(t, *test.report)
			}
			manifest, err := finisher.Finish(t.Context(), finisher.facts)
			if err != nil {
				t.Fatal(err)
			}
			finisher.check(t, manifest)
			if len(manifest.Media) > 0 || manifest.Partial != test.partial {
				t.Errorf("media is %v, partial %v; want none, %v", manifest.Media, manifest.Partial, test.partial)
			}
			if has, err := finisher.HasMedia(t.Context(), finisher.id); has || err != nil {
				t.Errorf("has media: %v, %v", has, err)
			}
		})
	}
}

// TestFromBotOfASecondAttempt holds that what an earlier attempt recorded is
// packed too, whatever the last bot has finished by itself.
func TestFromBotOfASecondAttempt(t *testing.T) {
	t.Parallel()
	finisher := newFinisherHarness(t)
	segments := cut(t, record(t, source{Seconds: 3}))
	finisher.upload(t, 0, 0, segments[:3])
	finisher.report(t, lost(0, torn(0, 0)))
	finisher.upload(t, 1, 0, segments)
	finisher.report(t, left(1, ingest.RecordingPart{Number: 0, StartedAt: at(10), EndedAt: at(13), Segments: 4, Complete: true}),
		finisher.packByBot(t, 1, segments))
	manifest, err := finisher.Finish(t.Context(), finisher.facts)
	if err != nil {
		t.Fatal(err)
	}
	finisher.check(t, manifest)
	if lasts := manifest.Media[0].DurationMs; lasts < 4900 || lasts > 5600 {
		t.Errorf("lasts %d ms, want both attempts' 5 s", lasts)
	}
	if !manifest.Partial || len(manifest.Gaps) != 1 || manifest.Gaps[0].EndMs != 10000 || manifest.Gaps[0].Reason != GapBotLost {
		t.Errorf("partial %v, gaps %v", manifest.Partial, manifest.Gaps)
	}
}

func TestFromUploads(t *testing.T) {
	t.Parallel()
	segments := cut(t, record(t, source{Seconds: 4}))
	for name, test := range map[string]struct {
		leave   func(t *testing.T, finisher finisherHarness)
		lasts   int64 // milliseconds
		adopted bool  // the bot had finished
		partial bool
		reason  string
	}{
		"killed in the middle": {
			leave: func(t *testing.T, service2 finisherHarness) {
				service2.upload(t, 0, 0, segments[:4])
				service2.report(t, lost(0, torn(0, 0)))
			},
			lasts: 3000, partial: true, reason: "bot_lost",
		},
		"killed before its first report": {
			leave: func(t *testing.T, finisher finisherHarness) { finisher.upload(t, 0, 0, segments[:4]) },
			lasts: 3000, partial: true, reason: "bot_lost",
		},
		"killed after it had left": {
			leave: func(t *testing.T, finisher finisherHarness) {
				finisher.upload(t, 0, 0, segments)
				part := whole(0, 0, 4)
				part.Segments = len(segments)
				finisher.report(t, left(0, part))
			},
			lasts: 4000, reason: "host_ended",
		},
		"killed after it had packed": {
			leave: func(t *testing.T, service2 finisherHarness) {
				service2.upload(t, 0, 0, [][]byte{segments[0], nil, segments[2]})
				service2.report(t, left(0, whole(0, 0, 4)), service2.packByBot(t, 0, segments))
			},
			lasts: 4000, adopted: true, reason: "host_ended",
		},
		"an unreadable report": {
			leave: func(t *testing.T, service2 finisherHarness) {
				service2.upload(t, 0, 0, segments)
				put(t, service2.Storage, service2.id, 0, ingest.ReportName, `{"parts":`)
			},
			lasts: 4000, partial: true, reason: "bot_lost",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service2 := newFinisherHarness(t)
			test.leave(t, service2)
			if has, err := service2.HasMedia(t.Context(), service2.id); !has || err != nil {
				t.Errorf("has media: %v, %v", has, err)
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
			// What a run that was killed leaves must not stay.
			stale := filepath.Join(service2.TempDir, "salvage-"+service2.id.String()+"-1")
			if err := os.Mkdir(stale, 0o700); err != nil {
				t.Fatal(err)
			}
			manifest, err := service2.Salvage(t.Context(), service2.facts, "bot_lost", progress)
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
			service2.check(t, manifest)
			if off := manifest.Media[0].DurationMs - test.lasts; off < -50 || off > 500 {
				t.Errorf("lasts %d ms, want %d", manifest.Media[0].DurationMs, test.lasts)
			}
			if manifest.Partial != test.partial || manifest.End.Reason != test.reason {
				t.Errorf("partial %v, ended by %s; want %v, %s", manifest.Partial, manifest.End.Reason, test.partial, test.reason)
			}
			again, err := service2.Salvage(t.Context(), service2.facts, "bot_lost", nil)
			if err != nil || asJSON(t, again) != asJSON(t, manifest) {
				t.Errorf("again: %s, %v", asJSON(t, again), err)
			}
		})
	}
}

// TestEarlierFile holds that the file which an earlier attempt had finished is
// part of the recording, whatever a later one leaves and who finishes.
func TestEarlierFile(t *testing.T) {
	t.Parallel()
	segments := cut(t, record(t, source{Seconds: 3}))
	later := ingest.RecordingPart{Number: 0, StartedAt: at(10), EndedAt: at(13), Segments: len(segments), Complete: true}
	for name, test := range map[string]struct {
		leave   func(t *testing.T, finisher finisherHarness) // what the second attempt leaves
		media   []string
		offsets []int64
		gaps    []Gap
		partial bool
	}{
		"a report only": {
			leave: func(t *testing.T, service2 finisherHarness) { service2.report(t, left(1)) },
			media: []string{"recording.mp4"}, offsets: []int64{0},
		},
		"segments": {
			leave: func(t *testing.T, finisher finisherHarness) {
				finisher.upload(t, 1, 0, segments)
				finisher.report(t, left(1, later))
			},
			media: []string{"recording-2.mp4", "recording.mp4"}, offsets: []int64{0, 10000}, gaps: []Gap{{3000, 10000, GapBotLost}}, partial: true,
		},
		"a file": {
			leave: func(t *testing.T, finisher finisherHarness) {
				finisher.report(t, left(1, later), finisher.packByBot(t, 1, segments))
			},
			media: []string{"recording.mp4", "recording-2.mp4"}, offsets: []int64{0, 10000}, gaps: []Gap{{3000, 10000, GapBotLost}}, partial: true,
		},
		"unusable segments": {
			leave: func(t *testing.T, finisher finisherHarness) {
				finisher.upload(t, 1, 0, segments[:1])
				finisher.report(t, lost(1, torn(0, 10)))
			},
			media: []string{"recording.mp4"}, offsets: []int64{0}, partial: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finisher := newFinisherHarness(t)
			finisher.report(t, ingest.Report{Attempt: 0, Parts: []ingest.RecordingPart{whole(0, 0, 3)}}, finisher.packByBot(t, 0, segments))
			test.leave(t, finisher)
			finish := map[string]func() (Manifest, error){
				"bot":     func() (Manifest, error) { return finisher.Finish(t.Context(), finisher.facts) },
				"service": func() (Manifest, error) { return finisher.Salvage(t.Context(), finisher.facts, "bot_lost", nil) },
			}
			for who, finish := range finish {
				manifest, err := finish()
				if err != nil {
					t.Fatalf("%s: %v", who, err)
				}
				finisher.check(t, manifest)
				var names []string
				var offsets []int64
				for _, media := range manifest.Media {
					names, offsets = append(names, media.Name), append(offsets, media.StartOffsetMs)
				}
				if !slices.Equal(names, test.media) || !slices.Equal(offsets, test.offsets) {
					t.Errorf("%s: media is %v at %v, want %v at %v", who, names, offsets, test.media, test.offsets)
				}
				if manifest.Partial != test.partial || !sameGaps(manifest.Gaps, test.gaps) {
					t.Errorf("%s: partial %v, gaps %v; want %v, %v", who, manifest.Partial, manifest.Gaps, test.partial, test.gaps)
				}
			}
		})
	}
}

// sameGaps compares gaps; a file's end is known to a frame or two.
func sameGaps(got, want []Gap) bool {
	return slices.EqualFunc(got, want, func(a, b Gap) bool {
		return a.Reason == b.Reason && a.EndMs == b.EndMs && a.StartMs-b.StartMs > -100 && a.StartMs-b.StartMs < 100
	})
}

func TestFromUploadsOfNothing(t *testing.T) {
	t.Parallel()
	segments := cut(t, record(t, source{Seconds: 2}))
	for name, leave := range map[string]func(t *testing.T, finisher finisherHarness){
		"nothing":             func(*testing.T, finisherHarness) {},
		"a report":            func(t *testing.T, service2 finisherHarness) { service2.report(t, lost(0, torn(0, 0))) },
		"no first segment":    func(t *testing.T, service2 finisherHarness) { service2.upload(t, 0, 0, [][]byte{nil, segments[1]}) },
		"nothing but headers": func(t *testing.T, finisher finisherHarness) { finisher.upload(t, 0, 0, segments[:1]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finisher := newFinisherHarness(t)
			leave(t, finisher)
			if _, err := finisher.Salvage(t.Context(), finisher.facts, "bot_lost", nil); !is[*NothingSavedError](err) {
				t.Errorf("the error is %v", err)
			}
			if _, err := finisher.Storage.Manifest(t.Context(), finisher.id); !is[*NotFoundError](err) {
				t.Errorf("a manifest is stored: %v", err)
			}
		})
	}
}
