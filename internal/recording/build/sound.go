package build

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// soundFormats lists the formats of sounds that consumers send. Like allowedFormats it
// excludes those that refer to other files.
const soundFormats = allowedFormats + ",mp3,wav,flac,aac"

// DecodeSound decodes the sound in a file of a consumer to PCM S16LE, mono, 48 kHz, and
// writes at most a length of it. If the file cannot be decoded, RejectedInput is true for
// the error.
func (t Tools) DecodeSound(ctx context.Context, from, to string, length time.Duration) error {
	limits := toolLimits{Time: time.Minute, Memory: 2 << 30, FileSize: int64(length.Seconds()+1) * 48_000 * 2}
	_, err := runTool(ctx, limits, t.FFmpeg, "-nostdin", "-v", "error", "-y", "-threads", "1", "-format_whitelist", soundFormats, "-i", from,
		"-map", "0:a:0", "-t", seconds(length), "-ac", "1", "-ar", "48000", "-f", "s16le", to)
	return err
}

// pictureFormats lists the formats of images that consumers send, and videoFormats those of
// videos.
const (
	pictureFormats = "png_pipe,jpeg_pipe,webp_pipe,gif,bmp_pipe"
	videoFormats   = allowedFormats + ",gif,avi"
)

// maxPixels limits the size of an image or a video that is decoded.
const maxPixels = 50_000_000

// Pictures are the form in which DecodePictures writes pictures.
type Pictures struct {
	Width, Height int           // the picture is fitted into it, with black borders
	Rate          int           // pictures per second; 0: only the first one
	Length        time.Duration // maximum
	Bytes         int64         // maximum
}

// DecodePictures decodes an image or a video of a consumer to JPEG images, one after the
// other in one file. If the file cannot be decoded, RejectedInput is true for the error.
func (t Tools) DecodePictures(ctx context.Context, from, to string, form Pictures) error {
	limits := toolLimits{Time: 2 * time.Minute, Memory: 3 << 30, FileSize: form.Bytes + 1<<20}
	fit := fmt.Sprintf("scale=%[1]d:%[2]d:force_original_aspect_ratio=decrease:flags=area,pad=%[1]d:%[2]d:-1:-1,setsar=1,format=yuvj420p",
		form.Width, form.Height)
	formats, which, quality := pictureFormats, []string{"-frames:v", "1"}, []string{"-q:v", "3"}
	if form.Rate > 0 {
		const bitRate = "3M" // a camera's, which keeps Length within Bytes
		formats, which = videoFormats, []string{"-t", seconds(form.Length)}
		fit = fmt.Sprintf("fps=%d,", form.Rate) + fit
		quality = []string{"-b:v", bitRate, "-maxrate", bitRate, "-bufsize", bitRate, "-qmin", "3", "-qmax", "31"}
	}
	arguments := slices.Concat(
		[]string{
			"-nostdin", "-v", "error", "-y", "-threads", "1", "-format_whitelist", formats, "-max_pixels", strconv.Itoa(maxPixels), "-i", from,
			"-map", "0:v:0",
		},
		which, []string{"-vf", fit, "-c:v", "mjpeg"}, quality, []string{"-f", "mjpeg", to},
	)
	_, err := runTool(ctx, limits, t.FFmpeg, arguments...)
	return err
}

// Span is a section of a media file.
type Span struct{ Start, End time.Duration }

// Length returns the length of the span.
func (s Span) Length() time.Duration { return s.End - s.Start }

// silenceWindow is how much of a file one run of ffmpeg searches for silences, so
// that its output is bounded.
const silenceWindow = 30 * time.Minute

// Silences returns the silences of at least minimum in a span of a media file, in
// order: no sample of any channel is above level, in dBFS.
func (t Tools) Silences(ctx context.Context, file string, in Span, minimum time.Duration, level int) ([]Span, error) {
	limits, err := limitsForFiles(file)
	if err != nil {
		return nil, err
	}
	var silences []Span
	for start := in.Start; start < in.End; start += silenceWindow {
		window := Span{start, min(start+silenceWindow, in.End)}
		output, err := runTool(ctx, limits, t.FFmpeg, "-nostdin", "-v", "error", "-format_whitelist", allowedFormats,
			"-ss", seconds(window.Start), "-t", seconds(window.Length()), "-i", file, "-map", "0:a:0", "-vn",
			"-af", fmt.Sprintf("silencedetect=noise=%ddB:d=%s,ametadata=print:file=-", level, seconds(minimum)), "-f", "null", "-")
		if err != nil {
			return nil, err
		}
		silences = append(silences, parseSilences(string(output), window)...)
	}
	// A silence across the border of two windows is found as two.
	joined := silences[:0]
	for _, silence := range silences {
		if last := len(joined) - 1; last >= 0 && silence.Start <= joined[last].End {
			joined[last].End = silence.End
			continue
		}
		joined = append(joined, silence)
	}
	return slices.Clip(joined), nil
}

// parseSilences parses the metadata that silencedetect prints for a window.
func parseSilences(output string, window Span) (silences []Span) {
	start := time.Duration(-1)
	for text := range strings.Lines(output) {
		key, value, _ := strings.Cut(strings.TrimSpace(text), "=")
		number, err := strconv.ParseFloat(value, 64)
		if err != nil || !(number <= silenceWindow.Seconds()) { // NaN is neither
			continue
		}
		at := min(window.Start+time.Duration(max(0, number)*float64(time.Second)), window.End)
		switch key {
		case "lavfi.silence_start":
			start = at
		case "lavfi.silence_end":
			if start >= 0 && at > start {
				silences = append(silences, Span{start, at})
			}
			start = -1
		}
	}
	if start >= 0 && start < window.End {
		silences = append(silences, Span{start, window.End}) // the window ends in silence
	}
	return silences
}

// SpeechRate is the number of samples per second of ExtractSpeech.
const SpeechRate = 16000

// ExtractSpeech writes a span of the audio of a media file to a WAV file with one
// channel and 16 bits per sample, the format that all speech recognizers accept.
func (t Tools) ExtractSpeech(ctx context.Context, file string, span Span, wav string) error {
	limits, err := limitsForFiles(file)
	if err != nil {
		return err
	}
	limits.FileSize = int64(span.Length().Seconds()+10)*2*SpeechRate + 4096
	_, err = runTool(ctx, limits, t.FFmpeg, "-nostdin", "-v", "error", "-y", "-format_whitelist", allowedFormats,
		"-ss", seconds(span.Start), "-t", seconds(span.Length()), "-i", file, "-map", "0:a:0", "-vn",
		"-ac", "1", "-ar", strconv.Itoa(SpeechRate), "-c:a", "pcm_s16le", "-f", "wav", wav)
	return err
}

// seconds returns a duration as an argument of ffmpeg.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
