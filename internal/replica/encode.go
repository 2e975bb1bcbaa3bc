package replica

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

const (
	packetLength  = 20 * time.Millisecond
	packetSamples = int64(packetLength * sampleRate / time.Second)
)

// encodePicture renders one loop and has ffmpeg encode it to VP8. The key
// pictures stand exactly on whole seconds: a prepared stream cannot make one
// when a receiver asks, so the next one must never be far.
func encodePicture(ctx context.Context, design sourceDesign, q quality, path string) error {
	arguments := []string{
		"-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", fmt.Sprintf("%dx%d", pictureWidth, pictureHeight),
		"-framerate", fmt.Sprint(q.rate), "-i", "pipe:0", "-vf", fmt.Sprintf("scale=%d:%d", q.width, q.height),
		"-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "16", "-threads", "1",
		"-b:v", fmt.Sprint(q.bits), "-minrate", fmt.Sprint(q.bits * 6 / 10), "-maxrate", fmt.Sprint(q.bits * 14 / 10), "-bufsize", fmt.Sprint(q.bits),
		"-g", fmt.Sprint(q.rate), "-keyint_min", fmt.Sprint(q.rate),
		"-auto-alt-ref", "0", "-lag-in-frames", "0", "-error-resilient", "1",
		"-f", "ivf", path,
	}
	return runFFmpeg(ctx, arguments, func(pipe io.Writer) error {
		picture, syllables := newCanvas(), design.voice.syllables()
		for i := range int(loopLength.Seconds()) * q.rate {
			at := time.Duration(i) * time.Second / time.Duration(q.rate)
			design.scene.draw(picture, at, loopLength, design.voice.loudness(syllables, at))
			if _, err := pipe.Write(picture); err != nil {
				return fmt.Errorf("hand picture %d to ffmpeg: %w", i, err)
			}
		}
		return nil
	})
}

// encodeSound renders one loop and has ffmpeg encode it to Opus, one packet to
// an Ogg page, which is the unit that the reader gives back.
func encodeSound(ctx context.Context, design sourceDesign, path string) error {
	arguments := []string{
		"-f", "s16le", "-ar", fmt.Sprint(sampleRate), "-ac", "1", "-i", "pipe:0",
		"-c:a", "libopus", "-b:a", "48k", "-application", "audio",
		"-frame_duration", fmt.Sprint(packetLength.Milliseconds()),
		"-page_duration", fmt.Sprint(packetLength.Microseconds()),
		"-f", "ogg", path,
	}
	return runFFmpeg(ctx, arguments, func(pipe io.Writer) error {
		if err := binary.Write(pipe, binary.LittleEndian, design.voice.samples(loopLength)); err != nil {
			return fmt.Errorf("hand samples to ffmpeg: %w", err)
		}
		return nil
	})
}

// runFFmpeg runs one encoding, fed by feed, and tells what ffmpeg said if it
// fails.
func runFFmpeg(ctx context.Context, arguments []string, feed func(io.Writer) error) error {
	command := exec.CommandContext(ctx, "ffmpeg",
		append([]string{"-hide_banner", "-nostdin", "-loglevel", "error", "-y"}, arguments...)...)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	pipe, err := command.StdinPipe()
	if err != nil {
		return fmt.Errorf("open a pipe to ffmpeg: %w", err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start ffmpeg: %w", err)
	}
	feedErr := errors.Join(feed(pipe), pipe.Close())
	if err := command.Wait(); err != nil {
		return fmt.Errorf("run ffmpeg: %w: %s", err, strings.TrimSpace(complaint.String()))
	}
	return feedErr
}
