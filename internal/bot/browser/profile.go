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
// directories. dir must be absent or an empty directory; if it is "", the profile is a temporary directory.
func makeProfile(dir string) (profile, temporary string, err error) {
	if dir == "" {
		profile, err = os.MkdirTemp("", temporaryPrefix)
	} else if profile, err = filepath.Abs(dir); err == nil {
		err = os.MkdirAll(profile, 0o700)
	}
	var entries []os.DirEntry
	if err == nil {
		entries, err = os.ReadDir(profile)
	}
	if len(entries) > 0 {
		err = fmt.Errorf("%s is not empty", profile)
	}
	if err != nil {
		return "", "", fmt.Errorf("create a browser profile: %w", err)
	}
	// Temporary files are outside of the profile because the socket's path is
	// limited.
	root := os.TempDir()
	if len(root) > maxTemporaryRootLen {
		root = "/tmp"
	}
	if temporary, err = os.MkdirTemp(root, temporaryPrefix); err != nil {
		return "", "", err
	}
	if err := os.Symlink(temporary, filepath.Join(profile, temporaryLink)); err != nil {
		return "", "", errors.Join(err, os.Remove(temporary))
	}
	const second = 48_000 // samples
	if err := os.WriteFile(filepath.Join(profile, silenceFile), wav.Encode(make([]byte, 2*second), second), 0o600); err != nil {
		return "", "", errors.Join(err, RemoveProfile(profile))
	}
	if err := writePreferences(profile); err != nil {
		return "", "", errors.Join(err, RemoveProfile(profile))
	}
	return profile, temporary, nil
}

// RemoveProfile removes a profile, which no browser may use, and its temporary files.
func RemoveProfile(profile string) error {
	temporary, err := os.Readlink(filepath.Join(profile, temporaryLink))
	if err == nil && strings.HasPrefix(filepath.Base(temporary), temporaryPrefix) {
		if err := os.RemoveAll(temporary); err != nil {
			return err
		}
	}
	return os.RemoveAll(profile)
}
