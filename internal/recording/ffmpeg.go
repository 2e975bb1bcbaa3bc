package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Tools are the programs that packing runs.
type Tools struct {
	FFmpeg  string
	FFprobe string
}

// FindTools looks for ffmpeg and ffprobe on PATH; one that is not there is a
// MissingToolError.
func FindTools() (Tools, error) {
	var tools Tools
	for name, place := range map[string]*string{"ffmpeg": &tools.FFmpeg, "ffprobe": &tools.FFprobe} {
		found, err := exec.LookPath(name)
		if err != nil {
			return Tools{}, &MissingToolError{Tool: name}
		}
		*place = found
	}
	return tools, nil
}

// containers are what media files may be: nothing that names other files or
// addresses, which ffmpeg would open (playlists do), for bots upload what they
// like.
const allowedFormats = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,ogg"

// toolError says that a tool ran and failed.
type toolError struct {
	Tool   string
	Err    error
	Stderr string // its end
}

func (e *toolError) Error() string {
	if e.Stderr == "" {
		return fmt.Sprintf("%s: %v", e.Tool, e.Err)
	}
	return fmt.Sprintf("%s: %v: %s", e.Tool, e.Err, e.Stderr)
}

func (e *toolError) Unwrap() error { return e.Err }

// refused reports whether a tool ran to its end and found its input wrong; a
// tool that was killed did not.
func rejectedInput(err error) bool {
	exit := new(exec.ExitError)
	return errors.As(err, &exit) && exit.ExitCode() > 0
}

const (
	maxToolStderr = 4 << 10
	maxToolStdout = 1 << 20
	// toolFarewell is how long a killed tool's pipes may stay open.
	pipeCloseDelay = 5 * time.Second
)

// runTool runs a tool in its own process group until it ends or ctx does, in
// which case the whole group is killed, and returns what it wrote to stdout.
func runTool(ctx context.Context, program string, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, program, arguments...)
	stdout := &boundedBuffer{limit: maxToolStdout}
	stderr := &boundedBuffer{limit: maxToolStderr, keepEnd: true}
	command.Stdout, command.Stderr = stdout, stderr
	command.WaitDelay = pipeCloseDelay
	setProcessGroup(command)
	err := command.Run()
	if stopped := ctx.Err(); stopped != nil {
		return nil, stopped
	}
	if err == nil && stdout.dropped {
		err = errors.New("wrote more than expected")
	}
	if err != nil {
		return nil, &toolError{Tool: program, Err: err, Stderr: strings.TrimSpace(stderr.kept.String())}
	}
	return stdout.kept.Bytes(), nil
}

// boundedBuffer keeps at most limit bytes of what is written: the first, or
// the last.
type boundedBuffer struct {
	limit   int
	keepEnd bool
	kept    bytes.Buffer
	dropped bool
}

func (b *boundedBuffer) Write(data []byte) (int, error) {
	length := len(data)
	if b.keepEnd {
		data = data[max(0, length-b.limit):]
		b.kept.Next(max(0, b.kept.Len()+len(data)-b.limit))
	} else {
		data = data[:min(length, b.limit-b.kept.Len())]
	}
	b.dropped = b.dropped || len(data) < length
	b.kept.Write(data)
	return length, nil
}

// decode decodes all of a media file, and returns the last moment that it came
// to and what the decoder complained of first.
func (t Tools) decode(ctx context.Context, file string) (end time.Duration, complaint string, err error) {
	text, err := runTool(ctx, t.FFmpeg, "-nostdin", "-v", "error", "-xerror", "-stats_period", "10",
		"-format_whitelist", allowedFormats, "-i", file, "-map", "0", "-f", "null", "-progress", "pipe:1", "-")
	if err != nil {
		if !rejectedInput(err) {
			return 0, "", err
		}
		complaint = errorLine(err)
	}
	// The last of "out_time_us=5013000", which is N/A before anything is decoded.
	for line := range strings.Lines(string(text)) {
		value, found := strings.CutPrefix(strings.TrimSpace(line), "out_time_us=")
		microseconds, unreadable := strconv.ParseInt(value, 10, 64)
		if found && unreadable == nil {
			end = time.Duration(microseconds) * time.Microsecond
		}
	}
	return end, complaint, nil
}
