package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store/sqldb"
)

// ChangeSummary changes the summary of a job, which the caller has locked.
func (tx *Tx) ChangeSummary(ctx context.Context, id uuid.UUID, change func(*job.Summary)) error {
	var encoded []byte
	if err := tx.queryRow(ctx, `SELECT summary FROM jobs WHERE id = $1`, id).Scan(&encoded); err != nil {
		return fmt.Errorf("read the summary of job %s: %w", id, err)
	}
	var summary job.Summary
	if err := json.Unmarshal(encoded, &summary); err != nil {
		return fmt.Errorf("decode the summary of job %s: %w", id, err)
	}
	change(&summary)
	encoded, err := json.Marshal(summary)
	if err != nil {
		return fmt.Errorf("encode the summary of job %s: %w", id, err)
	}
	if _, err := tx.exec(ctx, `UPDATE jobs SET summary = $2 WHERE id = $1`, id, string(encoded)); err != nil {
		return fmt.Errorf("save the summary of job %s: %w", id, err)
	}
	return nil
}

// Progress returns the progress of some jobs by ID, without those that do not exist.
func (db *Reader) Progress(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]job.Progress, error) {
	all := make(map[uuid.UUID]job.Progress, len(ids))
	err := db.forEach(ctx, func(row sqldb.Row) error {
		var id uuid.UUID
		var p job.Progress
		var summary []byte
		if err := row.Scan(&id, timeColumn{&p.StatusSince}, &p.Stats, &summary); err != nil {
			return err
		}
		if err := json.Unmarshal(summary, &p.Summary); err != nil {
			return fmt.Errorf("decode a summary: %w", err)
		}
		all[id] = p
		return nil
	}, `SELECT id, status_since, stats, summary FROM jobs WHERE id `+db.dialect.In(1), jsonArray(ids))
	if err != nil {
		return nil, fmt.Errorf("read the progress of jobs: %w", err)
	}
	return all, nil
}
