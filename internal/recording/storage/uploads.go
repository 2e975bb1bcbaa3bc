package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"standin/internal/base/fsutil"
	"standin/internal/bot/ingest"
	"standin/internal/recording"
)

// isCapture reports whether an upload is a capture of a page. Captures are not
// part of the recording, but have the same retention.
func isCapture(name string) bool {
	return strings.HasPrefix(name, ingest.CapturePrefix) && storableName(name)
}

// PutUpload stores a file that a bot uploads. The file becomes visible after the
// whole body was read. A body longer than maxBytes is a recording.TooLargeError, and one
// without the declared SHA-256 (hex) a recording.ChecksumError. Repeating an upload with the
// same name and content changes nothing and is not an error. With other content
// it is a recording.ConflictError, except for ingest.ReportName, which is replaced.
func (r *Recordings) PutUpload(
	ctx context.Context, jobID uuid.UUID, attempt int, name string, content io.Reader, sha256Hex string, maxBytes int64,
) (stored recording.StoredObject, err error) {
	key, err := uploadKey(jobID, attempt, name)
	if err != nil {
		return stored, err
	}
	declared, err := declaredSum(sha256Hex)
	if err != nil {
		return stored, err
	}
	upload := newHashingReader(content, maxBytes)
	stored = recording.StoredObject{Name: name, SHA256: declared, New: true}
	if r.folder != "" && name != ingest.ReportName { // object stores refuse what exists without a request more
		exists, err := r.bucket.Exists(ctx, key)
		if err != nil {
			return stored, err
		}
		if exists {
			return r.confirmUpload(ctx, key, upload, stored)
		}
	}
	err = r.write(ctx, key, upload, declared, name == ingest.ReportName)
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return r.confirmUpload(ctx, key, upload, stored) // it is repeated
	}
	if err != nil {
		return stored, err
	}
	stored.Bytes = upload.length
	return stored, nil
}

// SignUpload signs the upload of a file that the object store can take from the bot itself, or returns none. S3 takes up to 5 GiB
// in one request.
func (r *Recordings) SignUpload(ctx context.Context, bot ingest.Bot, u ingest.DirectUpload) (signed ingest.SignedUpload, err error) {
	if r.sign == nil || !storableName(u.Name) || u.Name == ingest.ReportName || u.Bytes < 1 || u.Bytes > 5<<30 {
		return signed, nil // the service takes the file, or says what is wrong
	}
	key, err := uploadKey(bot.JobID(), bot.Attempt(), u.Name)
	sum, wrong := declaredSum(u.SHA256)
	if err := errors.Join(err, wrong); err != nil {
		return signed, err
	}
	return r.sign(ctx, key, contentType(key), u.Bytes, sum, map[string]string{checksumKey: sum})
}

// DeleteUpload deletes an upload. It may be repeated.
func (r *Recordings) DeleteUpload(ctx context.Context, jobID uuid.UUID, attempt int, name string) error {
	key, err := uploadKey(jobID, attempt, name)
	if err != nil {
		return err
	}
	return r.deleteObject(ctx, key)
}

// confirmUpload reads the whole body and compares it with the stored upload of the
// same name.
func (r *Recordings) confirmUpload(ctx context.Context, key string, upload *hashingReader,
	stored recording.StoredObject) (recording.StoredObject, error) {
	if _, err := io.Copy(io.Discard, upload); err != nil {
		return stored, fmt.Errorf("read the upload of %s: %w", key, err)
	}
	if err := upload.check(stored.SHA256); err != nil {
		return stored, err
	}
	length, sum, err := r.stat(ctx, key)
	if err != nil {
		return stored, err
	}
	if sum != stored.SHA256 {
		return stored, &recording.ConflictError{Name: stored.Name}
	}
	stored.Bytes, stored.New = length, false
	return stored, nil
}

// Uploads lists the uploads of a job's bots by attempt, without captures.
func (r *Recordings) Uploads(ctx context.Context, jobID uuid.UUID) ([]recording.AttemptUploads, error) {
	files, err := r.uploadedFiles(ctx, jobID)
	if err != nil {
		return nil, err
	}
	var attempts []recording.AttemptUploads
	for _, file := range files {
		if isCapture(file.Name) {
			continue
		}
		if last := len(attempts) - 1; last < 0 || attempts[last].Attempt != file.Attempt {
			attempts = append(attempts, recording.AttemptUploads{Attempt: file.Attempt})
		}
		attempt := &attempts[len(attempts)-1]
		attempt.Files = append(attempt.Files, recording.Upload{Name: file.Name, Bytes: file.Bytes})
	}
	return attempts, nil
}

// uploadedFiles lists the uploads and captures of a job's bots, by attempt and name.
func (r *Recordings) uploadedFiles(ctx context.Context, jobID uuid.UUID) ([]recording.Capture, error) {
	folder := uploadsFolder(jobID)
	var files []recording.Capture
	for object, err := range r.objects(ctx, folder) {
		if err != nil {
			return nil, err
		}
		number, name, _ := strings.Cut(strings.TrimPrefix(object.Key, folder), "/")
		attempt, err := strconv.Atoi(number)
		if err != nil || !storableName(name) {
			continue // an unfinished write, or what PutOutput stored
		}
		files = append(files, recording.Capture{Attempt: attempt, Name: name, Bytes: object.Size})
	}
	slices.SortFunc(files, func(a, b recording.Capture) int {
		return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Name, b.Name))
	})
	return files, nil
}

// Captures lists the captures of a job's bots, by attempt and name.
func (r *Recordings) Captures(ctx context.Context, jobID uuid.UUID) ([]recording.Capture, error) {
	files, err := r.uploadedFiles(ctx, jobID)
	return slices.DeleteFunc(files, func(file recording.Capture) bool { return !isCapture(file.Name) }), err
}

// OpenCapture opens a capture for reading; ctx must outlive the reader. If it does
// not exist, the error is a recording.NotFoundError.
func (r *Recordings) OpenCapture(ctx context.Context, jobID uuid.UUID, attempt int,
	name string) (content io.ReadCloser, size int64, err error) {
	key, err := uploadKey(jobID, attempt, name)
	if err != nil || !isCapture(name) {
		return nil, 0, &recording.NotFoundError{What: "the capture"}
	}
	reader, err := r.open(ctx, key, "the capture")
	if err != nil {
		return nil, 0, err
	}
	return reader, reader.Size(), nil
}

// OpenUpload opens an upload for reading; ctx must outlive the reader.
func (r *Recordings) OpenUpload(ctx context.Context, jobID uuid.UUID, attempt int, name string) (io.ReadCloser, error) {
	key, err := uploadKey(jobID, attempt, name)
	if err != nil {
		return nil, err
	}
	return r.open(ctx, key, name)
}

// StatUpload returns the length and the SHA-256, in hex, of an upload. If it does
// not exist, the error is a recording.NotFoundError.
func (r *Recordings) StatUpload(ctx context.Context, jobID uuid.UUID, attempt int,
	name string) (length int64, sha256Hex string, err error) {
	key, err := uploadKey(jobID, attempt, name)
	if err != nil {
		return 0, "", err
	}
	return r.stat(ctx, key)
}

// open opens an object. If it does not exist, the error is a recording.NotFoundError with
// the given description.
func (r *Recordings) open(ctx context.Context, key, description string) (*blob.Reader, error) {
	reader, err := r.bucket.NewReader(ctx, key, nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, &recording.NotFoundError{What: description}
	}
	return reader, err
}

// LeftoverSpool is the local folder of a bot that has ended. It may contain media
// that the bot did not upload.
type LeftoverSpool struct {
	Attempt int
	Folder  string
}

// ImportLeftover stores the files in a spool that the bot did not upload. It is
// safe while the bot still runs, because files appear in the folder only when
// they are complete.
func (r *Recordings) ImportLeftover(ctx context.Context, jobID uuid.UUID, spool LeftoverSpool) error {
	folder := filepath.Join(spool.Folder, ingest.SpoolDir, ingest.SpoolMediaDir)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	uploads, err := r.uploadedFiles(ctx, jobID)
	if err != nil {
		return err
	}
	known := make(map[string]int64) // sizes of the attempt's uploads, by name
	for _, upload := range uploads {
		if upload.Attempt == spool.Attempt {
			known[upload.Name] = upload.Bytes
		}
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // the bot is still running and uploaded the file
		}
		if err != nil {
			return err
		}
		size, uploaded := known[entry.Name()]
		if !info.Mode().IsRegular() || !ingest.ValidMediaName(entry.Name()) ||
			uploaded && size == info.Size() && entry.Name() != ingest.ReportName {
			continue
		}
		err = r.importFile(ctx, jobID, spool.Attempt, filepath.Join(folder, entry.Name()))
		if errors.As(err, new(*recording.ConflictError)) {
			continue // the bot's own upload takes precedence
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// importFile stores a local file as an upload.
func (r *Recordings) importFile(ctx context.Context, jobID uuid.UUID, attempt int, path string) error {
	size, sum, err := fsutil.HashFile(path)
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() // read only
	_, err = r.PutUpload(ctx, jobID, attempt, filepath.Base(path), file, sum, size)
	return err
}
