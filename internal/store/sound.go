package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
)

// SetSoundNode sets the URL of the node to which the bot of a job sends live sound. With an
// empty URL, it removes that of from.
func (s *Store) SetSoundNode(ctx context.Context, jobID uuid.UUID, url, from string) error {
	err := s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.exec(ctx, `UPDATE jobs SET sound_url = $2 WHERE id = $1 AND ($2 <> '' OR sound_url = $3)`, jobID, url, from)
		return err
	})
	if err != nil {
		return fmt.Errorf("set the node with the sound of job %s: %w", jobID, err)
	}
	return nil
}

// SoundNode returns the URL of the node to which the bot of a job sends live sound; empty if
// there is none.
func (db *Reader) SoundNode(ctx context.Context, jobID uuid.UUID) (string, error) {
	return db.firstText(ctx, `SELECT sound_url FROM jobs WHERE id = $1`, jobID)
}
