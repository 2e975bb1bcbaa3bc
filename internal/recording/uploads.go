package recording

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"standin/internal/ingest"
)

// diagnosticsPrefix begins the names of what bots upload for the operator of
// the service: how a page looked that they could not make out. It is no part
// of a recording, and is kept as long as one would be.
const diagnosticsPrefix = "diagnostics-"

// isDiagnostic reports whether an upload is for the operator.
func isDiagnostic(name string) bool {
	return strings.HasPrefix(name, diagnosticsPrefix) && storableName(name)
}

// AttemptUploads is what one attempt's bot uploaded.
type AttemptUploads struct {
	Attempt int
	Files   []Upload // by name
}

// Upload is an uploaded file.
type Upload struct {
	Name  string
	Bytes int64
}

// PutUpload streams a file that a bot sends into storage. It becomes visible
// only when the whole body was read, is no longer than maxBytes and has the
// declared SHA-256 (hex): TooLargeError, ChecksumError. The same name with the
// same content again is no error and changes nothing; with another content it
// is a ConflictError, but for ingest.ReportName, where the last one counts.
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
			return StoredObject{}, fmt.Errorf("look for %s: %w", key, err)
		}
		if exists {
			return s.confirmUpload(ctx, key, upload, stored)
		}
	}
	err = s.write(ctx, key, upload, declared, name == ingest.ReportName)
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return s.confirmUpload(ctx, key, upload, stored) // another request was quicker
	}
	if err != nil {
		return StoredObject{}, err
	}
	stored.Bytes = upload.length
	return stored, nil
}

// confirmUpload reads the body to its end and compares it with the upload of
// the same name that is there.
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

// Uploads lists what the bots of a job uploaded of its recording, by attempt.
func (s *Storage) Uploads(ctx context.Context, jobID uuid.UUID) ([]AttemptUploads, error) {
	folder := uploadsFolder(jobID)
	var attempts []AttemptUploads
	for object, err := range s.objects(ctx, folder) {
		if err != nil {
			return nil, err
		}
		number, name, _ := strings.Cut(strings.TrimPrefix(object.Key, folder), "/")
		attempt, err := strconv.Atoi(number)
		if err != nil || !storableName(name) || isDiagnostic(name) {
			continue // not of the recording, or the rest of a write that was interrupted
		}
		at := slices.IndexFunc(attempts, func(a AttemptUploads) bool { return a.Attempt == attempt })
		if at < 0 {
			at = len(attempts)
			attempts = append(attempts, AttemptUploads{Attempt: attempt})
		}
		attempts[at].Files = append(attempts[at].Files, Upload{Name: name, Bytes: object.Size})
	}
	slices.SortFunc(attempts, func(a, b AttemptUploads) int { return cmp.Compare(a.Attempt, b.Attempt) })
	for _, attempt := range attempts {
		slices.SortFunc(attempt.Files, func(a, b Upload) int { return cmp.Compare(a.Name, b.Name) })
	}
	return attempts, nil
}

// openUpload opens an upload for reading; ctx must outlive the reader.
func (s *Storage) openUpload(ctx context.Context, jobID uuid.UUID, attempt int, name string) (io.ReadCloser, error) {
	key, err := uploadKey(jobID, attempt, name)
	if err != nil {
		return nil, err
	}
	return s.open(ctx, key, name)
}

// open opens an object; an object that is not there is a NotFoundError that
// calls it what.
func (s *Storage) open(ctx context.Context, key, what string) (*blob.Reader, error) {
	reader, err := s.bucket.NewReader(ctx, key, nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, &NotFoundError{What: what}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	return reader, nil
}
