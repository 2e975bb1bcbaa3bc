package recording

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"standin/internal/fsutil"
	"standin/internal/ingest"
)

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
	size, sum, err := fsutil.SyncAndHash(path)
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
