package browser

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// maxMessage limits a message of the browser, in bytes. A page can make the browser
// send long ones, for example with the text of a dialog or the body of a form, and
// the bot holds each in memory several times. Screenshots and results of scripts
// are shorter.
const maxMessage = 32 << 20

// responsePipe is the index of the pipe for the browser's messages in the extra
// files of its command.
const responsePipe = 1

// messageRelay copies the browser's messages to chromedp, which does not limit their
// length. A message over the limit breaks the pipe.
type messageRelay struct {
	reader, writer *os.File // between the browser and this process
	target         *os.File // chromedp reads its other end
	done           chan struct{}
	err            error // why copying ended; valid once done is closed
}

// relayMessages puts a relay into the pipe of a command that is about to start.
func relayMessages(command *exec.Cmd) (*messageRelay, error) {
	if len(command.ExtraFiles) <= responsePipe {
		return nil, errors.New("the browser has no control pipe")
	}
	// chromedp closes its own file when the command has started. Programs do not inherit the copy.
	descriptor, err := unix.FcntlInt(command.ExtraFiles[responsePipe].Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("relay the browser's messages: %w", err)
	}
	target := os.NewFile(uintptr(descriptor), "messages") //nolint:gosec // not negative
	r := &messageRelay{target: target, done: make(chan struct{})}
	if r.reader, r.writer, err = os.Pipe(); err != nil {
		return nil, errors.Join(fmt.Errorf("relay the browser's messages: %w", err), target.Close())
	}
	command.ExtraFiles[responsePipe] = r.writer
	// The standard input is read once the command has started. From then on only the
	// browser writes, so that its end is the end of the pipe.
	command.Stdin = startHook(func() { _ = r.writer.Close() })
	go func() {
		defer close(r.done)
		r.err = copyMessages(r.target, r.reader)
		_ = r.target.Close()
		_ = r.reader.Close()
	}()
	return r, nil
}

// close ends the relay and waits for it.
func (r *messageRelay) close() {
	_ = r.writer.Close()
	_ = r.reader.Close()
	<-r.done
}

// copyMessages copies messages, which end with a zero byte.
func copyMessages(to io.Writer, from io.Reader) error {
	buffer := make([]byte, 64<<10)
	length := 0 // of the message so far
	for {
		n, err := from.Read(buffer)
		if last := bytes.LastIndexByte(buffer[:n], 0); last >= 0 {
			length = n - last - 1
		} else {
			length += n
		}
		if length > maxMessage {
			return &ResourceError{Resource: "a message of the page", Limit: maxMessage}
		}
		_, writeErr := to.Write(buffer[:n])
		if err := cmp.Or(writeErr, err); err != nil {
			return err
		}
	}
}

// startHook is an empty standard input that calls a function when it is first read.
type startHook func()

func (h startHook) Read([]byte) (int, error) {
	h()
	return 0, io.EOF
}
