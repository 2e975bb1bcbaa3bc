package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"standin/internal/base/confine"
)

// Tools are the paths of the programs that read and write media.
type Tools struct {
	FFmpeg  string
	FFprobe string
}

// FindTools finds ffmpeg and ffprobe on PATH. If one is missing, the error is a
// MissingToolError.
func FindTools() (Tools, error) {
	var tools Tools
	for name, path := range map[string]*string{"ffmpeg": &tools.FFmpeg, "ffprobe": &tools.FFprobe} {
		found, err := exec.LookPath(name)
		if err != nil {
			return Tools{}, &MissingToolError{Tool: name}
		}
		*path = found
	}
	return tools, nil
}

// allowedFormats lists the containers of media files. It excludes formats that
// refer to other files or addresses, such as playlists: ffmpeg would open them,
// and uploads come from bots.
const allowedFormats = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,ogg,ivf"

// toolLimits bound what a tool may use. Its input comes from bots.
type toolLimits struct {
	Time     time.Duration // processor time, and half of the wall-clock time
	Memory   int64         // address space, in bytes
	FileSize int64         // maximum size of each file it writes, in bytes
	Input    io.Reader     // standard input; nil for none
	Nice     bool          // everything else comes first, so that it may take ten times as long
}

// limitsFor returns the limits for an input of a given size.
func limitsFor(inputBytes int64) toolLimits {
	const mebibyte = 1 << 20
	return toolLimits{
		Time:     5*time.Minute + time.Duration(inputBytes/mebibyte)*2*time.Second,
		Memory:   4 << 30,
		FileSize: 2*inputBytes + 64*mebibyte,
	}
}

// limitsForFiles returns the limits for input files.
func limitsForFiles(paths ...string) (toolLimits, error) {
	var total int64
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return toolLimits{}, err
		}
		total += info.Size()
	}
	return limitsFor(total), nil
}

// toolError is the failure of a tool.
type toolError struct {
	Tool   string
	Err    error
	Stderr string // its last maxToolStderr bytes
}

func (e *toolError) Error() string {
	if e.Stderr == "" {
		return fmt.Sprintf("%s: %v", e.Tool, e.Err)
	}
	return fmt.Sprintf("%s: %v: %s", e.Tool, e.Err, e.Stderr)
}

func (e *toolError) Unwrap() error { return e.Err }

// errToolLimit is the error of a tool that exceeded its limits.
var errToolLimit = errors.New("exceeded its limit of time or file size")

// RejectedInput reports whether a tool failed because of its input: it exited
// with an error or exceeded its limits. It is false when the tool was killed.
func RejectedInput(err error) bool {
	exit := new(exec.ExitError)
	return errors.Is(err, errToolLimit) || errors.As(err, &exit) && exit.ExitCode() > 0
}

const (
	maxToolStderr  = 4 << 10
	maxToolStdout  = 1 << 20
	pipeCloseDelay = 5 * time.Second // wait for the pipes of a killed tool
)

// runTool runs a tool in its own process group and returns its standard output. The
// tool can use the folders of the files in its arguments, and no other data.
// When ctx ends, the tool exceeds its limits or, on Linux, this process is killed, the whole group is killed.
func runTool(ctx context.Context, limits toolLimits, program string, arguments ...string) ([]byte, error) {
	wall := 2 * limits.Time
	if limits.Nice {
		wall *= 10
	}
	toolCtx, cancel := context.WithTimeoutCause(ctx, wall, errToolLimit)
	defer cancel()
	command, err := limitedCommand(toolCtx, limits, program, arguments...)
	if err != nil {
		return nil, &toolError{Tool: program, Err: err}
	}
	stdout := &boundedBuffer{limit: maxToolStdout}
	stderr := &boundedBuffer{limit: maxToolStderr, keepEnd: true}
	command.Stdin, command.Stdout, command.Stderr = limits.Input, stdout, stderr
	command.Env = append(slices.DeleteFunc(os.Environ(), func(variable string) bool { // what programs need to start, and no secrets
		name, _, _ := strings.Cut(variable, "=")
		return !slices.Contains([]string{"PATH", "TMPDIR", "LD_LIBRARY_PATH", "SYSTEMROOT"}, name)
	}), "LC_ALL=C")
	command.WaitDelay = pipeCloseDelay
	// The process group is new, and is killed when the context ends.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	watched, held, err := os.Pipe() // the shell sees the end of what this process holds
	if err != nil {
		return nil, &toolError{Tool: program, Err: err}
	}
	defer func() { _ = held.Close() }()
	command.ExtraFiles = []*os.File{watched}
	served := slices.ContainsFunc(arguments, func(a string) bool { return strings.HasPrefix(a, "http://") }) // see serveFile
	access := confine.Access{Read: folders([]string{program}), Write: folders(arguments), NoSockets: !served}
	err = confine.Start(command, access)
	_ = watched.Close()
	if err == nil {
		err = command.Wait()
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return nil, ctxErr
	}
	if err != nil && (context.Cause(toolCtx) == errToolLimit || killedByLimit(err)) { //nolint:errorlint // the cause itself
		err = errors.Join(errToolLimit, err)
	}
	if err == nil && stdout.dropped {
		err = errors.New("wrote more than expected")
	}
	if err != nil {
		return nil, &toolError{Tool: program, Err: err, Stderr: strings.TrimSpace(stderr.content.String())}
	}
	return stdout.content.Bytes(), nil
}

// folders returns the folders of the files in a tool's arguments.
func folders(arguments []string) []string {
	var found []string
	for _, argument := range arguments {
		if folder := filepath.Dir(argument); folder != "." {
			found = append(found, folder) // one that does not exist has no effect
		}
	}
	return found
}

// boundedBuffer is a Writer that stores at most limit bytes: the first ones, or
// with keepEnd the last ones.
type boundedBuffer struct {
	limit   int
	keepEnd bool
	content bytes.Buffer
	dropped bool
}

func (b *boundedBuffer) Write(data []byte) (int, error) {
	length := len(data)
	if b.keepEnd {
		data = data[max(0, length-b.limit):]
		b.content.Next(max(0, b.content.Len()+len(data)-b.limit))
	} else {
		data = data[:min(length, b.limit-b.content.Len())]
	}
	b.dropped = b.dropped || len(data) < length
	b.content.Write(data)
	return length, nil
}

// errorLine returns the first line of a tool's standard error, or the error's
// text when there is none.
func errorLine(err error) string {
	if tool := new(toolError); errors.As(err, &tool) && tool.Stderr != "" {
		text, _, _ := strings.Cut(tool.Stderr, "\n")
		return text
	}
	return err.Error()
}

// MissingToolError reports a program that is not installed.
type MissingToolError struct {
	Tool string // ffmpeg or ffprobe
}

func (e *MissingToolError) Error() string {
	return e.Tool + " was not found on PATH; it is part of ffmpeg: install that " +
		"(Debian, Ubuntu: apt-get install ffmpeg; Fedora: dnf install ffmpeg-free; Alpine: apk add ffmpeg; macOS: brew install ffmpeg)"
}

// limitedCommand returns the command of a tool with resource limits. On Linux a
// shell sets the limits before it executes the tool, so the tool never runs without
// them, and leaves a process that kills the group when file 3 ends. On other systems only
// the wall-clock time is limited.
func limitedCommand(ctx context.Context, limits toolLimits, program string, arguments ...string) (*exec.Cmd, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "linux" {
		return exec.CommandContext(ctx, path, arguments...), nil
	}
	const killDelay = 5 // seconds from SIGXCPU to SIGKILL
	seconds := int64(limits.Time / time.Second)
	script := fmt.Sprintf(`{ read -r _ <&3; kill -9 0; } >/dev/null 2>&1 &
		ulimit -c 0 && ulimit -f %d && ulimit -v %d && ulimit -St %d && ulimit -Ht %d && exec "$@" 3<&-`,
		limits.FileSize/512, limits.Memory/1024, seconds, seconds+killDelay)
	if limits.Nice {
		script = strings.Replace(script, "exec", "exec nice -n 19", 1)
	}
	return exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", script, "sh", path}, arguments...)...), nil
}

// killedByLimit reports whether a tool was killed by a resource limit.
func killedByLimit(err error) bool {
	exit := new(exec.ExitError)
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && (status.Signal() == syscall.SIGXCPU || status.Signal() == syscall.SIGXFSZ)
}
