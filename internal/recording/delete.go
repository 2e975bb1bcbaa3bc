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

// DeleteUploads deletes what the bots uploaded, but for what is for the
// operator. It is called only when the manifest is durable, and may be
// repeated.
func (s *Storage) DeleteUploads(ctx context.Context, jobID uuid.UUID) error {
	return s.deleteMatching(ctx, uploadsFolder(jobID), func(key string, _ time.Time) bool { return !isDiagnostic(path.Base(key)) })
}

// DeleteRecording deletes all that storage holds of a job: media, uploads and
// the manifest, which names people. It may be repeated.
func (s *Storage) DeleteRecording(ctx context.Context, jobID uuid.UUID) error {
	return s.deleteMatching(ctx, jobFolder(jobID), func(string, time.Time) bool { return true })
}

// DeleteUnfinished deletes what is left of writes into a folder that were
// interrupted before a moment. Object stores leave nothing that can be listed.
func (s *Storage) DeleteUnfinished(ctx context.Context, jobID uuid.UUID, before time.Time) error {
	return s.deleteMatching(ctx, jobFolder(jobID), func(key string, modified time.Time) bool {
		return isUnfinished(key) && modified.Before(before)
	})
}

// isUnfinished reports whether a key is that of a write in progress or
// interrupted.
func isUnfinished(key string) bool { return path.Ext(key) == unfinishedSuffix }

// deleteMatching deletes the selected objects below a folder.
func (s *Storage) deleteMatching(ctx context.Context, folder string, chosen objectFilter) error {
	if s.folder != "" {
		return s.deleteOnDisk(folder, chosen)
	}
	group, deleting := errgroup.WithContext(ctx)
	group.SetLimit(deleteConcurrency)
	var listing error
	for object, err := range s.objects(deleting, folder) {
		if err != nil {
			listing = err
			break
		}
		if chosen(object.Key, object.ModTime) {
			group.Go(func() error { return s.deleteObject(deleting, object.Key) })
		}
	}
	if err := group.Wait(); err != nil {
		return err // the first: the list may have ended for it
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

// deleteOnDisk deletes the files below a folder that are chosen, and the
// directories that are left empty. The library's lists do not bear that what
// they list goes in the meantime.
func (s *Storage) deleteOnDisk(folder string, chosen objectFilter) error {
	var directories []string
	err := filepath.WalkDir(filepath.Join(s.folder, filepath.FromSlash(folder)), func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			directories = append(directories, name)
			return nil
		}
		var about fs.FileInfo
		if err == nil {
			about, err = entry.Info()
		}
		if err == nil && chosen(filepath.ToSlash(name), about.ModTime()) {
			err = os.Remove(name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone in the meantime, or never there
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("delete %s: %w", folder, err)
	}
	for _, name := range slices.Backward(directories) { // from the inside out
		_ = os.Remove(name) // one that is not empty stays
	}
	return nil
}
