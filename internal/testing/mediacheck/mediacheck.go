// Package mediacheck decodes a recording with ffmpeg and tells what is in it:
// its streams, and when the picture flashed and the sound beeped. Tests use it
// to judge a recording by what a viewer would see and hear. It must know
// nothing about how recordings are made.
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

// Report is what a file holds. Times are milliseconds on the file's own clock.
type Report struct {
	// DurationMs is the duration that the container states, or, where it
	// states none, the end of the last decoded frame or sample.
	DurationMs float64
	// Width and Height are those of the picture in pixels.
	Width, Height int
	// VideoCodec and AudioCodec are ffmpeg's names, such as h264 and opus;
	// empty when there is no such stream.
	VideoCodec, AudioCodec string
	// Frames is how many pictures were decoded.
	Frames int
	// VideoStartMs and VideoEndMs are the times of the first and last frame.
	VideoStartMs, VideoEndMs float64
	// LongestFrameGapMs is the longest time for which one frame stands, and
	// LongestFrameAtMs where that frame begins.
	LongestFrameGapMs, LongestFrameAtMs float64
	// AudioEndMs is the end of the last decoded sample.
	AudioEndMs float64
	// FlashesMs and BeepsMs are the onsets of flashes and beeps.
	FlashesMs, BeepsMs []float64
	// BlackBorders tells that the decoded picture has black bars along two
	// opposite edges throughout, as a scaled picture of another shape has.
	BlackBorders bool
}

// Pair is a flash and the beep that belongs to it.
type Pair struct {
	FlashMs, BeepMs float64
}

// DifferenceMs is how much later the beep is than the flash.
func (p Pair) DifferenceMs() float64 { return p.BeepMs - p.FlashMs }

// pairingRangeMs is within which a beep belongs to a flash, both of which come
// once a second.
const pairingRangeMs = 450

// Pairs matches each flash with the nearest beep. A flash without a beep near
// it is left out.
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

// MissingToolError says that ffmpeg or ffprobe is not installed.
type MissingToolError struct {
	Tool string
}

// Error says what to install.
func (e *MissingToolError) Error() string {
	return e.Tool + " is not installed; on Debian and Ubuntu: apt-get install ffmpeg"
}

// Available returns nil when ffmpeg and ffprobe are installed, else a
// *MissingToolError.
func Available() error {
	for _, tool := range []string{"ffmpeg", "ffprobe"} {
		if _, err := exec.LookPath(tool); err != nil {
			return &MissingToolError{Tool: tool}
		}
	}
	return nil
}

// DecodeError is a file that cannot be decoded without complaint.
type DecodeError struct {
	// Output is what the decoder printed.
	Output string
	Cause  error
}

// Error tells what the decoder printed.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("decoding: %v: %s", e.Cause, strings.TrimSpace(e.Output))
}

// Unwrap returns how the decoder ended.
func (e *DecodeError) Unwrap() error { return e.Cause }

// Decode reads and decodes the whole file.
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
		picture, err := decodePicture(ctx, file)
		if err != nil {
			return Report{}, err
		}
		picture.describe(&report)
		end = report.VideoEndMs
	}
	if report.AudioCodec != "" {
		samples, err := decodeSound(ctx, file)
		if err != nil {
			return Report{}, err
		}
		report.AudioEndMs = float64(len(samples)) * 1000 / sampleRate
		report.BeepsMs = findBeeps(samples)
		end = max(end, report.AudioEndMs)
	}
	if report.DurationMs == 0 {
		report.DurationMs = end
	}
	return report, nil
}

// probe reads what the container states.
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
		return Report{}, fmt.Errorf("reading ffprobe's answer: %w", err)
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
		return Report{}, errors.New("the file holds neither picture nor sound")
	}
	if seconds, err := strconv.ParseFloat(found.Format.Duration, 64); err == nil {
		report.DurationMs = seconds * 1000
	}
	return report, nil
}

// run runs a decoder and returns its output. What it prints to standard error
// counts as a failure: it is told to print errors only.
func run(ctx context.Context, tool string, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, tool, arguments...)
	var output, complaints bytes.Buffer
	command.Stdout, command.Stderr = &output, &complaints
	err := command.Run()
	if err == nil && complaints.Len() > 0 {
		err = errors.New(tool + " complained")
	}
	if err != nil {
		return nil, &DecodeError{Output: complaints.String(), Cause: err}
	}
	return output.Bytes(), nil
}
