//go:build !linux

package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// ownProcessTree leaves the command as it is: process groups and the
// parent-death signal are used on Linux only. Elsewhere Chromium ends itself
// when its control pipe closes.
func ownProcessTree(*exec.Cmd) {}

// endProcessTree kills the browser's main process, at whose end Chromium's
// other processes end themselves.
func endProcessTree(_ context.Context, group int, _ string) error {
	if group == 0 {
		return nil
	}
	process, err := os.FindProcess(group)
	if err != nil {
		return nil
	}
	if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing the browser: %w", err)
	}
	return nil
}
