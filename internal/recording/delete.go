package recording

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"
	"gocloud.dev/gcerrors"
	"golang.org/x/sync/errgroup"
)

// deleteConcurrency is the number of objects deleted at a time. Each deletion
// costs round trips to the store.
const deleteConcurrency = 16

// objectFilter selects objects by key and time of writing.
type objectFilter func(key string, modified time.Time) bool

// DeleteUploads deletes the uploads of a job's bots except captures of pages. Call
// it only after the manifest is stored. It may be repeated.
func (s *Storage) DeleteUploads(ctx context.Context, jobID uuid.UUID) error {
	return s.deleteMatching(ctx, uploadsFolder(jobID), func(key string, _ time.Time) bool { return !isCapture(path.Base(key)) })
}

// DeleteRecording deletes all stored objects of a job: media, uploads and the
// manifest. It may be repeated.
func (s *Storage) DeleteRecording(ctx context.Context, jobID uuid.UUID) error {
	return s.deleteMatching(ctx, jobFolder(jobID), func(string, time.Time) bool { return true })
}

// DeleteUnfinished deletes the files of interrupted writes to a folder that were
// last changed before a time. Interrupted writes to object stores cannot be
// listed.
func (s *Storage) DeleteUnfinished(ctx context.Context, jobID uuid.UUID, before time.Time) error {
	return s.deleteMatching(ctx, jobFolder(jobID), func(key string, modified time.Time) bool {
		return isUnfinished(key) && modified.Before(before)
	})
}

// isUnfinished reports whether a key belongs to a write in progress or to an
// interrupted write.
func isUnfinished(key string) bool { return path.Ext(key) == unfinishedSuffix }

// deleteMatching deletes the selected objects below a folder.
func (s *Storage) deleteMatching(ctx context.Context, folder string, selected objectFilter) error {
	if s.folder != "" {
		return s.deleteOnDisk(folder, selected)
	}
	group, deleting := errgroup.WithContext(ctx)
	group.SetLimit(deleteConcurrency)
	var listing error
	for object, err := range s.objects(deleting, folder) {
		if err != nil {
			listing = err
			break
		}
		if selected(object.Key, object.ModTime) {
			group.Go(func() error { return s.deleteObject(deleting, object.Key) })
		}
	}
	if err := group.Wait(); err != nil {
		return err // the first error: it may also have ended the listing
	}
	return listing
}

func (s *Storage) deleteObject(ctx context.Context, key string) error {
	err := s.bucket.Delete(ctx, key)
	if err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

// deleteOnDisk deletes the selected files below a folder, and then empty
// directories. It does not use the blob library, whose listings fail when a
// listed file is deleted concurrently.
func (s *Storage) deleteOnDisk(folder string, selected objectFilter) error {
	var directories []string
	err := filepath.WalkDir(filepath.Join(s.folder, filepath.FromSlash(folder)), func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			directories = append(directories, name)
			return nil
		}
		var info fs.FileInfo
		if err == nil {
			info, err = entry.Info()
		}
		if err == nil && selected(filepath.ToSlash(name), info.ModTime()) {
			err = os.Remove(name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // already deleted, or never stored
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("delete %s: %w", folder, err)
	}
	for _, name := range slices.Backward(directories) { // innermost first
		_ = os.Remove(name) // fails for a directory that is not empty
	}
	return nil
}
