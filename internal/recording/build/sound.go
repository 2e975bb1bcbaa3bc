package build

import (
	"context"
	"fmt"
	"slices"
	"strconv"
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
	if err != nil {
		return fmt.Errorf("decode a sound: %w", err)
	}
	return nil
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
	fit := fmt.Sprintf("scale=%[1]d:%[2]d:force_original_aspect_ratio=decrease:flags=area,pad=%[1]d:%[2]d:-1:-1,setsar=1,format=yuvj420p", form.Width, form.Height)
	formats, which, quality := pictureFormats, []string{"-frames:v", "1"}, []string{"-q:v", "3"}
	if form.Rate > 0 {
		const bitRate = "3M" // a camera's, which keeps Length within Bytes
		formats, which = videoFormats, []string{"-t", seconds(form.Length)}
		fit = fmt.Sprintf("fps=%d,", form.Rate) + fit
		quality = []string{"-b:v", bitRate, "-maxrate", bitRate, "-bufsize", bitRate, "-qmin", "3", "-qmax", "31"}
	}
	arguments := slices.Concat(
		[]string{"-nostdin", "-v", "error", "-y", "-threads", "1", "-format_whitelist", formats, "-max_pixels", strconv.Itoa(maxPixels), "-i", from, "-map", "0:v:0"},
		which, []string{"-vf", fit, "-c:v", "mjpeg"}, quality, []string{"-f", "mjpeg", to},
	)
	if _, err := runTool(ctx, limits, t.FFmpeg, arguments...); err != nil {
		return fmt.Errorf("decode pictures: %w", err)
	}
	return nil
}
