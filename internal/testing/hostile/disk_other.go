//go:build !linux

package hostile

import (
	"syscall"
	"testing"
)

const errNoSpace = syscall.ENOSPC

// SmallDisk skips the test: it mounts a file system on Linux only.
func SmallDisk(t *testing.T, _ string) string {
	t.Helper()
	t.Skip("a small disk is mounted on Linux only")
	return ""
}
