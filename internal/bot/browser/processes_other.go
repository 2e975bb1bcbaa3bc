//go:build !linux

package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// isolateProcess does nothing: process groups and the parent-death signal are used
// on Linux only. Chromium exits when its control pipe closes.
func isolateProcess(*exec.Cmd, syscall.Signal) {}

// treeMemory returns 0: memory is limited on Linux only.
func treeMemory(int, string) int64 { return 0 }

// diskUsage returns the size of a file.
func diskUsage(info os.FileInfo) int64 { return info.Size() }

// killProcessTree kills the browser's main process. Chromium's other processes
// then exit.
func killProcessTree(_ context.Context, group int, _ string) error {
	if group == 0 {
		return nil
	}
	process, err := os.FindProcess(group)
	if err != nil {
		return nil
	}
	if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill the browser: %w", err)
	}
	return nil
}
