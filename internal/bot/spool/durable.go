package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// lockFile locks a file against other processes. The lock ends with the process.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &lock); err != nil {
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
			err = errors.New("another process has it open")
		}
		return nil, errors.Join(fmt.Errorf("lock the folder: %w", err), file.Close())
	}
	return file, nil
}

// writeTemp writes data to a new file in folder, syncs it and returns its path.
func writeTemp(folder string, data io.Reader) (path string, err error) {
	file, err := os.CreateTemp(folder, "part-*")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(file, data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// syncAndSum syncs a file and returns its size and hex SHA-256.
func syncAndSum(path string) (size int64, sum string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, "", err
	}
	if !info.Mode().IsRegular() {
		return 0, "", fmt.Errorf("%s is not a regular file", path)
	}
	if err := file.Sync(); err != nil {
		return 0, "", err
	}
	sum, err = checksum(file)
	return info.Size(), sum, err
}

// copyToTemp is writeTemp with the data of another file.
func copyToTemp(folder, path string) (string, error) {
	source, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer source.Close()
	return writeTemp(folder, source)
}

// syncDir makes the names in a folder durable, which syncing a file does not.
func syncDir(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// removeContents deletes everything in a folder.
func removeContents(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(folder, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// checksum returns the hex SHA-256 of the remaining data.
func checksum(r io.Reader) (string, error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
