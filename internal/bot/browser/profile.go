package browser

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"standin/internal/recording/wav"
)

const (
	// temporaryPrefix is the prefix of directory names outside of the profile.
	temporaryPrefix = "standin-browser-"

	// temporaryLink is a symbolic link in the profile to the directory for
	// temporary files.
	temporaryLink = "tmp"

	// maxTemporaryRootLen keeps the path of Chromium's socket in its temporary
	// directory below the limit of 107 bytes for Unix sockets. The part below the
	// root has about 70.
	maxTemporaryRootLen = 36
)

// makeProfile creates the profile directory, the directory for temporary files
// and the microphone's audio file. It returns the absolute paths of the
// directories. If dir is empty, the profile is a temporary directory.
func makeProfile(dir string) (profile, temporary string, err error) {
	if profile, err = emptyDirectory(dir); err != nil {
		return "", "", fmt.Errorf("create a browser profile: %w", err)
	}
	// Temporary files are outside of the profile because the socket's path is
	// limited.
	root := os.TempDir()
	if len(root) > maxTemporaryRootLen {
		root = "/tmp"
	}
	if temporary, err = os.MkdirTemp(root, temporaryPrefix); err != nil {
		return "", "", fmt.Errorf("create a directory for the browser's temporary files: %w", err)
	}
	if err := os.Symlink(temporary, filepath.Join(profile, temporaryLink)); err != nil {
		return "", "", errors.Join(fmt.Errorf("link the browser's temporary directory: %w", err), os.Remove(temporary))
	}
	const second = 48_000 // samples
	if err := os.WriteFile(filepath.Join(profile, silenceFile), wav.Encode(make([]byte, 2*second), second), 0o600); err != nil {
		return "", "", errors.Join(fmt.Errorf("write the microphone's audio file: %w", err), RemoveProfile(profile))
	}
	if err := writePreferences(profile); err != nil {
		return "", "", errors.Join(err, RemoveProfile(profile))
	}
	return profile, temporary, nil
}

// emptyDirectory creates the directory. It returns an error if the directory is
// not empty.
func emptyDirectory(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("", temporaryPrefix)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("%s is not empty", dir)
	}
	return dir, nil
}

// RemoveProfile removes a profile, which no browser may use, and its temporary files.
func RemoveProfile(profile string) error {
	temporary, err := os.Readlink(filepath.Join(profile, temporaryLink))
	if err == nil && strings.HasPrefix(filepath.Base(temporary), temporaryPrefix) {
		if err := os.RemoveAll(temporary); err != nil {
			return fmt.Errorf("remove the browser's temporary files: %w", err)
		}
	}
	if err := os.RemoveAll(profile); err != nil {
		return fmt.Errorf("remove the browser profile: %w", err)
	}
	return nil
}
