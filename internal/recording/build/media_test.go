package build

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"standin/internal/bot/ingest"
	"standin/internal/testing/mediacheck"
)

// needFFmpeg returns the tools. If one is missing, it skips the test, or fails it in
// CI.
func needFFmpeg(t *testing.T) Tools {
	t.Helper()
	tools, err := FindTools()
	if err == nil {
		return tools
	}
	if os.Getenv("CI") != "" {
		t.Fatal(err)
	}
	t.Skip(err)
	return Tools{}
}

// source describes a test recording. It has a white flash of 0.1 s at the
// beginning of each second, and a beep of 0.1 s, BeepDelay later.
type source struct {
	Seconds   float64
	Width     int     // default 320
	BeepDelay float64 // seconds
	Late      float64 // seconds by which video begins after audio
	NoSound   bool
	NoPicture bool
}

// encodeRecording returns a fragmented MP4 with H.264 at a variable frame rate and
// Opus, as the recorder produces.
func encodeRecording(t *testing.T, source source) []byte {
	t.Helper()
	tools := needFFmpeg(t)
	if source.Width == 0 {
		source.Width = 320
	}
	return once(t, source, func() ([]byte, error) { return source.encode(t.Context(), tools, t.TempDir()) })
}

// encode encodes the recording in a folder.
func (source source) encode(ctx context.Context, tools Tools, folder string) ([]byte, error) {
	length := strconv.FormatFloat(source.Seconds, 'f', -1, 64)
	picture := fmt.Sprintf("color=black:s=%dx180:r=30:d=%s,"+
		"drawbox=t=fill:c=white:enable='lt(mod(t,1),0.1)',"+
		// Frames 5, 15, 25, … are omitted for a variable frame rate.
		"select='not(eq(mod(n,10),5))'", source.Width, length)
	sound := fmt.Sprintf("aevalsrc='if(between(mod(t,1),%[1]g,%[1]g+0.1),0.8*sin(2*PI*1000*t),0)':s=48000:d=%[2]s",
		source.BeepDelay, length)
	arguments := []string{"-nostdin", "-v", "error", "-f", "lavfi",
		"-itsoffset", strconv.FormatFloat(source.Late, 'f', -1, 64), "-i", picture}
	if !source.NoSound {
		arguments = append(arguments, "-f", "lavfi", "-i", sound, "-c:a", "libopus", "-b:a", "48k")
	}
	target := filepath.Join(folder, "source.mp4")
	if source.NoPicture {
		arguments = append(arguments, "-map", "1:a")
	}
	arguments = append(arguments, "-fps_mode", "vfr", "-c:v", "libx264", "-preset", "ultrafast", "-bf", "0",
		"-pix_fmt", "yuv420p", "-g", "30", "-threads", "1",
		"-movflags", "+frag_keyframe+empty_moov+default_base_moof", "-f", "mp4", target)
	if output, err := exec.CommandContext(ctx, tools.FFmpeg, arguments...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("encode a source: %w: %s", err, output)
	}
	return os.ReadFile(target)
}

// splitSegments splits a recording into its header and a segment for each fragment.
func splitSegments(t *testing.T, data []byte) [][]byte {
	t.Helper()
	var segments [][]byte
	start := 0
	for offset := 0; offset < len(data); {
		kind := string(data[offset+4 : offset+8])
		offset += int(binary.BigEndian.Uint32(data[offset:]))
		if kind == "moov" || kind == "mdat" {
			segments = append(segments, data[start:offset])
			start = offset
		}
	}
	return segments
}

// writeSegments writes a part's segments to a folder, except nil ones.
func writeSegments(t *testing.T, folder string, part int, segments [][]byte) {
	t.Helper()
	for sequence, segment := range segments {
		if segment == nil {
			continue
		}
		path := filepath.Join(folder, ingest.SegmentName(part, sequence))
		if err := os.WriteFile(path, segment, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// decoded returns the content of a file with a checksum.
func decoded(t *testing.T, path, checksum string) mediacheck.Report {
	t.Helper()
	type key string
	return once(t, key(checksum), func() (mediacheck.Report, error) { return mediacheck.Decode(t.Context(), path) })
}

// packAll packs the parts in a folder.
func packAll(ctx context.Context, folder, out string, reported ingest.Report) (Packed, error) {
	parts, err := FindParts(folder, 0, reported)
	if err != nil {
		return Packed{}, err
	}
	return Pack(ctx, parts, nil, out)
}
