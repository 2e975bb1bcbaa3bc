package build

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// probeResult is the output of ffprobe for a media file.
type probeResult struct {
	Start    time.Duration // the first timestamp
	Duration time.Duration
	Streams  []probeStream
}

type probeStream struct {
	Type          string `json:"codec_type"`
	Codec         string `json:"codec_name"`
	Tag           string `json:"codec_tag_string"`
	Profile       string
	Level         int
	Width         int
	Height        int
	SampleRate    string `json:"sample_rate"`
	Channels      int
	Extradata     string // hex dump
	ExtradataHash string `json:"extradata_hash"` // hash of Extradata
}

// probe reads a media file with ffprobe. If ffprobe cannot read the file,
// RejectedInput is true for the error.
func (t Tools) probe(ctx context.Context, file string, size int64) (probeResult, error) {
	text, err := runTool(ctx, limitsFor(size), t.FFprobe, "-v", "error", "-format_whitelist", allowedFormats, "-of", "json",
		"-show_entries", "format=start_time,duration:stream=codec_type,codec_name,codec_tag_string,profile,level,width,height,"+
			"sample_rate,channels,extradata,extradata_hash",
		"-show_data", "-show_data_hash", "sha256", file)
	if err != nil {
		return probeResult{}, err
	}
	var reported struct {
		Streams []probeStream
		Format  struct {
			Start    string `json:"start_time"`
			Duration string
		}
	}
	if err := json.Unmarshal(text, &reported); err != nil {
		return probeResult{}, fmt.Errorf("parse the output of ffprobe: %w", err)
	}
	return probeResult{
		Start: parseSeconds(reported.Format.Start), Duration: parseSeconds(reported.Format.Duration), Streams: reported.Streams,
	}, nil
}

// parseSeconds parses a time of ffprobe; 0 for N/A.
func parseSeconds(text string) time.Duration {
	seconds, _ := strconv.ParseFloat(text, 64)
	return time.Duration(math.Round(seconds*1e6)) * time.Microsecond
}

// probeFile reads a media file on disk with ffprobe.
func (t Tools) probeFile(ctx context.Context, path string) (probeResult, error) {
	info, err := os.Stat(path)
	if err != nil {
		return probeResult{}, err
	}
	return t.probe(ctx, path, info.Size())
}

// joins reports whether two files can be concatenated without encoding them: an
// MP4 has one set of decoder settings, so both must have the same.
func (p probeResult) joins(other probeResult) bool {
	settings := func(s probeStream) probeStream {
		s.Extradata, s.Profile, s.Level = "", "", 0
		return s
	}
	return slices.EqualFunc(p.Streams, other.Streams, func(a, b probeStream) bool { return settings(a) == settings(b) })
}

// stream returns the first stream of a type, if there is one.
func (p probeResult) stream(kind string) (probeStream, bool) {
	for _, s := range p.Streams {
		if s.Type == kind {
			return s, true
		}
	}
	return probeStream{}, false
}

// codecs returns the codecs parameter of RFC 6381, video first.
func (p probeResult) codecs() string {
	var codecs []string
	for _, kind := range []string{"video", "audio"} {
		if stream, ok := p.stream(kind); ok {
			codecs = append(codecs, stream.codec())
		}
	}
	return strings.Join(codecs, ",")
}

// codec returns the codec of the stream in the form of RFC 6381.
func (s probeStream) codec() string {
	switch s.Codec {
	case "h264":
		// RFC 6381, 3.3: the three bytes after the SPS's first, which are the
		// second to fourth of the avcC box (ISO/IEC 14496-15, 5.3.3.1).
		if settings := s.extradata(); len(settings) >= 4 {
			return fmt.Sprintf("%s.%02X%02X%02X", s.Tag, settings[1], settings[2], settings[3])
		}
	case "aac":
		if s.Profile == "LC" {
			return "mp4a.40.2"
		}
	case "vp8", "vp9":
		return s.Codec
	case "av1":
		return fmt.Sprintf("av01.0.%02dM.08", max(s.Level, 0))
	case "opus":
		return "opus" // browsers accept lower case; the sample entry is Opus
	}
	return s.Tag
}

// extradata decodes the first line of ffprobe's hex dump, for example
// "00000000: 0142 c01f ffe1 0010 0674 42c0 1f8c 8d40  .B......".
func (s probeStream) extradata() []byte {
	text, _, _ := strings.Cut(strings.TrimSpace(s.Extradata), "\n")
	_, dump, _ := strings.Cut(text, ": ")
	dump, _, _ = strings.Cut(dump, "  ")
	data, _ := hex.DecodeString(strings.ReplaceAll(dump, " ", "")) // as far as it is hexadecimal
	return data
}

// decode decodes a whole media file of a given size. It returns the last decoded
// timestamp and the first error message of the decoder.
func (t Tools) decode(ctx context.Context, file string, size int64) (end time.Duration, message string, err error) {
	output, err := runTool(ctx, limitsFor(size), t.FFmpeg, "-nostdin", "-v", "error", "-xerror", "-stats_period", "10",
		"-format_whitelist", allowedFormats, "-i", file, "-map", "0", "-f", "null", "-progress", "pipe:1", "-")
	if err != nil {
		if !RejectedInput(err) {
			return 0, "", err
		}
		message = errorLine(err)
	}
	// The last line "out_time_us=5013000"; N/A before anything was decoded.
	for text := range strings.Lines(string(output)) {
		value, found := strings.CutPrefix(strings.TrimSpace(text), "out_time_us=")
		microseconds, parseErr := strconv.ParseInt(value, 10, 64)
		if found && parseErr == nil {
			end = time.Duration(microseconds) * time.Microsecond
		}
	}
	return end, message, nil
}
