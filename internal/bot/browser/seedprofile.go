package browser

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	largestSeed     = 512 << 20
	mostSeededFiles = 20_000

	// seedProfile is the one profile of a user data folder that is used.
	seedProfile = "Default"
)

// seededPlaces are what makes a visitor signed in: cookies, and what pages
// store themselves. Everything else in a profile, such as passwords, history,
// extensions, settings and caches, stays where it is.
func seededPlaces() []string {
	return []string{"Cookies", "Cookies-journal", "Network", "Local Storage", "IndexedDB"}
}

// SeedError says why a profile cannot be used to start from. Its text is meant
// for the operator.
type SeedError struct {
	Path   string
	Detail string
}

// Error tells how to mend it.
func (e *SeedError) Error() string {
	return "the browser profile " + e.Path + " cannot be used: " + e.Detail
}

// seeding is the copying of an operator's profile, within its bounds.
type seeding struct {
	source string
	bytes  int64
	files  int
}

// seed copies what makes a visitor signed in from an operator's user data folder
// into a fresh profile. The operator's own is only read.
func seed(source, profile string) error {
	info, err := os.Stat(source)
	if err != nil {
		return &SeedError{Path: source, Detail: "it is not there: " + reason(err)}
	}
	if !info.IsDir() {
		return &SeedError{Path: source, Detail: "it is no folder"}
	}
	if err := keptPrivate(source, info); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(source, "SingletonLock")); err == nil {
		return &SeedError{Path: source, Detail: "a browser is using it; close that browser, or remove SingletonLock if none is running"}
	}
	s := &seeding{source: source}
	found := false
	for _, place := range seededPlaces() {
		from := filepath.Join(source, seedProfile, place)
		if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		found = true
		if err := s.copyTree(from, filepath.Join(profile, seedProfile, place)); err != nil {
			return err
		}
	}
	if !found {
		return &SeedError{Path: source, Detail: "it is no user data folder of Chromium: there is nothing in " + seedProfile +
			"; make one with `chromium --password-store=basic --user-data-dir=" + source + "` and sign in there"}
	}
	return nil
}

// copyTree copies a file or a folder with all that is in it.
func (s *seeding) copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("reading the browser profile %s: %w", s.source, err)
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return fmt.Errorf("reading the browser profile %s: %w", s.source, err)
		}
		return s.copyEntry(path, filepath.Join(to, relative), entry)
	})
}

// copyEntry copies one folder or file.
func (s *seeding) copyEntry(from, to string, entry fs.DirEntry) error {
	switch {
	case entry.IsDir():
		if err := os.MkdirAll(to, 0o700); err != nil {
			return fmt.Errorf("seeding the browser profile: %w", err)
		}
		return nil
	case entry.Name() == "LOCK" || strings.HasSuffix(entry.Name(), ".lock"):
		return nil // of the browser that had it open
	case !entry.Type().IsRegular():
		return &SeedError{Path: s.source, Detail: entry.Name() + " in it is a link or no plain file"}
	}
	info, err := entry.Info()
	if err != nil {
		return fmt.Errorf("reading the browser profile: %w", err)
	}
	if s.files++; s.files > mostSeededFiles {
		return &SeedError{Path: s.source, Detail: fmt.Sprintf("it has more than %d files", mostSeededFiles)}
	}
	if s.bytes += info.Size(); s.bytes > largestSeed {
		return &SeedError{Path: s.source, Detail: fmt.Sprintf("it is larger than %d MiB", largestSeed>>20)}
	}
	return copyFile(from, to, info.Size())
}

// copyFile copies a file up to the size that was counted.
func copyFile(from, to string, size int64) error {
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("reading the browser profile: %w", err)
	}
	defer source.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("seeding the browser profile: %w", err)
	}
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("seeding the browser profile: %w", err)
	}
	_, err = io.Copy(target, io.LimitReader(source, size))
	if err = errors.Join(err, target.Close()); err != nil {
		return fmt.Errorf("seeding the browser profile: %w", err)
	}
	return nil
}

// reason is the operating system's part of an error about a file.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
