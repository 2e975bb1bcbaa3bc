package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store/sqldb"
)

// InsertTranscription makes the transcription of a job due. It does nothing when
// there is one.
func (tx *Tx) InsertTranscription(ctx context.Context, jobID uuid.UUID, now time.Time) error {
	_, err := tx.exec(ctx, `INSERT INTO transcriptions (job_id, created_at, due_at, lease, failures, sent_ms, requested) VALUES ($1, $2, $2, '', 0, 0, '')
		ON CONFLICT (job_id) DO NOTHING`, jobID, millis(now))
	if err != nil {
		return fmt.Errorf("queue the transcription of job %s: %w", jobID, err)
	}
	return nil
}

// RequestTranscription makes a transcription with other options due. It reports false if
// there is one that has not ended.
func (tx *Tx) RequestTranscription(ctx context.Context, jobID uuid.UUID, now time.Time, options job.TranscriptionOptions) (bool, error) {
	requested, err := json.Marshal(options)
	if err != nil {
		return false, fmt.Errorf("encode the options of a transcription: %w", err)
	}
	n, err := tx.exec(ctx, `INSERT INTO transcriptions (job_id, created_at, due_at, lease, failures, sent_ms, requested) VALUES ($1, $2, $2, '', 0, 0, $3)
		ON CONFLICT (job_id) DO UPDATE SET created_at = excluded.created_at, due_at = excluded.due_at, failures = 0, requested = excluded.requested
		WHERE transcriptions.due_at IS NULL`, jobID, millis(now), string(requested))
	if err != nil {
		return false, fmt.Errorf("queue another transcription of job %s: %w", jobID, err)
	}
	return n > 0, nil
}

// HasTexts reports whether the bots of a job reported chat messages or captions.
func (db *Reader) HasTexts(ctx context.Context, jobID uuid.UUID) (bool, error) {
	var n int
	if err := db.queryRow(ctx, `SELECT COUNT(*) FROM meeting_text_totals WHERE job_id = $1`, jobID).Scan(&n); err != nil {
		return false, fmt.Errorf("find the texts of job %s: %w", jobID, err)
	}
	return n > 0, nil
}

// ClaimTranscription leases the transcription that has been due for the longest
// time; false when none is due. It uses the index transcriptions_due.
func (s *Store) ClaimTranscription(ctx context.Context, now, until time.Time, lease string) (claimed job.Transcription, ok bool, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		due, err := list(ctx, &tx.Reader, func(row sqldb.Row) (t job.Transcription, err error) {
			var requested string
			err = row.Scan(&t.JobID, timeColumn{&t.CreatedAt}, &t.Failures, durationColumn{&t.Sent}, &requested)
			if err == nil && requested != "" {
				err = json.Unmarshal([]byte(requested), &t.Again)
			}
			return t, err
		}, `SELECT job_id, created_at, failures, sent_ms, requested FROM transcriptions WHERE due_at <= $1 ORDER BY due_at LIMIT 1`+tx.dialect.SkipLocked, millis(now))
		if err != nil || len(due) == 0 {
			claimed, ok = job.Transcription{}, false
			return err
		}
		claimed, ok = due[0], true
		claimed.Lease = lease
		_, err = tx.exec(ctx, `UPDATE transcriptions SET lease = $2, due_at = $3 WHERE job_id = $1`, claimed.JobID, lease, millis(until))
		return err
	})
	if err != nil {
		return job.Transcription{}, false, fmt.Errorf("claim a transcription: %w", err)
	}
	return claimed, ok, nil
}

// SaveTranscription saves the failures and the accepted audio of a leased
// transcription, and when it is due again: the end of its lease, or of a pause
// between attempts. It reports false when the lease was lost.
func (s *Store) SaveTranscription(ctx context.Context, t job.Transcription, due time.Time) (valid bool, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		n, err := tx.exec(ctx, `UPDATE transcriptions SET failures = $3, sent_ms = $4, due_at = $5 WHERE job_id = $1 AND lease = $2 AND due_at IS NOT NULL`,
			t.JobID, t.Lease, t.Failures, t.Sent.Milliseconds(), millis(due))
		valid = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("save the transcription of job %s: %w", t.JobID, err)
	}
	return valid, nil
}

// HoldsTranscription reports whether the lease of a transcription is still valid,
// and locks it until the transaction ends.
func (tx *Tx) HoldsTranscription(ctx context.Context, jobID uuid.UUID, lease string) (bool, error) {
	held, err := tx.firstText(ctx, `SELECT lease FROM transcriptions WHERE job_id = $1 AND due_at IS NOT NULL`+tx.dialect.ForUpdate, jobID)
	if err != nil {
		return false, fmt.Errorf("read the transcription of job %s: %w", jobID, err)
	}
	return held != "" && held == lease, nil
}

// EndTranscription ends a transcription and deletes the responses of its pieces.
func (tx *Tx) EndTranscription(ctx context.Context, jobID uuid.UUID) error {
	return tx.execAll(ctx, "end the transcription of job "+jobID.String(), []string{
		`UPDATE transcriptions SET due_at = NULL, lease = '' WHERE job_id = $1`,
		`DELETE FROM transcription_pieces WHERE job_id = $1`,
	}, jobID)
}

// TranscriptionPieces returns the stored responses of a transcription, by piece.
func (db *Reader) TranscriptionPieces(ctx context.Context, jobID uuid.UUID) (map[string]string, error) {
	pieces := make(map[string]string)
	err := db.forEach(ctx, func(row sqldb.Row) error {
		var piece, response string
		err := row.Scan(&piece, &response)
		pieces[piece] = response
		return err
	}, `SELECT piece, response FROM transcription_pieces WHERE job_id = $1`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read the transcription of job %s: %w", jobID, err)
	}
	return pieces, nil
}

// SaveTranscriptionPiece stores the response for a piece.
func (s *Store) SaveTranscriptionPiece(ctx context.Context, jobID uuid.UUID, piece, response string) error {
	err := s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.exec(ctx, `INSERT INTO transcription_pieces (job_id, piece, response) VALUES ($1, $2, $3)
			ON CONFLICT (job_id, piece) DO UPDATE SET response = excluded.response`, jobID, piece, response)
		return err
	})
	if err != nil {
		return fmt.Errorf("save the transcription of job %s: %w", jobID, err)
	}
	return nil
}
