package spool

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

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
