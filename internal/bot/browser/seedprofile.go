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
	maxSeedBytes = 512 << 20
	maxSeedFiles = 20_000

	// seedProfile is the profile of the user data directory that is copied.
	seedProfile = "Default"
)

// unusable returns why a profile cannot be copied, for the operator.
func unusable(profile, detail string) error {
	return fmt.Errorf("the browser profile %s cannot be used: %s", profile, detail)
}

// copySeedProfile copies the files that keep a user signed in from an operator's
// user data directory to a new profile.
func copySeedProfile(source, profile string) error {
	info, err := os.Stat(source)
	if err != nil {
		if failed, ok := errors.AsType[*fs.PathError](err); ok {
			err = failed.Err // without the path
		}
		return unusable(source, "it does not exist or cannot be read: "+err.Error())
	}
	if !info.IsDir() {
		return unusable(source, "it is not a directory")
	}
	if err := checkPrivate(source, info); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(source, "SingletonLock")); err == nil {
		return unusable(source, "a browser is using it; close that browser, or remove SingletonLock if none is running")
	}
	root, err := os.OpenRoot(source)
	if err != nil {
		return err
	}
	defer root.Close()
	var bytes int64
	files, found := 0, false
	// Cookies and the storage of pages keep a user signed in. Passwords, history, extensions, settings and caches are not copied.
	for _, name := range []string{"Cookies", "Cookies-journal", "Network", "Local Storage", "IndexedDB"} {
		from := filepath.Join(seedProfile, name)
		if _, err := root.Lstat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		found = true
		err = filepath.WalkDir(filepath.Join(source, from), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if path, err = filepath.Rel(source, path); err != nil {
				return err
			}
			copied := filepath.Join(profile, path)
			switch {
			case entry.IsDir():
				return os.MkdirAll(copied, 0o700)
			case entry.Name() == "LOCK" || strings.HasSuffix(entry.Name(), ".lock"):
				return nil // a lock of the browser that used the profile
			case !entry.Type().IsRegular():
				return unusable(source, entry.Name()+" in it is not a regular file")
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			if files++; files > maxSeedFiles {
				return unusable(source, fmt.Sprintf("it has more than %d files", maxSeedFiles))
			}
			if bytes += info.Size(); bytes > maxSeedBytes {
				return unusable(source, fmt.Sprintf("it is larger than %d MiB", maxSeedBytes>>20))
			}
			original, err := root.Open(path)
			if err != nil {
				return err
			}
			defer original.Close()
			if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
				return err
			}
			target, err := os.OpenFile(copied, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			_, err = io.Copy(target, io.LimitReader(original, info.Size()))
			return errors.Join(err, target.Close())
		})
		if err != nil {
			return err
		}
	}
	if !found {
		return unusable(source, "it is not a user data directory of Chromium: there is nothing in "+seedProfile+
			"; create one with `chromium --password-store=basic --user-data-dir="+source+"` and sign in there")
	}
	return nil
}
