package browser

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// authorityFile is the file in the profile directory with the display's key.
	authorityFile = "Xauthority"

	// displayStopTimeout is how long the display server may take to exit. It takes
	// milliseconds.
	displayStopTimeout = 5 * time.Second

	// maxOutput bounds the output of a program in an error.
	maxOutput = 2048
)

// display is a virtual X display (Xvfb) for one browser. Its clients need a key
// that only this user can read, so other users can neither see its screen nor send
// input to it, and it does not listen on the network.
type display struct {
	name      string // the variable DISPLAY, for example ":3"
	authority string // path of the file with the key
	process   *os.Process
	exited    chan struct{}
	cause     error // how the server exited; valid once exited is closed
}

// startDisplay starts a display server and waits until it accepts clients. The
// server chooses a free number. It exits with the bot.
func startDisplay(ctx context.Context, profileDir string, width, height int) (*display, error) {
	path, err := findDisplayServer()
	if err != nil {
		return nil, err
	}
	d := &display{authority: filepath.Join(profileDir, authorityFile), exited: make(chan struct{})}
	// An Xauthority file with a new key, in the format of libXau. The address family 65535 and the empty number match
	// every display, because the server chooses its number after it has read the file.
	key := append([]byte("\xff\xff\x00\x00\x00\x00\x00\x12MIT-MAGIC-COOKIE-1\x00\x10"), make([]byte, 16)...)
	_, _ = rand.Read(key[len(key)-16:]) // never fails
	if err := os.WriteFile(d.authority, key, 0o600); err != nil {
		return nil, err
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the display server: %w", err)
	}
	defer reader.Close()
	var output printed
	command := exec.CommandContext(context.WithoutCancel(ctx), path, "-displayfd", "3", "-screen", "0", fmt.Sprintf("%dx%dx24", width, height),
		"-auth", d.authority, "-nolisten", "tcp", "-noreset", "-extension", "GLX")
	command.ExtraFiles = []*os.File{writer} // file descriptor 3
	command.Stdout, command.Stderr = &output, &output
	command.WaitDelay = displayStopTimeout // a child may hold the output
	// SIGTERM lets the server remove its socket.
	isolateProcess(command, syscall.SIGTERM)
	started := make(chan error)
	go func() {
		// The kernel sends the parent-death signal when the thread that started the process ends, so the thread is
		// locked until then.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(d.exited)
		if d.cause = command.Start(); d.cause != nil {
			started <- d.cause
			return
		}
		d.process = command.Process
		started <- nil
		_ = command.Wait() // the state has the result
		d.cause = fmt.Errorf("the display server ended: %s", command.ProcessState)
	}()
	err = <-started
	writer.Close()
	if err == nil { // the server writes its number when it accepts clients
		stop := context.AfterFunc(ctx, func() { _ = reader.SetReadDeadline(time.Now()) })
		var number uint16
		if _, err = fmt.Fscan(reader, &number); err != nil {
			err = fmt.Errorf("read the display's number: %w", cmp.Or(ctx.Err(), err))
		} else {
			d.name = fmt.Sprintf(":%d", number)
		}
		stop()
	}
	if err != nil {
		d.close()
		return nil, displayError(fmt.Errorf("start %s: %w: %q", displayServer, err, output.String()))
	}
	return d, nil
}

// ended returns a channel that is closed when the server has exited. It is nil
// without a display.
func (d *display) ended() <-chan struct{} {
	if d == nil {
		return nil
	}
	return d.exited
}

// close ends the server, waits for it, and removes what a killed server leaves
// behind. Without a display, it does nothing.
func (d *display) close() {
	if d == nil {
		return
	}
	if d.process != nil {
		_ = d.process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-d.exited:
		case <-time.After(displayStopTimeout):
			_ = d.process.Kill()
		}
	}
	<-d.exited
	// The socket of a server that was killed is removed, unless another server uses it now. A server that chooses
	// its number has no lock file.
	number := strings.TrimPrefix(d.name, ":")
	if number == "" {
		return // the server did not start
	}
	connection, err := (&net.Dialer{}).DialContext(context.Background(), "unix", socketPrefix+number)
	if err == nil {
		connection.Close()
	} else if errors.Is(err, syscall.ECONNREFUSED) {
		os.Remove(socketPrefix + number)
	}
}

// socketPrefix is the path of the displays' sockets, without the number.
const socketPrefix = "/tmp/.X11-unix/X"

// printed keeps the beginning of a program's output.
type printed struct{ bytes.Buffer }

// Write implements io.Writer.
func (p *printed) Write(text []byte) (int, error) {
	p.Buffer.Write(text[:min(len(text), maxOutput-p.Len())])
	return len(text), nil
}
