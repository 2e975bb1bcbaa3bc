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

// encodeVideo renders one loop and encodes it to VP8 with ffmpeg, with a key frame at
// each full second, because an encoded stream cannot produce one on request.
func encodeVideo(ctx context.Context, design sourceDesign, q quality, path string) error {
	arguments := []string{
		"-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", fmt.Sprintf("%dx%d", q.width, q.height),
		"-framerate", fmt.Sprint(q.rate), "-i", "pipe:0",
		"-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "16", "-threads", "1",
		"-b:v", fmt.Sprint(q.bits), "-minrate", fmt.Sprint(q.bits * 6 / 10), "-maxrate", fmt.Sprint(q.bits * 14 / 10), "-bufsize",
		fmt.Sprint(q.bits),
		"-g", fmt.Sprint(q.rate), "-keyint_min", fmt.Sprint(q.rate),
		"-auto-alt-ref", "0", "-lag-in-frames", "0", "-error-resilient", "1",
		"-f", "ivf", path,
	}
	return runFFmpeg(ctx, arguments, func(pipe io.Writer) error {
		canvas, syllables := newCanvas(q.width, q.height), design.voice.syllables()
		for i := range int(loopLength.Seconds()) * q.rate {
			at := time.Duration(i) * time.Second / time.Duration(q.rate)
			design.scene.draw(canvas, at, loopLength, design.voice.loudness(syllables, at))
			if _, err := pipe.Write(canvas.planes); err != nil {
				return fmt.Errorf("write frame %d to ffmpeg: %w", i, err)
			}
		}
		return nil
	})
}

// encodeSamples encodes samples at 48 kHz to Opus with ffmpeg. Each Ogg page contains one
// packet, because the reader returns pages.
func encodeSamples(ctx context.Context, samples []int16, path string) error {
	arguments := []string{
		"-f", "s16le", "-ar", fmt.Sprint(sampleRate), "-ac", "1", "-i", "pipe:0",
		"-c:a", "libopus", "-b:a", "48k", "-application", "audio",
		"-frame_duration", fmt.Sprint(packetLength.Milliseconds()),
		"-page_duration", fmt.Sprint(packetLength.Microseconds()),
		"-f", "ogg", path,
	}
	return runFFmpeg(ctx, arguments, func(pipe io.Writer) error {
		if err := binary.Write(pipe, binary.LittleEndian, samples); err != nil {
			return fmt.Errorf("write samples to ffmpeg: %w", err)
		}
		return nil
	})
}

// runFFmpeg runs ffmpeg with the input that write writes.
func runFFmpeg(ctx context.Context, arguments []string, write func(io.Writer) error) error {
	command := exec.CommandContext(ctx, "ffmpeg",
		append([]string{"-hide_banner", "-nostdin", "-loglevel", "error", "-y"}, arguments...)...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	pipe, err := command.StdinPipe()
	if err != nil {
		return fmt.Errorf("open a pipe to ffmpeg: %w", err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start ffmpeg: %w", err)
	}
	writeErr := errors.Join(write(pipe), pipe.Close())
	if err := command.Wait(); err != nil {
		return fmt.Errorf("run ffmpeg: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return writeErr
}
