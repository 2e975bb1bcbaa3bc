package build

import (
	"context"
	"fmt"
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
