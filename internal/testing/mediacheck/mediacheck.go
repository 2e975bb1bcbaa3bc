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
	"os"
	"os/exec"
	"path/filepath"
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
	decoded, err := decodeStreams(ctx, file, report.VideoCodec != "", report.AudioCodec != "")
	if err != nil {
		return Report{}, err
	}
	decoded.video.describe(&report)
	report.AudioEndMs = float64(len(decoded.samples)) * 1000 / sampleRate
	report.BeepsMs = findTones(decoded.samples, beepHz)
	if report.DurationMs == 0 {
		report.DurationMs = max(report.VideoEndMs, report.AudioEndMs)
	}
	return report, nil
}

// streams are the decoded streams of a file.
type streams struct {
	video   video
	samples []float32
}

// decodeStreams decodes the first streams of a file in one run of ffmpeg.
func decodeStreams(ctx context.Context, file string, hasVideo, hasAudio bool) (decoded streams, err error) {
	folder, err := os.MkdirTemp("", "standin-mediacheck-")
	if err != nil {
		return streams{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	times, cells, samples := filepath.Join(folder, "times"), filepath.Join(folder, "cells"), filepath.Join(folder, "samples")
	// Without reinit_filter, the numbers of frames begin again when the video has another size.
	arguments := []string{"-v", "error", "-nostdin", "-threads", "1", "-copyts", "-reinit_filter", "0", "-i", file}
	if hasVideo {
		// -vsync 0 neither drops nor duplicates frames. Without -enc_time_base, times
		// are rounded to the frame rate.
		arguments = append(arguments, "-filter_complex", cellsFilter,
			"-map", "[timed]", "-vsync", "0", "-enc_time_base", "1:90000", "-f", "framecrc", times, "-map", "[cells]", "-vsync", "0", "-f",
			"rawvideo", cells)
	}
	if hasAudio {
		arguments = append(arguments, "-map", "0:a:0", "-af", audioFilter, "-ac", "1", "-f", "f32le", samples)
	}
	if _, err := run(ctx, "ffmpeg", arguments...); err != nil {
		return streams{}, err
	}
	if hasVideo {
		text, err := os.ReadFile(times)
		if err != nil {
			return streams{}, err
		}
		content, err := os.ReadFile(cells)
		if err != nil {
			return streams{}, err
		}
		if decoded.video, err = parseVideo(string(text), content); err != nil {
			return streams{}, err
		}
	}
	if hasAudio {
		content, err := os.ReadFile(samples)
		if err != nil {
			return streams{}, err
		}
		decoded.samples = parseAudio(content)
	}
	return decoded, nil
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
