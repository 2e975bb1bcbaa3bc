// Package process runs the measured programs and reads what they use of the
// machine.
package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	startTimeout = 2 * time.Minute
	stopTimeout  = 30 * time.Second
)

// Process is a running server.
type Process struct {
	Address string // host:port that it listens on

	command *exec.Cmd
	log     string
	done    chan struct{} // closed when it has ended
}

// Start starts a program that prints a URL with its address on the first line
// of its output, and waits for that line. Its standard error goes to the file
// log.
func Start(ctx context.Context, log string, env []string, program string, args ...string) (*Process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close() // the program has inherited it
	p := &Process{command: exec.CommandContext(context.WithoutCancel(ctx), program, args...), log: log, done: make(chan struct{})}
	p.command.Env = append(os.Environ(), env...)
	p.command.Stderr = file
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	output, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	lines := make(chan string, 1)
	go func() {
		reader := bufio.NewReader(output)
		first, _ := reader.ReadString('\n')
		lines <- first
		_, _ = io.Copy(io.Discard, reader) // until the program ends
		_ = p.command.Wait()               // its exit code is that of the signal
		close(p.done)
	}()
	select {
	case first := <-lines:
		if _, rest, found := strings.Cut(first, "http://"); found {
			p.Address = strings.Fields(rest)[0]
			return p, nil
		}
		err = fmt.Errorf("%s does not print its address", program)
	case <-time.After(startTimeout):
		err = fmt.Errorf("%s prints no address within %s", program, startTimeout)
	case <-ctx.Done():
		err = ctx.Err()
	}
	return nil, p.failure(err)
}

// failure stops the program and adds the end of its log to an error.
func (p *Process) failure(err error) error {
	stopErr := p.Stop()
	text, _ := os.ReadFile(p.log)
	return errors.Join(fmt.Errorf("%w: %s", err, text[max(0, len(text)-2000):]), stopErr)
}

// PID returns the process ID.
func (p *Process) PID() int { return p.command.Process.Pid }

// Stop asks the program to end and waits for it.
func (p *Process) Stop() error {
	_ = p.command.Process.Signal(syscall.SIGTERM) // fails if it has ended
	select {
	case <-p.done:
		return nil
	case <-time.After(stopTimeout):
		_ = p.command.Process.Kill()
		<-p.done
		return fmt.Errorf("%s did not stop within %s", p.command.Path, stopTimeout)
	}
}
