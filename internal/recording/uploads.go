package recording

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

	"standin/internal/fsutil"
	"standin/internal/ingest"
)

// isCapture reports whether an upload is a capture of a page. Captures are not
// part of the recording, but have the same retention.
func isCapture(name string) bool {
	return strings.HasPrefix(name, ingest.CapturePrefix) && storableName(name)
}

// AttemptUploads lists the uploads of one attempt's bot.
type AttemptUploads struct {
	Attempt int
	Files   []Upload // sorted by name
}

// Upload is an uploaded file.
type Upload struct {
	Name  string
	Bytes int64
}

// PutUpload stores a file that a bot uploads. The file becomes visible after the
// whole body was read. A body longer than maxBytes is a TooLargeError, and one
// without the declared SHA-256 (hex) a ChecksumError. Repeating an upload with the
// same name and content changes nothing and is not an error. With other content
// it is a ConflictError, except for ingest.ReportName, which is replaced.
func (s *Storage) PutUpload(
	ctx context.Context, jobID uuid.UUID, attempt int, name string, content io.Reader, sha256Hex string, maxBytes int64,
) (StoredObject, error) {
	key, err := uploadKey(jobID, attempt, name)
	if err != nil {
		return StoredObject{}, err
	}
	declared, err := declaredSum(sha256Hex)
	if err != nil {
		return StoredObject{}, err
	}
	upload := newHashingReader(content, maxBytes)
	stored := StoredObject{Name: name, SHA256: declared, New: true}
	if name != ingest.ReportName {
		exists, err := s.bucket.Exists(ctx, key)
		if err != nil {
			return StoredObject{}, fmt.Errorf("find %s: %w", key, err)
		}
		if exists {
			return s.confirmUpload(ctx, key, upload, stored)
		}
	}
	err = s.write(ctx, key, upload, declared, name == ingest.ReportName)
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return s.confirmUpload(ctx, key, upload, stored) // a concurrent request stored it first
	}
	if err != nil {
		return StoredObject{}, err
	}
	stored.Bytes = upload.length
	return stored, nil
}

// confirmUpload reads the whole body and compares it with the stored upload of the
// same name.
func (s *Storage) confirmUpload(ctx context.Context, key string, upload *hashingReader, stored StoredObject) (StoredObject, error) {
	if _, err := io.Copy(io.Discard, upload); err != nil {
		return StoredObject{}, fmt.Errorf("read the upload of %s: %w", key, err)
	}
	if err := upload.check(stored.SHA256); err != nil {
		return StoredObject{}, err
	}
	length, sum, err := s.stat(ctx, key)
	if err != nil {
		return StoredObject{}, err
	}
	if sum != stored.SHA256 {
		return StoredObject{}, &ConflictError{Name: stored.Name}
	}
	stored.Bytes, stored.New = length, false
	return stored, nil
}

// Uploads lists the uploads of a job's bots by attempt, without captures.
func (s *Storage) Uploads(ctx context.Context, jobID uuid.UUID) ([]AttemptUploads, error) {
	files, err := s.uploadedFiles(ctx, jobID)
	if err != nil {
		return nil, err
	}
	var attempts []AttemptUploads
	for _, file := range files {
		if isCapture(file.Name) {
			continue
		}
		if last := len(attempts) - 1; last < 0 || attempts[last].Attempt != file.Attempt {
			attempts = append(attempts, AttemptUploads{Attempt: file.Attempt})
		}
		attempt := &attempts[len(attempts)-1]
		attempt.Files = append(attempt.Files, Upload{Name: file.Name, Bytes: file.Bytes})
	}
	return attempts, nil
}

// uploadedFiles lists the uploads and captures of a job's bots, by attempt and name.
func (s *Storage) uploadedFiles(ctx context.Context, jobID uuid.UUID) ([]Capture, error) {
	folder := uploadsFolder(jobID)
	var files []Capture
	for object, err := range s.objects(ctx, folder) {
		if err != nil {
			return nil, err
		}
		number, name, _ := strings.Cut(strings.TrimPrefix(object.Key, folder), "/")
		attempt, err := strconv.Atoi(number)
		if err != nil || !storableName(name) {
			continue // an unfinished write, or what PutOutput stored
		}
		files = append(files, Capture{Attempt: attempt, Name: name, Bytes: object.Size})
	}
	slices.SortFunc(files, func(a, b Capture) int {
		return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Name, b.Name))
	})
	return files, nil
}

// Capture is a capture of a page that a bot uploaded.
type Capture struct {
	Attempt int
	Name    string
	Bytes   int64
}

// Captures lists the captures of a job's bots, by attempt and name.
func (s *Storage) Captures(ctx context.Context, jobID uuid.UUID) ([]Capture, error) {
	files, err := s.uploadedFiles(ctx, jobID)
	return slices.DeleteFunc(files, func(file Capture) bool { return !isCapture(file.Name) }), err
}

// OpenCapture opens a capture for reading; ctx must outlive the reader. If it does
// not exist, the error is a NotFoundError.
func (s *Storage) OpenCapture(ctx context.Context, jobID uuid.UUID, attempt int, name string) (content io.ReadCloser, size int64, err error) {
	key, err := uploadKey(jobID, attempt, name)
	if err != nil || !isCapture(name) {
		return nil, 0, &NotFoundError{What: "the capture"}
	}
	reader, err := s.open(ctx, key, "the capture")
	if err != nil {
		return nil, 0, err
	}
	return reader, reader.Size(), nil
}

// OpenUpload opens an upload for reading; ctx must outlive the reader.
func (s *Storage) OpenUpload(ctx context.Context, jobID uuid.UUID, attempt int, name string) (io.ReadCloser, error) {
	key, err := uploadKey(jobID, attempt, name)
	if err != nil {
		return nil, err
	}
	return s.open(ctx, key, name)
}

// StatUpload returns the length and the SHA-256, in hex, of an upload. If it does
// not exist, the error is a NotFoundError.
func (s *Storage) StatUpload(ctx context.Context, jobID uuid.UUID, attempt int, name string) (length int64, sha256Hex string, err error) {
	key, err := uploadKey(jobID, attempt, name)
	if err != nil {
		return 0, "", err
	}
	return s.stat(ctx, key)
}

// open opens an object. If it does not exist, the error is a NotFoundError with
// the given description.
func (s *Storage) open(ctx context.Context, key, description string) (*blob.Reader, error) {
	reader, err := s.bucket.NewReader(ctx, key, nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, &NotFoundError{What: description}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	return reader, nil
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
func (s *Storage) ImportLeftover(ctx context.Context, jobID uuid.UUID, spool LeftoverSpool) error {
	folder := filepath.Join(spool.Folder, ingest.SpoolDir, ingest.SpoolMediaDir)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the files that a bot left: %w", err)
	}
	known, err := s.uploadedSizes(ctx, jobID, spool.Attempt)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // the bot is still running and uploaded the file
		}
		if err != nil {
			return fmt.Errorf("list the files that a bot left: %w", err)
		}
		size, uploaded := known[entry.Name()]
		if !info.Mode().IsRegular() || !ingest.ValidMediaName(entry.Name()) || uploaded && size == info.Size() && entry.Name() != ingest.ReportName {
			continue
		}
		err = s.importFile(ctx, jobID, spool.Attempt, filepath.Join(folder, entry.Name()))
		if conflict := new(ConflictError); errors.As(err, &conflict) {
			continue // the bot's own upload takes precedence
		}
		if err != nil {
			return fmt.Errorf("import %s, which a bot left: %w", entry.Name(), err)
		}
	}
	return nil
}

// uploadedSizes returns the sizes of an attempt's uploads by name.
func (s *Storage) uploadedSizes(ctx context.Context, jobID uuid.UUID, attempt int) (map[string]int64, error) {
	attempts, err := s.Uploads(ctx, jobID)
	if err != nil {
		return nil, fmt.Errorf("list what a bot uploaded: %w", err)
	}
	sizes := make(map[string]int64)
	for _, uploads := range attempts {
		if uploads.Attempt != attempt {
			continue
		}
		for _, file := range uploads.Files {
			sizes[file.Name] = file.Bytes
		}
	}
	return sizes, nil
}

// importFile stores a local file as an upload.
func (s *Storage) importFile(ctx context.Context, jobID uuid.UUID, attempt int, path string) error {
	size, sum, err := fsutil.HashFile(path)
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() // read only
	_, err = s.PutUpload(ctx, jobID, attempt, filepath.Base(path), file, sum, size)
	return err
}
