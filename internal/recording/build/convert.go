package build

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"standin/internal/recording"
)

// Conversion makes a file from the video or mixed audio of a recording.
type Conversion struct {
	Name        string // of the file
	ContentType string
	NeedsVideo  bool

	before    func(source recording.File) []string // arguments of ffmpeg before the input; may be nil
	arguments func(source recording.File) []string // arguments of ffmpeg between input and output
	perSecond int64                                // most bytes per second of the recording
}

const (
	thumbnailWidth = 640
	sheetWidth     = 320 // of one picture of the contact sheet
	sheetColumns   = 4
	sheetPictures  = sheetColumns * sheetColumns
)

// conversions returns the files that can be made from a recording.
func conversions() []Conversion {
	return []Conversion{
		{
			Name: "recording.mp3", ContentType: "audio/mpeg", perSecond: 24_000,
			arguments: func(recording.File) []string {
				return []string{"-map", "0:a:0", "-vn", "-c:a", "libmp3lame", "-b:a", "96k", "-f", "mp3"}
			},
		},
		{
			Name: "recording.wav", ContentType: "audio/wav", perSecond: 200_000,
			arguments: func(recording.File) []string {
				return []string{"-map", "0:a:0", "-vn", "-c:a", "pcm_s16le", "-ar", "48000", "-rf64", "auto", "-f", "wav"}
			},
		},
		{
			Name: "recording.webm", ContentType: "video/webm", perSecond: 500_000,
			arguments: func(source recording.File) []string {
				audio := []string{"-map", "0:a:0?", "-c:a", "copy"}
				if !strings.Contains(source.Codecs, "opus") {
					audio = []string{"-map", "0:a:0?", "-c:a", "libopus", "-b:a", "64k"}
				}
				video := []string{"-map", "0:v:0", "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "1200k", "-g", "60"}
				if source.Kind == recording.Audio {
					video = []string{"-vn"}
				}
				return append(slices.Concat(video, audio), "-f", "webm")
			},
		},
		{
			Name: "thumbnail.jpg", ContentType: "image/jpeg", NeedsVideo: true,
			before: func(source recording.File) []string {
				return []string{"-ss", seconds(time.Duration(source.DurationMs) * time.Millisecond / 3)}
			},
			arguments: func(recording.File) []string {
				return []string{
					"-map", "0:v:0", "-an", "-frames:v", "1", "-vf", "scale=" + strconv.Itoa(thumbnailWidth) + ":-2", "-q:v", "4", "-f", "mjpeg",
				}
			},
		},
		{
			Name: "contact-sheet.jpg", ContentType: "image/jpeg", NeedsVideo: true,
			before: func(recording.File) []string { return []string{"-skip_frame", "nokey"} }, // only key frames are decoded
			arguments: func(source recording.File) []string {
				duration := max(time.Duration(source.DurationMs)*time.Millisecond, time.Second)
				filter := fmt.Sprintf("fps=%d/%s,scale=%d:-2,tile=%dx%d", sheetPictures, seconds(duration), sheetWidth, sheetColumns,
					sheetPictures/sheetColumns)
				return []string{"-map", "0:v:0", "-an", "-frames:v", "1", "-vf", filter, "-q:v", "4", "-f", "mjpeg"}
			},
		},
	}
}

// ConversionNamed returns the conversion that makes a file; false if there is none.
func ConversionNamed(name string) (Conversion, bool) {
	for _, c := range conversions() {
		if c.Name == name {
			return c, true
		}
	}
	return Conversion{}, false
}

// Source returns the file of a recording that a conversion reads; false if there is none.
func (c Conversion) Source(files []recording.Media) (recording.File, bool) {
	for _, file := range files {
		if file.Kind == recording.Video {
			return file.File, true
		}
	}
	for _, file := range files {
		if file.Kind == recording.Audio && !c.NeedsVideo {
			return file.File, true
		}
	}
	return recording.File{}, false
}

// Convert converts the source, which is in the file from, and writes the file to.
func (t Tools) Convert(ctx context.Context, c Conversion, source recording.File, from, to string) error {
	limits, err := limitsForFiles(from)
	if err != nil {
		return err
	}
	limits.FileSize = max(limits.FileSize, c.perSecond*(source.DurationMs/1000+60))
	limits.Time = max(limits.Time, time.Duration(source.DurationMs)*time.Millisecond)
	// One thread, because bots may be recording on the other cores.
	arguments := []string{"-nostdin", "-v", "error", "-y", "-threads", "1", "-format_whitelist", allowedFormats}
	if c.before != nil {
		arguments = append(arguments, c.before(source)...)
	}
	arguments = append(arguments, "-i", from)
	arguments = append(append(arguments, c.arguments(source)...), "-threads", "1", to)
	_, err = runTool(ctx, limits, t.FFmpeg, arguments...)
	return err
}
