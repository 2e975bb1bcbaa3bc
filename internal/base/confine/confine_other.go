//go:build !linux

package confine

import "os/exec"

// Version returns 0: programs are confined on Linux only.
func Version() int { return 0 }

// Start starts the command without limits.
func Start(command *exec.Cmd, _ Access) error { return command.Start() }

// UserNamespaces returns false: other systems have none.
func UserNamespaces() bool { return false }

// ProtectMemory does nothing.
func ProtectMemory() error { return nil }
