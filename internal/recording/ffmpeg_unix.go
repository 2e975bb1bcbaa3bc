//go:build unix

package recording

import (
	"errors"
	"os/exec"
	"syscall"
)

// setProcessGroup runs the command in a new process group, which is killed when
// its context ends.
func setProcessGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
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
