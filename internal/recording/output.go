package recording

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/google/uuid"
	"gocloud.dev/gcerrors"
)

// outputKey returns the key of what a command makes a bot play or show. It is one of the uploads, so that
// it is deleted with them.
func outputKey(jobID, command uuid.UUID) string {
	return uploadsFolder(jobID) + "output/" + command.String()
}

// PutOutput stores what a command makes a bot play or show.
func (s *Storage) PutOutput(ctx context.Context, jobID, command uuid.UUID, content []byte) error {
	sum := sha256.Sum256(content)
	return s.write(ctx, outputKey(jobID, command), newHashingReader(bytes.NewReader(content), int64(len(content))), hex.EncodeToString(sum[:]), true)
}

// OpenOutput opens what a command makes a bot play or show for reading; ctx must outlive the reader. If it
// does not exist, the error is a NotFoundError.
func (s *Storage) OpenOutput(ctx context.Context, jobID, command uuid.UUID) (content io.ReadCloser, size int64, err error) {
	reader, err := s.open(ctx, outputKey(jobID, command), "the output")
	if err != nil {
		return nil, 0, err
	}
	return reader, reader.Size(), nil
}

// DeleteOutput deletes what PutOutput has stored. It may be repeated.
func (s *Storage) DeleteOutput(ctx context.Context, jobID, command uuid.UUID) error {
	if err := s.bucket.Delete(ctx, outputKey(jobID, command)); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return fmt.Errorf("delete output: %w", err)
	}
	return nil
}
