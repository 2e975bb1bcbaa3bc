// Package fsutil writes files durably, locks them between processes and reads secrets.
package fsutil

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ReadSecret returns the content of a file with a secret, without the white space
// around it.
func ReadSecret(path string) (string, error) {
	content, err := os.ReadFile(path)
	return strings.TrimSpace(string(content)), err
}

// Sync makes the content of a file durable, or the names in a directory. The name
// of a new file is durable only after its directory was synced.
func Sync(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// MkdirAll creates a directory and its missing parents, like os.MkdirAll, and
// calls syncDir, such as Sync, for the parent of each directory that is new.
//
// A directory counts as new while it is empty. Nothing is put into a directory
// before its name is durable, so a call that is interrupted, or that runs beside
// another one, leaves no directory that only seems to be durable.
func MkdirAll(path string, perm fs.FileMode, syncDir func(path string) error) error {
	dir, err := os.Open(path)
	if err == nil {
		_, err = dir.Readdirnames(1)
		dir.Close() // only read
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, fs.ErrNotExist) { // err is nil if the directory has something
		return err
	}
	parent := filepath.Dir(path)
	if parent == path {
		return nil // the root
	}
	if err := MkdirAll(parent, perm, syncDir); err != nil {
		return err
	}
	if err := os.Mkdir(path, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

// WriteFile creates or replaces a file with mode 0600, atomically and durably.
// Only one process at a time may write a file.
func WriteFile(path string, data []byte) error {
	temporary := path + ".new"
	if err := Save(temporary, bytes.NewReader(data)); err != nil {
		return errors.Join(err, os.RemoveAll(temporary))
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	return Sync(filepath.Dir(path))
}

// CopyFile copies a file as Save does.
func CopyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close() // only read
	return Save(to, source)
}

// Save writes what it reads to a new file with mode 0600, or to an existing one that it
// replaces, and syncs it.
func Save(path string, from io.Reader) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// SHA256 returns the SHA-256 of the rest of a reader, in hex.
func SHA256(r io.Reader) (string, error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// HashFile returns the size of a regular file and its SHA-256 in hex.
func HashFile(path string) (size int64, sum string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer file.Close() // only read
	info, err := file.Stat()
	if err != nil {
		return 0, "", err
	}
	if !info.Mode().IsRegular() {
		return 0, "", fmt.Errorf("%s is not a regular file", path)
	}
	sum, err = SHA256(file)
	return info.Size(), sum, err
}
