package recording

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"standin/internal/ingest"
)

// spoken makes the segments of a track: sound alone, as the recorder's, that
// beeps at the beginning of each second.
func encodeTrack(t *testing.T, seconds int) [][]byte {
	t.Helper()
	tools := needFFmpeg(t)
	return splitSegments(t, encodeOnce(t, seconds, func() ([]byte, error) {
		target := filepath.Join(t.TempDir(), "track.mp4")
		sound := fmt.Sprintf("aevalsrc='if(lt(mod(t,1),0.1),0.8*sin(2*PI*1000*t),0)':s=48000:d=%d", seconds)
		command := exec.CommandContext(t.Context(), tools.FFmpeg, "-nostdin", "-v", "error", "-f", "lavfi", "-i", sound,
			"-c:a", "libopus", "-b:a", "32k", "-frag_duration", "500000", "-movflags", "+empty_moov+default_base_moof", "-f", "mp4", target)
		if output, err := command.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("make a track: %w: %s", err, output)
		}
		return os.ReadFile(target)
	}))
}

// bundles puts tracks' segments into bundles: one for each place.
func bundles(t *testing.T, starts []time.Time, tracks ...[][]byte) [][]byte {
	t.Helper()
	var all [][]byte
	for sequence := 0; ; sequence++ {
		var segments []TrackSegment
		for number, track := range tracks {
			if sequence < len(track) {
				segments = append(segments, TrackSegment{Track: number, Sequence: sequence, StartedAt: starts[number], Data: track[sequence]})
			}
		}
		if len(segments) == 0 {
			return all
		}
		bundle, err := Bundle(segments)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, bundle)
	}
}

// bundle uploads bundles; a nil one is left out.
func (d finisherHarness) bundle(t *testing.T, attempt int, bundles [][]byte) {
	t.Helper()
	for sequence, bundle := range bundles {
		if bundle != nil {
			put(t, d.Storage, d.id, attempt, ingest.BundleName(sequence), string(bundle))
		}
	}
}

// told is what a report says of a track.
func reported(number int, from float64, segments int, person string) ingest.AudioTrack {
	return ingest.AudioTrack{Number: number, StartedAt: at(from), Segments: segments, Complete: true, PersonID: person}
}

func roster() []ingest.Person {
	return []ingest.Person{{ID: "a", Name: "Ada", JoinedAt: at(0)}, {ID: "b", Name: "Ben", JoinedAt: at(0)}}
}

// TestSalvageTracks packs what participants said by themselves out of what a
// lost bot had uploaded: with its report, without any, and where some of it is
// missing.
func TestSalvageTracks(t *testing.T) {
	t.Parallel()
	recorded, ada, ben := splitSegments(t, encodeRecording(t, source{Seconds: 4})), encodeTrack(t, 3), encodeTrack(t, 2)
	all := bundles(t, []time.Time{at(0.5), at(1.25)}, ada, ben)
	spoil := func(position int, with []byte) [][]byte {
		spoilt := slices.Clone(all)
		spoilt[position] = with
		return spoilt
	}
	usual := []ingest.AudioTrack{reported(0, 0.5, len(ada), "a"), reported(1, 1.25, len(ben), "b")}
	for name, test := range map[string]struct {
		bundles  [][]byte
		tracks   []ingest.AudioTrack
		noReport bool
		lasts    []int64 // milliseconds of each track's file
		persons  []string
		offsets  []int64
		whole    bool
	}{
		"all there": {
			bundles: all, tracks: usual, lasts: []int64{3000, 2000}, persons: []string{"a", "b"}, offsets: []int64{500, 1250}, whole: true,
		},
		"nobody known": {
			bundles: all, tracks: []ingest.AudioTrack{reported(0, 0.5, len(ada), ""), reported(1, 1.25, len(ben), "nobody")},
			lasts: []int64{3000, 2000}, persons: []string{"", ""}, offsets: []int64{500, 1250}, whole: true,
		},
		"no report": {
			bundles: all, noReport: true, lasts: []int64{3000, 2000}, persons: []string{"", ""}, offsets: []int64{0, 0},
		},
		"a bundle missing": {
			bundles: spoil(3, nil), tracks: usual, lasts: []int64{1000, 1000}, persons: []string{"a", "b"}, offsets: []int64{500, 1250},
		},
		"a bundle torn": {
			bundles: spoil(3, all[3][:700]), tracks: usual, lasts: []int64{1000, 1000}, persons: []string{"a", "b"}, offsets: []int64{500, 1250},
		},
		"no bundle at all": {bundles: nil, tracks: usual},
		"one not ended in order": {
			bundles: all, tracks: []ingest.AudioTrack{usual[0], {Number: 1, StartedAt: at(1.25), Segments: len(ben), PersonID: "b"}},
			lasts: []int64{3000, 2000}, persons: []string{"a", "b"}, offsets: []int64{500, 1250},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finisher := newFinisherHarness(t)
			finisher.upload(t, 0, 0, recorded)
			finisher.bundle(t, 0, test.bundles)
			if !test.noReport {
				report := leftReport(0, ingest.RecordingPart{Number: 0, StartedAt: at(0), EndedAt: at(4), Segments: 5, Complete: true})
				report.People, report.AudioTracks = roster(), test.tracks
				finisher.report(t, report)
			}
			manifest, err := finisher.Salvage(t.Context(), finisher.facts, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			finisher.check(t, manifest)
			if manifest.Partial == test.whole || len(manifest.Media) != 1+len(test.lasts) || manifest.Media[0].Kind != Video {
				t.Fatalf("partial %v, media %+v", manifest.Partial, manifest.Media)
			}
			for i, media := range manifest.Media[1:] {
				off := media.DurationMs - test.lasts[i]
				if media.Kind != ParticipantAudio || media.ParticipantID != test.persons[i] || off < -50 || off > 100 ||
					media.Name != fmt.Sprintf("participant-%03d.m4a", i+1) || media.ContentType != "audio/mp4" || media.Codecs != "opus" {
					t.Errorf("track %d is %+v", i, media)
				}
				if media.StartOffsetMs != test.offsets[i] && !test.noReport {
					t.Errorf("track %d begins at %d ms, want %d", i, media.StartOffsetMs, test.offsets[i])
				}
			}
			if !test.whole {
				return // what is kept is as in the others
			}
			report, err := (&Verifier{Storage: finisher.Storage, Tools: needFFmpeg(t)}).Verify(t.Context(), finisher.id)
			if err != nil || !report.OK() {
				t.Errorf("verified: %+v, %v", report, err)
			}
		})
	}
}

// TestUnusableTracks cost nothing but themselves.
func TestUnusableTracks(t *testing.T) {
	t.Parallel()
	finisher := newFinisherHarness(t)
	finisher.upload(t, 0, 0, splitSegments(t, encodeRecording(t, source{Seconds: 2})))
	finisher.bundle(t, 0, bundles(t, []time.Time{at(0)}, [][]byte{[]byte("no sound at all"), []byte("and no more")}))
	finisher.bundle(t, 0, nil)
	put(t, finisher.Storage, finisher.id, 0, ingest.BundleName(7), "no archive")
	report := leftReport(0, completePart(0, 0, 2))
	report.AudioTracks = []ingest.AudioTrack{reported(0, 0, 2, "")}
	finisher.report(t, report)
	manifest, err := finisher.Salvage(t.Context(), finisher.facts, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	finisher.check(t, manifest)
	if len(manifest.Media) != 1 || !manifest.Partial || len(manifest.Gaps) > 0 {
		t.Errorf("partial %v, gaps %v, media %+v", manifest.Partial, manifest.Gaps, manifest.Media)
	}
}

// TestTracksOfTwoAttempts stand beside each other, each under the id that the
// manifest gives its speaker.
func TestTracksOfTwoAttempts(t *testing.T) {
	t.Parallel()
	finisher := newFinisherHarness(t)
	segments, track := splitSegments(t, encodeRecording(t, source{Seconds: 2})), encodeTrack(t, 2)
	for attempt, name := range []string{"Ada", "Cleo"} { // the same id, another person
		from := float64(10 * attempt)
		finisher.upload(t, attempt, 0, segments)
		finisher.bundle(t, attempt, bundles(t, []time.Time{at(from + 0.5)}, track))
		report := leftReport(attempt, completePart(0, from, from+2))
		report.People = []ingest.Person{{ID: "a", Name: name, JoinedAt: at(from)}}
		report.AudioTracks = []ingest.AudioTrack{reported(0, from+0.5, len(track), "a")}
		finisher.report(t, report)
	}
	manifest, err := finisher.Salvage(t.Context(), finisher.facts, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	finisher.check(t, manifest)
	var tracks []string
	for _, media := range manifest.Media {
		if media.Kind == ParticipantAudio {
			tracks = append(tracks, fmt.Sprintf("%s %s %d", media.Name, media.ParticipantID, media.StartOffsetMs))
		}
	}
	if want := []string{"participant-001.m4a a 500", "participant-001-2.m4a a-2 10500"}; !slices.Equal(tracks, want) {
		t.Errorf("the tracks are %q, want %q", tracks, want)
	}
}

// TestPackedParticipantAudio checks that files packed by the bot are used unchanged,
// and that a reported file without an upload is missing.
func TestPackedParticipantAudio(t *testing.T) {
	t.Parallel()
	for name, missing := range map[string]bool{"all": false, "but for one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finisher := newFinisherHarness(t)
			segments, track := splitSegments(t, encodeRecording(t, source{Seconds: 2})), encodeTrack(t, 2)
			packed := Packed{Files: []File{finisher.packByBot(t, 0, segments)}}
			work, out := t.TempDir(), t.TempDir()
			report := leftReport(0, completePart(0, 0, 2))
			report.People, report.AudioTracks = roster(), []ingest.AudioTrack{reported(0, 0.5, len(track), "b")}
			bundle := filepath.Join(work, ingest.BundleName(0))
			if err := os.WriteFile(bundle, slices.Concat(bundles(t, []time.Time{at(0.5)}, [][]byte{slices.Concat(track...)})...), 0o600); err != nil {
				t.Fatal(err)
			}
			report.AudioTracks[0].Segments = 1
			log := slog.New(slog.DiscardHandler)
			tracks, err := FindTracks([]string{bundle}, work, 0, report, log)
			if err == nil {
				err = PackTracks(t.Context(), &packed, tracks, out, log)
			}
			if err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(filepath.Join(out, "participant-001.m4a"))
			if err != nil {
				t.Fatal(err)
			}
			put(t, finisher.Storage, finisher.id, 0, "participant-001.m4a", string(content))
			if missing {
				report.AudioTracks = append(report.AudioTracks, reported(1, 1, 4, ""))
			}
			text, err := json.Marshal(FinalReport{Report: report, Media: packed.Files, PackedTracks: packed.Tracks})
			if err != nil {
				t.Fatal(err)
			}
			put(t, finisher.Storage, finisher.id, 0, ingest.ReportName, string(text))
			manifest, err := finisher.Finish(t.Context(), finisher.facts)
			if err != nil {
				t.Fatal(err)
			}
			finisher.check(t, manifest)
			if len(manifest.Media) != 2 || manifest.Partial != missing {
				t.Fatalf("partial %v, media %+v", manifest.Partial, manifest.Media)
			}
			if spoke := manifest.Media[1]; spoke.ParticipantID != "b" || spoke.StartOffsetMs != 500 {
				t.Errorf("the track is %+v", spoke)
			}
		})
	}
}

// TestUnbundleRejectsOtherPaths: what an archive names reaches no other place.
func TestUnbundleRejectsOtherPaths(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	work := filepath.Join(folder, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	good := ingest.TrackSegmentName(1, 2)
	for _, header := range []tar.Header{
		{Name: "../" + good}, {Name: "other/" + good}, {Name: filepath.Join(folder, good)}, {Name: "report.json"},
		{Name: good, Typeflag: tar.TypeSymlink, Linkname: "../target"},
		{Name: good},
	} {
		var bundle bytes.Buffer
		writer := tar.NewWriter(&bundle)
		if err := errors.Join(writer.WriteHeader(&header), writer.Close()); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, "bundle.tar")
		if err := os.WriteFile(path, bundle.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unbundle(path, work); err != nil {
			t.Errorf("%s: %v", header.Name, err)
		}
		info, err := os.Lstat(filepath.Join(work, good))
		taken := err == nil && info.Mode().IsRegular()
		if wanted := header.Name == good && header.Typeflag != tar.TypeSymlink; taken != wanted {
			t.Errorf("%s, type %q: taken %v", header.Name, header.Typeflag, taken)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}
