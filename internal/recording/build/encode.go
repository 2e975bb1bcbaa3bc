package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// encodeAudio are the arguments of ffmpeg that copy the video and encode the audio as AAC-LC, which
// all players decode (H.264 with Opus is silent in many). The audio is as long as its timestamps
// say: where sound is missing, it is silent.
var encodeAudio = []string{"-c:v", "copy", "-c:a", "aac", "-b:a", "96k", "-af", "aresample=async=1:first_pts=0"}

const (
	// maxWaiting is how many segments may wait for an encoder, a few minutes. It runs on a machine
	// where the meeting has precedence.
	maxWaiting = 300
	// encoderDeadline is how long an encoder may take for the rest once its part has ended.
	encoderDeadline = 20 * time.Second
)

// Encoder packs a part of a recording while it is recorded, so that little is left to do when the
// meeting ends. If it fails, its part is packed from the segments.
type Encoder struct {
	segments chan []byte
	cancel   context.CancelCauseFunc
	done     chan struct{}
}

// StartEncoder starts to pack a part into a file in folder. The caller must call Close.
func StartEncoder(folder string, part int, log *slog.Logger) *Encoder {
	ctx, cancel := context.WithCancelCause(context.Background())
	e := &Encoder{segments: make(chan []byte, maxWaiting), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(e.done)
		defer cancel(nil)
		if err := e.run(ctx, folder, part); err != nil && context.Cause(ctx) == nil {
			log.Warn("cannot pack the recording while it runs; it is packed at its end", "part", part, "error", err)
		}
	}()
	return e
}

// run packs the segments, and gives the file its name when all are packed.
func (e *Encoder) run(ctx context.Context, folder string, part int) error {
	tools, err := FindTools()
	if err != nil {
		return err
	}
	encoding := filepath.Join(folder, fmt.Sprintf("encoding-%03d.mp4", part))
	defer os.Remove(encoding) // nothing is left of a failure
	input, feed := io.Pipe()
	fed := make(chan int, 1)
	go func() {
		segments := 0
		for segment := range e.segments {
			if _, err := feed.Write(segment); err != nil {
				return // the encoder has failed
			}
			segments++
		}
		fed <- segments
		_ = feed.Close()
	}()
	limits := toolLimits{Time: 24 * time.Hour, Memory: 4 << 30, FileSize: 1 << 40, Input: input}
	_, err = runTool(ctx, limits, tools.FFmpeg, append(append([]string{
		"-v", "error", "-y", "-threads", "1", "-f", "mp4", "-i", "pipe:0", "-map", "0:v:0?", "-map", "0:a:0?",
	}, encodeAudio...), "-map_metadata", "-1", "-movflags", "+faststart", "-threads", "1", encoding)...)
	_ = input.CloseWithError(errors.New("the encoder has ended"))
	if err != nil {
		return err
	}
	return os.Rename(encoding, encodedPath(folder, part, <-fed)) // it ends at the end of its input only
}

// Append adds a segment, which nobody may change. It never blocks.
func (e *Encoder) Append(segment []byte) {
	select {
	case e.segments <- segment:
	case <-e.done:
	default:
		e.cancel(errors.New("the encoder is too slow"))
	}
}

// Close ends the part, and returns when its file is complete, or cannot be. Append must not be
// called any more.
func (e *Encoder) Close() {
	close(e.segments)
	select {
	case <-e.done:
	case <-time.After(encoderDeadline):
		e.cancel(context.DeadlineExceeded)
		<-e.done
	}
}

// encodedPath returns the path of a part that an Encoder has packed from a number of segments.
func encodedPath(folder string, part, segments int) string {
	return filepath.Join(folder, fmt.Sprintf("encoded-%03d-%d.mp4", part, segments))
}

// Encoded returns the path of a part that an Encoder has packed from all of its segments; empty if
// there is none.
func Encoded(folder string, part, segments int) string {
	path := encodedPath(folder, part, segments)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}
