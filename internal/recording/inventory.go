package recording

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/google/uuid"
	"gocloud.dev/gcerrors"
)

// MissingFiles compares the files in a job's manifest with storage: each one must
// exist and have its size. It returns the differences. It reads no media; Verifier
// does.
func (s *Storage) MissingFiles(ctx context.Context, jobID uuid.UUID) (problems []string, err error) {
	_, manifest, problem, err := s.readManifest(ctx, jobID)
	if err != nil {
		return nil, err
	}
	if problem != "" {
		return []string{problem}, nil
	}
	for _, file := range manifest.Media {
		key, err := mediaKey(jobID, file.Name)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		attributes, err := s.bucket.Attributes(ctx, key)
		switch {
		case gcerrors.Code(err) == gcerrors.NotFound:
			problems = append(problems, file.Name+" is missing")
		case err != nil:
			return nil, fmt.Errorf("stat %s: %w", key, err)
		case attributes.Size != file.Bytes:
			problems = append(problems, fmt.Sprintf("%s has %d bytes, and the manifest %d", file.Name, attributes.Size, file.Bytes))
		}
	}
	return problems, nil
}

// readManifest reads a job's manifest. The problem says why it cannot be used.
func (s *Storage) readManifest(ctx context.Context, jobID uuid.UUID) (text []byte, manifest Manifest, problem string, err error) {
	text, err = s.Manifest(ctx, jobID)
	if missing := new(NotFoundError); errors.As(err, &missing) {
		return nil, Manifest{}, "the manifest is missing", nil
	}
	if err != nil {
		return nil, Manifest{}, "", err
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, Manifest{}, fmt.Sprintf("the manifest is unreadable: %v", err), nil
	}
	return text, manifest, "", nil
}

// CopyRecording copies the files in a job's manifest, and then the manifest, to
// another storage. Files whose SHA-256 differs from the manifest are not copied.
// A recording whose manifest is already there is skipped. It returns what could
// not be copied.
func (s *Storage) CopyRecording(ctx context.Context, target *Storage, jobID uuid.UUID) (problems []string, err error) {
	text, manifest, problem, err := s.readManifest(ctx, jobID)
	if err != nil {
		return nil, err
	}
	if problem != "" {
		return []string{problem}, nil
	}
	if stored, err := target.Manifest(ctx, jobID); err == nil && bytes.Equal(stored, text) {
		return target.MissingFiles(ctx, jobID)
	}
	for _, file := range manifest.Media {
		err := s.copyMedia(ctx, target, jobID, file.File)
		missing, misnamed, changed := new(NotFoundError), new(NameError), new(ChecksumError)
		if errors.As(err, &missing) || errors.As(err, &misnamed) || errors.As(err, &changed) {
			problems = append(problems, fmt.Sprintf("%s: %v", file.Name, err))
		} else if err != nil {
			return nil, err
		}
	}
	if len(problems) > 0 {
		return problems, nil
	}
	sum := sha256.Sum256(text)
	return nil, target.write(ctx, manifestKey(jobID), newHashingReader(bytes.NewReader(text), math.MaxInt64), hex.EncodeToString(sum[:]), true)
}

func (s *Storage) copyMedia(ctx context.Context, target *Storage, jobID uuid.UUID, file File) error {
	content, _, _, err := s.OpenMedia(ctx, jobID, file.Name)
	if err != nil {
		return err
	}
	defer content.Close() // only read
	_, err = target.PutMedia(ctx, jobID, file.Name, content, file.SHA256)
	return err
}
