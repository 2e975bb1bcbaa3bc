package browser

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	// temporaryPrefix starts the name of every directory made here outside of
	// the profile.
	temporaryPrefix = "standin-browser-"

	// temporaryLink is the link in a profile to its directory for temporary
	// files, so that whoever finds the profile finds both.
	temporaryLink = "tmp"

	// longestTemporaryRoot keeps the socket that Chromium makes among its
	// temporary files within the 107 bytes that Unix sockets allow: the
	// names below it take about 70.
	longestTemporaryRoot = 36
)

// makeProfile makes the profile directory, the directory for the browser's
// temporary files and the silent microphone. It returns the absolute paths of
// the directories. An empty dir stands for a temporary one.
func makeProfile(dir string) (profile, temporary string, err error) {
	if profile, err = emptyDirectory(dir); err != nil {
		return "", "", fmt.Errorf("making a browser profile: %w", err)
	}
	// Temporary files lie outside of the profile only for the length of the
	// socket's path.
	root := os.TempDir()
	if len(root) > longestTemporaryRoot {
		root = "/tmp"
	}
	if temporary, err = os.MkdirTemp(root, temporaryPrefix); err != nil {
		return "", "", fmt.Errorf("making a directory for the browser's temporary files: %w", err)
	}
	if err := os.Symlink(temporary, filepath.Join(profile, temporaryLink)); err != nil {
		return "", "", errors.Join(fmt.Errorf("noting the browser's temporary directory: %w", err), os.Remove(temporary))
	}
	if err := os.WriteFile(filepath.Join(profile, silenceFile), silentWAV(), 0o600); err != nil {
		return "", "", errors.Join(fmt.Errorf("writing the silent microphone: %w", err), wipeProfile(profile))
	}
	return profile, temporary, nil
}

// emptyDirectory makes the directory and refuses one that holds anything.
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

// wipeProfile removes a profile and its temporary files.
func wipeProfile(profile string) error {
	temporary, err := os.Readlink(filepath.Join(profile, temporaryLink))
	if err == nil && strings.HasPrefix(filepath.Base(temporary), temporaryPrefix) {
		if err := os.RemoveAll(temporary); err != nil {
			return fmt.Errorf("removing the browser's temporary files: %w", err)
		}
	}
	if err := os.RemoveAll(profile); err != nil {
		return fmt.Errorf("removing the browser profile: %w", err)
	}
	return nil
}
