package service_test

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"standin/internal/server/service"
)

// TestDataDirOfAnotherUser checks that a data folder that other users can read and
// whose mode this process may not change is refused, with the folder, its mode and
// what to do.
func TestDataDirOfAnotherUser(t *testing.T) {
	t.Parallel()
	dir := "/usr" // belongs to root
	prepare := service.PrepareDataDir
	if os.Geteuid() == 0 {
		dir = readableDir(t)
		prepare = asNobody
	}
	err := prepare(dir)
	if err == nil {
		t.Fatalf("the data folder %s, which every user can read, was accepted", dir)
	}
	for _, want := range []string{"other users can access the data folder " + dir, "mode 0755", "chmod 700", "STANDIN_DATA_DIR"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not contain %q: %v", want, err)
		}
	}
}

// readableDir returns a folder that every user can read, outside of the private
// folder of the test.
func readableDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "standin-") //nolint:usetesting // t.TempDir is private
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the test is about this mode
		t.Fatal(err)
	}
	return dir
}

// asNobody calls PrepareDataDir on a thread without the permissions of root.
func asNobody(dir string) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		const nobody = 65534
		_, err := unix.SetfsuidRetUid(nobody)
		if err == nil {
			err = service.PrepareDataDir(dir)
		}
		done <- err
	}()
	return <-done
}
