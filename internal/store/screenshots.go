package store

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store/sqldb"
)

// WatchScreenshot asks the bot of a job for pictures of its page until a time.
func (s *Store) WatchScreenshot(ctx context.Context, jobID uuid.UUID, until time.Time) error {
	err := s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.exec(ctx, `INSERT INTO screenshots (job_id, watched_until, image) VALUES ($1, $2, '')
			ON CONFLICT (job_id) DO UPDATE SET watched_until = excluded.watched_until`, jobID, millis(until))
		return err
	})
	if err != nil {
		return fmt.Errorf("watch the page of job %s: %w", jobID, err)
	}
	return nil
}

// SaveScreenshot replaces the picture of a job's page, if it is watched.
func (tx *Tx) SaveScreenshot(ctx context.Context, jobID uuid.UUID, takenAt time.Time, image []byte) error {
	_, err := tx.exec(ctx, `UPDATE screenshots SET taken_at = $2, image = $3 WHERE job_id = $1`,
		jobID, millis(takenAt), base64.StdEncoding.EncodeToString(image))
	if err != nil {
		return fmt.Errorf("save a picture of the page of job %s: %w", jobID, err)
	}
	return nil
}

// DeleteScreenshot deletes the picture of a job's page.
func (tx *Tx) DeleteScreenshot(ctx context.Context, jobID uuid.UUID) error {
	if _, err := tx.exec(ctx, `DELETE FROM screenshots WHERE job_id = $1`, jobID); err != nil {
		return fmt.Errorf("delete the picture of the page of job %s: %w", jobID, err)
	}
	return nil
}

// Screenshot returns the picture of a job's page; the zero Screenshot if it is not watched.
func (db *Reader) Screenshot(ctx context.Context, jobID uuid.UUID) (job.Screenshot, error) {
	found, err := list(ctx, db, scanScreenshot, `SELECT watched_until, taken_at, image FROM screenshots WHERE job_id = $1`, jobID)
	if err != nil {
		return job.Screenshot{}, fmt.Errorf("read the picture of the page of job %s: %w", jobID, err)
	}
	if len(found) == 0 {
		return job.Screenshot{}, nil
	}
	return found[0], nil
}

func scanScreenshot(row sqldb.Row) (s job.Screenshot, err error) {
	var image string
	if err := row.Scan(timeColumn{&s.WatchedUntil}, timeColumn{&s.TakenAt}, &image); err != nil {
		return job.Screenshot{}, err
	}
	s.Image, err = base64.StdEncoding.DecodeString(image)
	return s, err
}
