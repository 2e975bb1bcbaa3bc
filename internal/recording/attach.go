package recording

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// TextFile is a text file to attach to a finished recording.
type TextFile struct {
	Name        string
	Kind        MediaKind
	ContentType string
	Content     []byte
}

// Attach stores text files and adds them to the manifest of a finished recording,
// in place of earlier ones with their names, and increments the manifest's
// revision, which it returns. Nothing changes if the manifest lists the same files already. If there is no
// manifest, the error is a NotFoundError. Calls for the same job must not run
// concurrently.
func (s *Storage) Attach(ctx context.Context, jobID uuid.UUID, baseURL string, files []TextFile) (revision int, err error) {
	manifest, exists, err := s.storedManifest(ctx, jobID)
	if err != nil {
		return 0, err
	}
	if !exists {
		return 0, &NotFoundError{What: "the manifest"}
	}
	changed := false
	for _, file := range files {
		sum := sha256.Sum256(file.Content)
		media := Media{URI: MediaURI(baseURL, jobID.String(), file.Name), File: File{
			Name: file.Name, Kind: file.Kind, ContentType: file.ContentType, Bytes: int64(len(file.Content)), SHA256: hex.EncodeToString(sum[:]),
		}}
		if slices.Contains(manifest.Media, media) {
			continue
		}
		changed = true
		if _, err := s.PutMedia(ctx, jobID, file.Name, bytes.NewReader(file.Content), media.SHA256); err != nil {
			return 0, fmt.Errorf("attach %s: %w", file.Name, err)
		}
		manifest.Media = slices.DeleteFunc(manifest.Media, func(m Media) bool { return m.Name == file.Name })
		manifest.Media = append(manifest.Media, media)
	}
	if !changed {
		return manifest.Revision, nil
	}
	manifest.Revision = max(manifest.Revision, 1) + 1
	if err := s.PutManifest(ctx, jobID, manifest); err != nil {
		return 0, fmt.Errorf("attach files: %w", err)
	}
	return manifest.Revision, nil
}

// MediaPosition converts an offset of a recording to a position in its video or
// mixed audio, which has no gaps.
func MediaPosition(offsetMs int64, gaps []Gap) time.Duration { return mediaPosition(offsetMs, gaps) }
