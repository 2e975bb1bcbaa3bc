// Package mediacheck decodes a recording with ffmpeg and reports its streams and the
// times of flashes and beeps. Tests use it to check recordings by their decoded
// content.
package mediacheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"strconv"
	"strings"
)

// Report describes the content of a file. Times are milliseconds from the file's
// time 0.
type Report struct {
	// DurationMs is the duration in the container or, if it has none, the end of
	// the last decoded frame or sample.
	DurationMs float64
	// Width and Height are the size of the video in pixels.
	Width, Height int
	// VideoCodec and AudioCodec are ffmpeg's codec names, such as h264 and opus, or
	// empty if there is no such stream.
	VideoCodec, AudioCodec string
	// Frames is the number of decoded frames.
	Frames int
	// VideoStartMs and VideoEndMs are the times of the first and last frame.
	VideoStartMs, VideoEndMs float64
	// LongestFrameGapMs is the longest duration of a frame, and LongestFrameAtMs the
	// time of that frame.
	LongestFrameGapMs, LongestFrameAtMs float64
	// AudioEndMs is the end of the last decoded sample.
	AudioEndMs float64
	// FlashesMs and BeepsMs are the onsets of flashes and beeps.
	FlashesMs, BeepsMs []float64
	// BlackBorders means that two opposite edges are black in all frames, because
	// the video was scaled from another aspect ratio.
	BlackBorders bool
}

// Pair is a flash and the beep that belongs to it.
type Pair struct {
	FlashMs, BeepMs float64
}

// DifferenceMs returns how much later the beep is than the flash.
func (p Pair) DifferenceMs() float64 { return p.BeepMs - p.FlashMs }

// pairingRangeMs is the maximum distance between a flash and its beep. Both occur
// once a second.
const pairingRangeMs = 450

// Pairs matches each flash with the nearest beep and omits flashes without one.
func (r Report) Pairs() []Pair {
	var pairs []Pair
	for _, flash := range r.FlashesMs {
		nearest := math.Inf(1)
		for _, beep := range r.BeepsMs {
			if math.Abs(beep-flash) < math.Abs(nearest-flash) {
				nearest = beep
			}
		}
		if math.Abs(nearest-flash) <= pairingRangeMs {
			pairs = append(pairs, Pair{FlashMs: flash, BeepMs: nearest})
		}
	}
	return pairs
}

// MissingToolError reports that ffmpeg or ffprobe is not installed.
type MissingToolError struct {
	Tool string
}

// Error includes what to install.
func (e *MissingToolError) Error() string {
	return e.Tool + " is not installed; on Debian and Ubuntu: apt-get install ffmpeg"
}

// Available returns a *MissingToolError if ffmpeg or ffprobe is not installed.
func Available() error {
	for _, tool := range []string{"ffmpeg", "ffprobe"} {
		if _, err := exec.LookPath(tool); err != nil {
			return &MissingToolError{Tool: tool}
		}
	}
	return nil
}

// DecodeError reports that a file cannot be decoded without errors.
type DecodeError struct {
	// Output is the output of the decoder.
	Output string
	Cause  error
}

// Error includes the output.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("decode: %v: %s", e.Cause, strings.TrimSpace(e.Output))
}

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Cause }

// Decode decodes the whole file.
func Decode(ctx context.Context, file string) (Report, error) {
	if err := Available(); err != nil {
		return Report{}, err
	}
	report, err := probe(ctx, file)
	if err != nil {
		return Report{}, err
	}
	var end float64
	if report.VideoCodec != "" {
		video, err := decodeVideo(ctx, file)
		if err != nil {
			return Report{}, err
		}
		video.describe(&report)
		end = report.VideoEndMs
	}
	if report.AudioCodec != "" {
		samples, err := decodeAudio(ctx, file)
		if err != nil {
			return Report{}, err
		}
		report.AudioEndMs = float64(len(samples)) * 1000 / sampleRate
		report.BeepsMs = findTones(samples, beepHz)
		end = max(end, report.AudioEndMs)
	}
	if report.DurationMs == 0 {
		report.DurationMs = end
	}
	return report, nil
}

// probe reads the metadata of the container.
func probe(ctx context.Context, file string) (Report, error) {
	output, err := run(ctx, "ffprobe", "-v", "error", "-show_streams", "-show_format", "-of", "json", "--", file)
	if err != nil {
		return Report{}, err
	}
	var found struct {
		Streams []struct {
			Kind   string `json:"codec_type"`
			Codec  string `json:"codec_name"`
			Width  int    `json:"width"`
			Height int    `json:"height"`
		} `json:"streams"`
		Format struct {
			Duration string `json:"duration"`
		} `json:"format"`
	}
	if err := json.Unmarshal(output, &found); err != nil {
		return Report{}, fmt.Errorf("decode the output of ffprobe: %w", err)
	}
	var report Report
	for _, stream := range found.Streams {
		switch {
		case stream.Kind == "video" && report.VideoCodec == "":
			report.VideoCodec, report.Width, report.Height = stream.Codec, stream.Width, stream.Height
		case stream.Kind == "audio" && report.AudioCodec == "":
			report.AudioCodec = stream.Codec
		}
	}
	if report.VideoCodec == "" && report.AudioCodec == "" {
		return Report{}, errors.New("the file has neither video nor audio")
	}
	if seconds, err := strconv.ParseFloat(found.Format.Duration, 64); err == nil {
		report.DurationMs = seconds * 1000
	}
	return report, nil
}

// run runs a decoder, which prints only errors to standard error, and returns its
// output. Output on standard error is a failure.
func run(ctx context.Context, tool string, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, tool, arguments...)
	var output, stderr bytes.Buffer
	command.Stdout, command.Stderr = &output, &stderr
	err := command.Run()
	if err == nil && stderr.Len() > 0 {
		err = errors.New(tool + " printed errors")
	}
	if err != nil {
		return nil, &DecodeError{Output: stderr.String(), Cause: err}
	}
	return output.Bytes(), nil
}
