package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store/sqldb"
)

// InsertShareLink stores a link to the recording of a job.
func (s *Store) InsertShareLink(ctx context.Context, link job.ShareLink) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.exec(ctx, `INSERT INTO share_links (hash, job_id, created_at, created_by, expires_at) VALUES ($1, $2, $3, $4, $5)`,
			link.Hash, link.JobID, millis(link.CreatedAt), link.CreatedBy, millis(link.ExpiresAt))
		if err != nil {
			return fmt.Errorf("insert a link to the recording of job %s: %w", link.JobID, err)
		}
		return nil
	})
}

const selectShareLink = `SELECT hash, job_id, created_at, created_by, expires_at FROM share_links `

// ShareLink returns a link, or a *job.Error with NotFound.
func (db *Reader) ShareLink(ctx context.Context, hash string) (job.ShareLink, error) {
	return one(db.queryRow(ctx, selectShareLink+`WHERE hash = $1`, hash), scanShareLink, "link")
}

// ShareLinks returns the newest links to the recording of a job, up to limit. It uses the
// index share_links_job.
func (db *Reader) ShareLinks(ctx context.Context, jobID uuid.UUID, limit int) ([]job.ShareLink, error) {
	links, err := list(ctx, db, scanShareLink, selectShareLink+`WHERE job_id = $1 ORDER BY created_at DESC LIMIT $2`, jobID, limit)
	if err != nil {
		return nil, fmt.Errorf("list the links to the recording of job %s: %w", jobID, err)
	}
	return links, nil
}

// DeleteShareLink deletes a link to the recording of a job. A link that does not exist is not an error.
func (s *Store) DeleteShareLink(ctx context.Context, jobID uuid.UUID, hash string) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if _, err := tx.exec(ctx, `DELETE FROM share_links WHERE hash = $1 AND job_id = $2`, hash, jobID); err != nil {
			return fmt.Errorf("delete a link to the recording of job %s: %w", jobID, err)
		}
		return nil
	})
}

func scanShareLink(row sqldb.Row) (l job.ShareLink, err error) {
	err = row.Scan(&l.Hash, &l.JobID, timeColumn{&l.CreatedAt}, &l.CreatedBy, timeColumn{&l.ExpiresAt})
	return l, err
}
