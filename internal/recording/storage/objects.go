package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
	"golang.org/x/sync/errgroup"

	"standin/internal/base/fsutil"
	"standin/internal/bot/ingest"
	"standin/internal/recording"
)

// checksumKey is the metadata key of an object's SHA-256 in object stores.
// Folders have no metadata, so the checksum is computed when it is needed.
const checksumKey = "sha256"

// hashingReader computes the SHA-256 of a stream while it is read, and fails when
// the stream is longer than limit.
type hashingReader struct {
	reader io.Reader
	sum    hash.Hash
	length int64
	limit  int64
}

func newHashingReader(reader io.Reader, limit int64) *hashingReader {
	return &hashingReader{reader: reader, sum: sha256.New(), limit: limit}
}

func (b *hashingReader) Read(buffer []byte) (int, error) {
	n, err := b.reader.Read(buffer)
	b.sum.Write(buffer[:n])
	b.length += int64(n)
	if b.length > b.limit {
		return n, &recording.TooLargeError{MaxBytes: b.limit}
	}
	return n, err
}

// check returns a recording.ChecksumError if the read data does not have the declared
// SHA-256.
func (b *hashingReader) check(declared string) error {
	if actual := hex.EncodeToString(b.sum.Sum(nil)); actual != declared {
		return &recording.ChecksumError{Declared: declared, Actual: actual}
	}
	return nil
}

// declaredSum returns a SHA-256 in the form used in storage, lowercase hex.
func declaredSum(text string) (string, error) {
	sum, err := hex.DecodeString(text)
	if err != nil || len(sum) != sha256.Size {
		return "", &recording.ChecksumError{Declared: text}
	}
	return hex.EncodeToString(sum), nil
}

// buffers are for small objects.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// write stores the content under key if it has the declared SHA-256. If the object
// exists and replace is false, gcerrors.Code returns FailedPrecondition for the
// error.
func (r *Recordings) write(ctx context.Context, key string, content *hashingReader, declared string, replace bool) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", key, err)
		}
	}()
	if err := r.makeFolder(key); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var file *os.File // the temporary file, in a folder
	options := &blob.WriterOptions{
		ContentType: contentType(key),
		Metadata:    map[string]string{checksumKey: declared},
		IfNotExist:  !replace,
		BeforeWrite: func(as func(any) bool) error {
			as(&file)
			return nil
		},
	}
	body := io.Reader(content)
	if r.folder == "" { // what is small is sent from memory, because the library takes 8 MiB for a part of a stream
		start, _ := buffers.Get().(*bytes.Buffer)
		start.Reset()
		switch _, err := io.CopyN(start, content, 1<<20); {
		case errors.Is(err, io.EOF):
			if err := content.check(declared); err != nil {
				return err
			}
			if err := r.bucket.Upload(ctx, key, bytes.NewReader(start.Bytes()), options); err != nil {
				return err
			}
			buffers.Put(start) // after a failure, it may still be being sent
			return nil
		case err != nil:
			return err
		}
		body = io.MultiReader(start, content)
	}
	writer, err := r.bucket.NewWriter(ctx, key, options)
	if err != nil {
		return err
	}
	_, err = io.Copy(writer, body)
	if err == nil {
		err = content.check(declared)
	}
	if err == nil && file != nil {
		err = r.disk.syncFile(file)
	}
	if err != nil {
		cancel()           // Close stores the object unless its context was cancelled
		_ = writer.Close() // it always fails after cancel
		return err
	}
	if r.folder == "" {
		return writer.Close()
	}
	r.committing.Lock()
	err = writer.Close()
	r.committing.Unlock()
	if err != nil {
		return err
	}
	return r.disk.syncDir(r.folderOf(key))
}

// writeBytes stores the content under key. It replaces an existing object.
func (r *Recordings) writeBytes(ctx context.Context, key string, content []byte) error {
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	return r.write(ctx, key, newHashingReader(bytes.NewReader(content), int64(len(content))), sum, true)
}

// stat returns the length and SHA-256 of an object.
func (r *Recordings) stat(ctx context.Context, key string) (length int64, sum string, err error) {
	attributes, err := r.bucket.Attributes(ctx, key)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return 0, "", &recording.NotFoundError{What: key}
	}
	if err != nil {
		return 0, "", err
	}
	if sum := attributes.Metadata[checksumKey]; sum != "" {
		return attributes.Size, sum, nil
	}
	reader, err := r.open(ctx, key, key)
	if err != nil {
		return 0, "", err
	}
	defer reader.Close() // read only
	if sum, err = fsutil.SHA256(reader); err != nil {
		return 0, "", err
	}
	return reader.Size(), sum, nil
}

// deleteConcurrency is the number of objects deleted at a time. Each deletion
// costs round trips to the store.
const deleteConcurrency = 16

// objectFilter selects objects by key and time of writing.
type objectFilter func(key string, modified time.Time) bool

// DeleteUploads deletes the uploads of a job's bots except captures of pages. Call
// it only after the manifest is stored. It may be repeated.
func (r *Recordings) DeleteUploads(ctx context.Context, jobID uuid.UUID) error {
	return r.deleteMatching(ctx, uploadsFolder(jobID), func(key string, _ time.Time) bool {
		return !strings.HasPrefix(path.Base(key), ingest.CapturePrefix) // also one that is being written
	})
}

// DeleteRecording deletes all stored objects of a job: media, uploads and the
// manifest. It may be repeated.
func (r *Recordings) DeleteRecording(ctx context.Context, jobID uuid.UUID) error {
	return r.deleteMatching(ctx, jobFolder(jobID), func(string, time.Time) bool { return true })
}

// DeleteUnfinished deletes the files of interrupted writes to a folder that were
// last changed before a time. Interrupted writes to object stores cannot be
// listed.
func (r *Recordings) DeleteUnfinished(ctx context.Context, jobID uuid.UUID, before time.Time) error {
	return r.deleteMatching(ctx, jobFolder(jobID), func(key string, modified time.Time) bool {
		return isUnfinished(key) && modified.Before(before)
	})
}

// isUnfinished reports whether a key belongs to a write in progress or to an
// interrupted write.
func isUnfinished(key string) bool { return path.Ext(key) == unfinishedSuffix }

// deleteMatching deletes the selected objects below a folder.
func (r *Recordings) deleteMatching(ctx context.Context, folder string, selected objectFilter) error {
	if r.folder != "" {
		return r.deleteOnDisk(folder, selected)
	}
	group, deleting := errgroup.WithContext(ctx)
	group.SetLimit(deleteConcurrency)
	var listing error
	for object, err := range r.objects(deleting, folder) {
		if err != nil {
			listing = err
			break
		}
		if selected(object.Key, object.ModTime) {
			group.Go(func() error { return r.deleteObject(deleting, object.Key) })
		}
	}
	if err := group.Wait(); err != nil {
		return err // the first error: it may also have ended the listing
	}
	return listing
}

func (r *Recordings) deleteObject(ctx context.Context, key string) error {
	if err := r.bucket.Delete(ctx, key); gcerrors.Code(err) != gcerrors.NotFound {
		return err
	}
	return nil
}

// deleteOnDisk deletes the selected files below a folder, and then empty
// directories. It does not use the blob library, whose listings fail when a
// listed file is deleted concurrently.
func (r *Recordings) deleteOnDisk(folder string, selected objectFilter) error {
	var directories []string
	err := filepath.WalkDir(filepath.Join(r.folder, filepath.FromSlash(folder)), func(name string, entry fs.DirEntry, err error) error {
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
