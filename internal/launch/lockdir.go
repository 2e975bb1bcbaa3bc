package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// lockFile in a bot's folder is locked by the bot's process as long as it
// lives. The lock is the kernel's: it ends with the process however that
// ends, and tells who holds it, so no process id is ever guessed at.
const lockFile = "bot.lock"

// ErrHeld says that another bot lives in the folder.
var ErrLocked = errors.New("another bot runs in this folder")

// Hold takes the folder for this process until the process ends. The file
// returned must stay open until then.
func LockDir(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the bot's lock: %w", err)
	}
	err = syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK})
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return nil, errors.Join(ErrLocked, file.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("take the bot's lock: %w", err), file.Close())
	}
	return file, nil
}

// holder returns the process that holds a folder, or 0 when none does; held
// tells whether a bot ever took it.
func holder(dir string) (pid int, held bool, err error) {
	file, err := os.Open(filepath.Join(dir, lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("open the bot's lock: %w", err)
	}
	defer file.Close()
	query := syscall.Flock_t{Type: syscall.F_WRLCK}
	if err := syscall.FcntlFlock(file.Fd(), syscall.F_GETLK, &query); err != nil {
		return 0, true, fmt.Errorf("ask who holds the bot's lock: %w", err)
	}
	if query.Type == syscall.F_UNLCK {
		return 0, true, nil
	}
	return int(query.Pid), true, nil
}
