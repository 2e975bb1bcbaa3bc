package build

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/recording"
)

// encodeTrack returns the segments of an audio track with a beep at the beginning
// of each second.
func encodeTrack(t *testing.T, seconds int) [][]byte {
	t.Helper()
	tools := needFFmpeg(t)
	return splitSegments(t, once(t, seconds, func() ([]byte, error) {
		target := filepath.Join(t.TempDir(), "track.mp4")
		sound := fmt.Sprintf("aevalsrc='if(lt(mod(t,1),0.1),0.8*sin(2*PI*1000*t),0)':s=48000:d=%d", seconds)
		command := exec.CommandContext(t.Context(), tools.FFmpeg, "-nostdin", "-v", "error", "-f", "lavfi", "-i", sound,
			"-c:a", "libopus", "-b:a", "32k", "-frag_duration", "500000", "-movflags", "+empty_moov+default_base_moof", "-f", "mp4", target)
		if output, err := command.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("encode a track: %w: %s", err, output)
		}
		return os.ReadFile(target)
	}))
}

// bundles returns a bundle for each sequence number of the tracks' segments.
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

// uploadBundles uploads bundles, except nil ones.
func (h finisherHarness) uploadBundles(t *testing.T, attempt int, bundles [][]byte) {
	t.Helper()
	for sequence, bundle := range bundles {
		if bundle != nil {
			put(t, h.recordings, h.id, attempt, ingest.BundleName(sequence), string(bundle))
		}
	}
}

// reportedTrack returns a complete track of a report.
func reportedTrack(number int, from float64, segments int, person string) ingest.AudioTrack {
	return ingest.AudioTrack{Number: number, StartedAt: at(from), Segments: segments, Complete: true, PersonID: person}
}

func roster() []ingest.Person {
	return []ingest.Person{{ID: "a", Name: "Ada", JoinedAt: at(0)}, {ID: "b", Name: "Ben", JoinedAt: at(0)}}
}

// TestFinishWithoutBotTracks checks that participant audio is packed from the uploads of a
// lost bot, with and without its report, and with missing bundles.
func TestFinishWithoutBotTracks(t *testing.T) {
	t.Parallel()
	recorded, ada, ben := splitSegments(t, encodeRecording(t, source{Seconds: 3})), encodeTrack(t, 3), encodeTrack(t, 2)
	starts := []time.Time{at(0.5), at(1.25)}
	all := bundles(t, starts, ada, ben)
	replace := func(index int, bundle []byte) [][]byte {
		replaced := slices.Clone(all)
		replaced[index] = bundle
		return replaced
	}
	tracks := []ingest.AudioTrack{reportedTrack(0, 0.5, len(ada), "a"), reportedTrack(1, 1.25, len(ben), "b")}
	for name, test := range map[string]struct {
		bundles   [][]byte
		tracks    []ingest.AudioTrack
		noReport  bool
		durations []int64 // milliseconds of each track's file
		persons   []string
		offsets   []int64
		complete  bool
	}{
		"all bundles": {
			bundles: all, tracks: tracks, durations: []int64{3000, 2000}, persons: []string{"a", "b"}, offsets: []int64{500, 1250}, complete: true,
		},
		"no report": {
			bundles: all, noReport: true, durations: []int64{3000, 2000}, persons: []string{"", ""}, offsets: []int64{0, 0},
		},
		"bundle missing": {
			bundles: replace(3, nil), tracks: tracks, durations: []int64{1000, 1000}, persons: []string{"a", "b"}, offsets: []int64{500, 1250},
		},
		"bundle truncated": {
			bundles: replace(3,
				all[3][:700]), tracks: tracks, durations: []int64{1000, 1000}, persons: []string{"a", "b"}, offsets: []int64{500, 1250},
		},
		"no bundles": {bundles: nil, tracks: tracks},
		"no sound": {
			bundles: append(bundles(t, starts, [][]byte{[]byte("no sound at all"), []byte("and no more")}), []byte("no archive")),
			tracks:  tracks,
		},
		"incomplete track, unknown participants": {
			bundles: all, tracks: []ingest.AudioTrack{
				reportedTrack(0, 0.5, len(ada), ""), {Number: 1, StartedAt: at(1.25), Segments: len(ben), PersonID: "nobody"},
			},
			durations: []int64{3000, 2000}, persons: []string{"", ""}, offsets: []int64{500, 1250},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && name != "bundle truncated" && name != "no bundles" {
				t.Skip("long: make check-long")
			}
			finisher := newFinisherHarness(t)
			finisher.upload(t, 0, 0, recorded)
			finisher.uploadBundles(t, 0, test.bundles)
			if !test.noReport {
				report := leftReport(0, ingest.RecordingPart{Number: 0, StartedAt: at(0), EndedAt: at(3), Segments: len(recorded), Complete: true})
				report.People, report.AudioTracks = roster(), test.tracks
				finisher.report(t, report)
			}
			manifest, err := finisher.FinishWithoutBot(t.Context(), finisher.input, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			finisher.check(t, manifest)
			if manifest.Partial == test.complete || len(manifest.Media) != 1+len(test.durations) || manifest.Media[0].Kind != recording.Video {
				t.Fatalf("partial %v, media %+v", manifest.Partial, manifest.Media)
			}
			for i, media := range manifest.Media[1:] {
				off := media.DurationMs - test.durations[i]
				if media.Kind != recording.ParticipantAudio || media.ParticipantID != test.persons[i] || off < -50 || off > 100 ||
					media.Name != fmt.Sprintf("participant-%03d.m4a", i+1) || media.ContentType != "audio/mp4" || media.Codecs != "opus" {
					t.Errorf("track %d is %+v", i, media)
				}
				if media.StartOffsetMs != test.offsets[i] && !test.noReport {
					t.Errorf("track %d begins at %d ms, want %d", i, media.StartOffsetMs, test.offsets[i])
				}
			}
			if !test.complete {
				return // the other cases verify the same files
			}
			report, err := (&Verifier{Recordings: finisher.recordings, Tools: needFFmpeg(t)}).Verify(t.Context(), finisher.id)
			if err != nil || !report.OK() {
				t.Errorf("Verify: %+v, %v", report, err)
			}
		})
	}
}

// TestTracksOfTwoAttempts checks that the segments of two attempts are packed, and that their
// tracks have different names and the manifest's participant IDs.
func TestTracksOfTwoAttempts(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make check-long")
	}
	t.Parallel()
	finisher := newFinisherHarness(t)
	segments, track := splitSegments(t, encodeRecording(t, source{Seconds: 3})), encodeTrack(t, 2)
	for attempt, name := range []string{"Ada", "Cleo"} { // the same ID, another person
		from := float64(10 * attempt)
		finisher.upload(t, attempt, 0, segments)
		finisher.uploadBundles(t, attempt, bundles(t, []time.Time{at(from + 0.5)}, track))
		report := leftReport(attempt, completePart(0, from, from+3))
		report.People = []ingest.Person{{ID: "a", Name: name, JoinedAt: at(from)}}
		report.AudioTracks = []ingest.AudioTrack{reportedTrack(0, from+0.5, len(track), "a")}
		finisher.report(t, report)
	}
	manifest, err := finisher.FinishWithoutBot(t.Context(), finisher.input, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	finisher.check(t, manifest)
	var tracks []string
	for _, media := range manifest.Media {
		if media.Kind == recording.ParticipantAudio {
			tracks = append(tracks, fmt.Sprintf("%s %s %d", media.Name, media.ParticipantID, media.StartOffsetMs))
		}
	}
	if want := []string{"participant-001.m4a a 500", "participant-001-2.m4a a-2 10500"}; !slices.Equal(tracks, want) {
		t.Errorf("tracks = %q, want %q", tracks, want)
	}
	if gaps := manifest.Gaps; len(gaps) != 1 || gaps[0].EndMs != 10000 || manifest.Media[0].DurationMs < 5900 {
		t.Errorf("gaps %+v, media %+v; want the segments of both attempts", gaps, manifest.Media[0])
	}
}

// TestPackedParticipantAudio checks that files packed by the bot are used unchanged,
// and that a reported file without an upload is missing.
func TestPackedParticipantAudio(t *testing.T) {
	t.Parallel()
	for name, missing := range map[string]bool{"all": false, "one missing": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && !missing {
				t.Skip("long: make check-long")
			}
			finisher := newFinisherHarness(t)
			segments, track := splitSegments(t, encodeRecording(t, source{Seconds: 3})), encodeTrack(t, 2)
			packed := Packed{Files: []recording.File{finisher.packByBot(t, 0, segments)}}
			work, out := t.TempDir(), t.TempDir()
			report := leftReport(0, completePart(0, 0, 3))
			report.People, report.AudioTracks = roster(), []ingest.AudioTrack{reportedTrack(0, 0.5, len(track), "b")}
			bundle := filepath.Join(work, ingest.BundleName(0))
			if err := os.WriteFile(bundle, slices.Concat(bundles(t, []time.Time{at(0.5)}, [][]byte{slices.Concat(track...)})...),
				0o600); err != nil {
				t.Fatal(err)
			}
			report.AudioTracks[0].Segments = 1
			log := slog.New(slog.DiscardHandler)
			tracks, err := FindTracks([]string{bundle}, work, 0, report, log)
			if err == nil {
				err = PackTracks(t.Context(), &packed, tracks, out, log, func(recording.File) error { return nil })
			}
			if err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(filepath.Join(out, "participant-001.m4a"))
			if err != nil {
				t.Fatal(err)
			}
			put(t, finisher.recordings, finisher.id, 0, "participant-001.m4a", string(content))
			if missing {
				report.AudioTracks = append(report.AudioTracks, reportedTrack(1, 1, 4, ""))
			}
			put(t, finisher.recordings, finisher.id, 0, ingest.ReportName, marshal(FinalReport{
				Report: report, Media: packed.Files, PackedTracks: packed.Tracks,
			}))
			manifest, err := finisher.Finish(t.Context(), finisher.input)
			if err != nil {
				t.Fatal(err)
			}
			finisher.check(t, manifest)
			if len(manifest.Media) != 2 || manifest.Partial != missing {
				t.Fatalf("partial %v, media %+v", manifest.Partial, manifest.Media)
			}
			if media := manifest.Media[1]; media.ParticipantID != "b" || media.StartOffsetMs != 500 {
				t.Errorf("track is %+v", media)
			}
		})
	}
}

// TestTrackFiles checks that tracks that were appended to files while they were recorded are packed as those in bundles, unless
// a file lacks a segment.
func TestTrackFiles(t *testing.T) {
	t.Parallel()
	ada, ben := encodeTrack(t, 3), encodeTrack(t, 2)
	starts, log := []time.Time{at(0.5), at(1.25)}, slog.New(slog.DiscardHandler)
	report := ingest.Report{AudioTracks: []ingest.AudioTrack{reportedTrack(0, 0.5, len(ada), "a"), reportedTrack(1, 1.25, len(ben), "b")}}
	folder := t.TempDir()
	var paths []string
	for i, bundle := range bundles(t, starts, ada, ben) {
		paths = append(paths, filepath.Join(folder, ingest.BundleName(i)))
		if err := os.WriteFile(paths[i], bundle, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pack := func(tracks []SourceTrack) (packed Packed) {
		if err := PackTracks(t.Context(), &packed, tracks, t.TempDir(), log, func(recording.File) error { return nil }); err != nil {
			t.Fatal(err)
		}
		return packed
	}
	bundled, err := FindTracks(paths, folder, 0, report, log)
	if err != nil {
		t.Fatal(err)
	}
	want := pack(bundled)
	if len(want.Files) != 2 || want.Partial() {
		t.Fatalf("from bundles: %+v", want)
	}
	for name, test := range map[string]struct {
		missing int // sequence of Ada's segment that is not appended
		folder  string
		all     bool
	}{
		"all":       {-1, t.TempDir(), true},
		"one lost":  {2, t.TempDir(), false},
		"the last":  {len(ada) - 1, t.TempDir(), false},
		"disk full": {-1, "/dev/null/tracks", false},
	} {
		files := TrackFiles{Folder: test.folder}
		for track, segments := range [][][]byte{ada, ben} {
			for i, data := range segments {
				if track == 0 && i == test.missing {
					continue
				}
				err := files.Append([]TrackSegment{{Track: track, Sequence: i, StartedAt: starts[track], Data: data}})
				if (err != nil) != (name == "disk full" && i == 0) {
					t.Errorf("%s: segment %d of track %d: %v", name, i, track, err)
				}
			}
		}
		tracks, all := files.Tracks(0, report)
		if all != test.all {
			t.Errorf("%s: all %v", name, all)
		}
		if all {
			if got := pack(tracks); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
		}
	}
}
