package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// lockFile is the file in a bot's folder that the bot's process locks. The
// kernel releases the lock however the process ends and knows the owner's
// process id, so a running bot is recognized with certainty.
const lockFile = "bot.lock"

// ErrLocked is the error of LockDir when another bot uses the folder.
var ErrLocked = errors.New("another bot runs in this folder")

// LockDir locks a bot's folder for this process. The lock is released when the
// returned file is closed or the process ends.
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
		return nil, errors.Join(fmt.Errorf("lock the bot's folder: %w", err), file.Close())
	}
	return file, nil
}

// InUse reports whether a bot runs in a folder.
func InUse(dir string) (bool, error) {
	pid, _, err := lockOwner(dir)
	return pid != 0, err
}

// IsLog reports whether a file in a bot's folder is kept with the bot's log.
func IsLog(name string) bool { return name == LogFile || name == lockFile }

// lockOwner returns the process that has locked a folder, or 0. existed reports
// whether a bot has ever locked it.
func lockOwner(dir string) (pid int, existed bool, err error) {
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
		return 0, true, fmt.Errorf("query the bot's lock: %w", err)
	}
	if query.Type == syscall.F_UNLCK {
		return 0, true, nil
	}
	return int(query.Pid), true, nil
}
