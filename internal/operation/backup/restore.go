package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"standin/internal/base/fsutil"
	"standin/internal/store/dump"
)

// Restored is the result of Restore.
type Restored struct {
	Description Description   `json:"-"` // describes the backup
	Recorded    int           `json:"recorded"`
	Problems    []Problem     `json:"recordingsProblems"`
	Duration    time.Duration `json:"-"`
}

// Restore loads a backup into the database and the storage of a service that is
// not running. The caller holds the lock of the data directory. It checks every
// file of the backup first. A database that is not empty is replaced only with
// Force: otherwise the error is dump.ErrNotEmpty. Problems with recordings are
// in the result and are no error.
func Restore(ctx context.Context, settings Settings) (result Restored, err error) {
	start := time.Now()
	description, err := read(settings.Dir)
	if err != nil {
		return result, err
	}
	if err := dump.Load(ctx, settings.Database, filepath.Join(settings.Dir, databaseDir), description.Database, settings.Force); err != nil {
		return result, fmt.Errorf("restore the database: %w", err)
	}
	if err := restoreKey(settings, description); err != nil {
		return result, err
	}
	result = Restored{Description: description, Problems: []Problem{}}
	if settings.Recordings != SkipRecordings {
		if result.Recorded, result.Problems, err = checkRecordings(ctx, settings, description.Recordings, true); err != nil {
			return result, err
		}
	}
	result.Duration = time.Since(start)
	return result, nil
}

// restoreKey copies the signing key to the data directory. Another key there is
// kept under another name.
func restoreKey(settings Settings, description Description) error {
	if !slices.ContainsFunc(description.Files, func(f File) bool { return f.Path == keyFile }) {
		return nil
	}
	key, err := os.ReadFile(filepath.Join(settings.Dir, keyFile))
	if err != nil {
		return err
	}
	path := filepath.Join(settings.DataDir, keyFile)
	existing, err := os.ReadFile(path)
	if err == nil && bytes.Equal(existing, key) {
		return nil
	}
	if err == nil {
		err = os.Rename(path, path+".replaced-"+time.Now().UTC().Format("20060102T150405.000Z"))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the replaced signing key: %w", err)
	}
	return fsutil.WriteFile(path, key)
}
