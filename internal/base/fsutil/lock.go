package fsutil

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrLocked is the error of TryLock for a file that is locked.
var ErrLocked = errors.New("it is locked by another process")

// TryLock locks a file, which it creates with mode 0600, until the result is
// closed or the process ends. If the file is locked, it returns ErrLocked.
func TryLock(path string) (*os.File, error) {
	file, err := lock(path, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, ErrLocked
	}
	return file, err
}

// Lock is TryLock, but waits for the lock.
func Lock(path string) (*os.File, error) { return lock(path, syscall.LOCK_EX) }

func lock(path string, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), how)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		return file, nil
	}
}
