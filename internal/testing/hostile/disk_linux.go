package hostile

import (
	"syscall"
	"testing"
)

const errNoSpace = syscall.ENOSPC

// SmallDisk mounts a file system of that many MiB, which needs root, and returns its
// folder. It skips the test without root.
func SmallDisk(t *testing.T, mebibytes string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+mebibytes+"m,mode=0700"); err != nil {
		t.Skipf("mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}
