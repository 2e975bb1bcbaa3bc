package doctor

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"standin/internal/recording/build"
)

// sample is one second of a bot's recording: H.264 and Opus in a fragmented MP4.
//
//go:embed sample.mp4
var sample []byte

// checkFFmpeg finds ffmpeg and ffprobe, and packs a second of recording with them
// as every recording is packed.
func checkFFmpeg(ctx context.Context) Check {
	const name = checkName("ffmpeg")
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	tools, err := build.FindTools()
	if err != nil {
		return name.fail("not found", err.Error())
	}
	description := fmt.Sprintf("%s (%s)", ffmpegVersion(ctx, tools.FFmpeg), tools.FFmpeg)
	if err := packSample(ctx); err != nil {
		return name.fail(description+" cannot finish a recording: "+err.Error(),
			"install a complete ffmpeg (Debian, Ubuntu: apt-get install ffmpeg), and make sure that the folder for temporary files is writable")
	}
	if missing := missingEncoders(ctx, tools.FFmpeg); len(missing) > 0 {
		return name.warn(fmt.Sprintf("%s finishes recordings, but has no %s", description, strings.Join(missing, " and no ")),
			"standin demo needs it for its meeting; install a complete ffmpeg (Debian, Ubuntu: apt-get install ffmpeg)")
	}
	return name.ok("%s finishes recordings and encodes for standin demo", description)
}

// packSample packs the sample and checks that all of it is there.
func packSample(ctx context.Context) (err error) {
	folder, err := os.MkdirTemp("", "standin-doctor-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	segment := filepath.Join(folder, "segment.mp4")
	if err := os.WriteFile(segment, sample, 0o600); err != nil {
		return err
	}
	packed, err := build.Pack(ctx, []build.SourcePart{{Segments: []string{segment}}}, folder)
	if err != nil {
		return err
	}
	const minLength = 900 * time.Millisecond // of a second
	left := packed.Parts[0]
	if packed.Partial() || left.Length < minLength || !strings.Contains(packed.Files[0].Codecs, "avc1") || !strings.Contains(packed.Files[0].Codecs, "opus") {
		return fmt.Errorf("of a second of recording there is %v left, %s", left.Length, packed.Files[0].Codecs)
	}
	return nil
}

// ffmpegVersion returns ffmpeg's version.
func ffmpegVersion(ctx context.Context, executable string) string {
	out, err := exec.CommandContext(ctx, executable, "-version").Output()
	words := strings.Fields(string(out))
	if err != nil || len(words) < 3 || words[1] != "version" {
		return "an ffmpeg of unknown version"
	}
	return "ffmpeg " + words[2]
}

// missingEncoders encodes a tenth of a second with each of the replica's encoders
// and returns those that fail.
func missingEncoders(ctx context.Context, executable string) []string {
	var missing []string
	for _, encoder := range []struct{ name, source, kind string }{
		{"libvpx", "testsrc2=size=64x36:rate=10:duration=0.1", "-c:v"},
		{"libopus", "sine=sample_rate=48000:duration=0.1", "-c:a"},
	} {
		command := exec.CommandContext(ctx, executable, "-nostdin", "-v", "error",
			"-f", "lavfi", "-i", encoder.source, encoder.kind, encoder.name, "-f", "null", "-")
		if command.Run() != nil {
			missing = append(missing, encoder.name)
		}
	}
	return missing
}
