// Package testprocess starts programs that do not outlive a test.
package testprocess

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Start starts a command, to which the kernel sends the signal if this process dies
// first. It waits for the command's end: exited is closed then.
func Start(command *exec.Cmd, signal syscall.Signal) (exited <-chan struct{}, err error) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = new(syscall.SysProcAttr)
	}
	command.SysProcAttr.Pdeathsig = signal
	done, started := make(chan struct{}), make(chan error)
	go func() {
		defer close(done)
		// The kernel also sends the signal when the thread that started the command
		// ends, so the thread is locked until then.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait() // its ProcessState has the result
		}
	}()
	return done, <-started
}
