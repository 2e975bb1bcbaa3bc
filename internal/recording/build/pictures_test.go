package build

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/recording"
)

// encodePicture returns two seconds of video in IVF.
func encodePicture(t *testing.T, codec, size string) string {
	t.Helper()
	target, options := filepath.Join(t.TempDir(), "picture.ivf"), []string{"-f", "ivf"}
	if codec == "libx264" { // ffmpeg reads it in IVF, and does not write it
		options = []string{"-bf", "0", "-bsf:v", "h264_metadata=aud=insert", "-f", "h264"}
	}
	command := exec.CommandContext(t.Context(), needFFmpeg(t).FFmpeg, "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc=r=10:d=2:s="+size,
		"-pix_fmt", "yuv420p", "-c:v", codec)
	command.Args = append(append(command.Args, options...), target)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("encode a picture: %v: %s", err, output)
	}
	if codec != "libx264" {
		return target
	}
	stream, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}
	delimiter := []byte{0, 0, 0, 1, 9}
	file := append([]byte("DKIF\x00\x00\x20\x00H264"), 160, 0, 90, 0, 10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	for i, frame := range bytes.Split(stream, delimiter)[1:] {
		frame = append(slices.Clone(delimiter), frame...)
		file = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(file, uint32(len(frame))), uint64(i))
		file = append(file, frame...)
	}
	if err := os.WriteFile(target, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return target
}

// TestPackPictures packs the video of each participant into one file for each codec, in which each piece has its time, and tells
// where there is none.
func TestPackPictures(t *testing.T) {
	t.Parallel()
	vp8, small, h264 := encodePicture(t, "libvpx", "160x90"), encodePicture(t, "libvpx", "80x46"), encodePicture(t, "libx264", "160x90")
	upright := encodePicture(t, "libvpx", "90x160")
	vp9, av1 := encodePicture(t, "libvpx-vp9", "160x90"), encodePicture(t, "libaom-av1", "160x90")
	torn := filepath.Join(t.TempDir(), "torn")
	if err := os.WriteFile(torn, []byte("DKIF"), 0o600); err != nil {
		t.Fatal(err)
	}
	track := func(number int, from float64, person string, segments ...string) SourceTrack {
		return SourceTrack{Number: number, StartedAt: at(from), PersonID: person, Kind: recording.ParticipantVideo, Segments: segments}
	}
	shared, changed := track(4, 3, "a", vp8), track(5, 12, "b", vp8)
	shared.Kind, changed.OwnedUntil = recording.ScreenShare, at(13)
	packed := Packed{
		Files: []recording.File{{Name: "recording.m4a", Kind: recording.Audio, DurationMs: 20_000}},
		Parts: []PackedPart{{StartedAt: at(0), File: "recording.m4a", Length: 20 * time.Second}},
	}
	dir := t.TempDir()
	if err := PackTracks(t.Context(), &packed, []SourceTrack{
		track(0, 1, "a", vp8), track(1, 3, "a", small), track(2, 9, "a", vp8, ""), track(3, 5, "a", h264), shared, changed,
		track(6, 2, "", vp8), track(7, 4, "", vp8), track(8, 4, "b", torn), track(9, 14, "b", vp9), track(10, 16, "b", av1),
		track(11, 17, "a", upright),
	}, dir, slog.New(slog.DiscardHandler), func(recording.File) error { return nil }); err != nil {
		t.Fatal(err)
	}
	manifest := newManifest(ManifestInput{}, []ingest.Report{{People: roster()}}, packed, "https://standin.test")
	var got []string
	for _, file := range manifest.Media[1:] {
		got = append(got, fmt.Sprintf("%s %s %s %s of %q from %d", file.Name, file.Kind, file.ContentType, file.Codecs, file.ParticipantID, file.StartOffsetMs))
		if picture, err := needFFmpeg(t).probeFile(t.Context(), filepath.Join(dir, file.Name)); err != nil || picture.Duration.Milliseconds() != file.DurationMs {
			t.Errorf("%s: %+v, %v", file.Name, picture, err)
		}
	}
	want := []string{
		`video-001.webm participant_video video/webm vp8 of "a" from 1000`,
		`video-007.webm participant_video video/webm vp8 of "" from 2000`,
		`screen-005.webm screen_share video/webm vp8 of "a" from 3000`,
		`video-008.webm participant_video video/webm vp8 of "" from 4000`,
		`video-004.mp4 participant_video video/mp4 avc1.64000A of "a" from 5000`,
		`video-006.webm participant_video video/webm vp8 of "b" from 12000`,
		`video-010.webm participant_video video/webm vp9 of "b" from 14000`,
		`video-011.webm participant_video video/webm av01.0.00M.08 of "b" from 16000`,
		`video-012.webm participant_video video/webm vp8 of "a" from 17000`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("files\n%q, want\n%q", got, want)
	}
	gaps := []recording.VideoGap{{Name: "video-001.webm", StartMs: 5000, EndMs: 9000}}
	if !slices.Equal(manifest.VideoGaps, gaps) {
		t.Errorf("gaps %+v, want %+v", manifest.VideoGaps, gaps)
	}
	if lengths := []int64{manifest.Media[1].DurationMs, manifest.Media[6].DurationMs}; lengths[0] != 10_000 || lengths[1] > 1100 {
		t.Errorf("lengths %v", lengths)
	}
	if losses := packed.Losses(); len(losses) != 2 {
		t.Errorf("losses %q", losses)
	}
}
