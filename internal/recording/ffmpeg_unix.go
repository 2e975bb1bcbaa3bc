//go:build unix

package recording

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the command into a process group of its own and makes its
// cancelling kill that group.
func setProcessGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
}
