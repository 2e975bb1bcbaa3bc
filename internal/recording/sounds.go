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

// soundKey returns the key of the sound of a command. It is one of the uploads, so that
// it is deleted with them.
func soundKey(jobID, command uuid.UUID) string {
	return uploadsFolder(jobID) + "sounds/" + command.String() + ".pcm"
}

// PutSound stores the sound that a command makes a bot play.
func (s *Storage) PutSound(ctx context.Context, jobID, command uuid.UUID, pcm []byte) error {
	sum := sha256.Sum256(pcm)
	return s.write(ctx, soundKey(jobID, command), newHashingReader(bytes.NewReader(pcm), int64(len(pcm))), hex.EncodeToString(sum[:]), true)
}

// OpenSound opens the sound of a command for reading; ctx must outlive the reader. If it
// does not exist, the error is a NotFoundError.
func (s *Storage) OpenSound(ctx context.Context, jobID, command uuid.UUID) (content io.ReadCloser, size int64, err error) {
	reader, err := s.open(ctx, soundKey(jobID, command), "the sound")
	if err != nil {
		return nil, 0, err
	}
	return reader, reader.Size(), nil
}

// DeleteSound deletes the sound of a command. It may be repeated.
func (s *Storage) DeleteSound(ctx context.Context, jobID, command uuid.UUID) error {
	if err := s.bucket.Delete(ctx, soundKey(jobID, command)); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return fmt.Errorf("delete a sound: %w", err)
	}
	return nil
}
