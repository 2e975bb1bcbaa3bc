package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store/sqldb"
)

// AppendTexts stores texts of one job's bot, in their order, and returns those
// that are new or differ from the stored ones. Each has the next sequence of the
// job. The caller must have locked the job. Over a limit of the job, the error is
// a *job.Error with OverQuota and nothing is to be stored.
func (tx *Tx) AppendTexts(ctx context.Context, jobID uuid.UUID, texts []job.MeetingText) ([]job.MeetingText, error) {
	count, bytes, err := tx.textTotals(ctx, jobID)
	if err != nil {
		return nil, err
	}
	var stored []job.MeetingText
	for _, text := range texts {
		text.JobID, text.Sequence = jobID, count+1
		changed, err := tx.upsertText(ctx, text)
		if err != nil {
			return nil, err
		}
		if !changed {
			continue
		}
		count++
		bytes += int64(len(text.Text) + len(text.Author) + text.Speech.Size())
		stored = append(stored, text)
	}
	if len(stored) == 0 {
		return nil, nil
	}
	if count > job.MaxTexts || bytes > job.MaxTextBytes {
		return nil, &job.Error{Code: job.OverQuota, Message: fmt.Sprintf(
			"The bots of this job may report %d texts with %d bytes in all.", job.MaxTexts, job.MaxTextBytes)}
	}
	_, err = tx.exec(ctx, `INSERT INTO meeting_text_totals (job_id, texts, bytes) VALUES ($1, $2, $3)
		ON CONFLICT (job_id) DO UPDATE SET texts = excluded.texts, bytes = excluded.bytes`, jobID, count, bytes)
	if err != nil {
		return nil, fmt.Errorf("count the texts of job %s: %w", jobID, err)
	}
	return stored, nil
}

func (db *Reader) textTotals(ctx context.Context, jobID uuid.UUID) (count, bytes int64, err error) {
	err = db.queryRow(ctx, `SELECT texts, bytes FROM meeting_text_totals WHERE job_id = $1`, jobID).Scan(&count, &bytes)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, 0, fmt.Errorf("count the texts of job %s: %w", jobID, err)
	}
	return count, bytes, nil
}

// upsertText stores a text and reports whether it is new or has changed.
func (tx *Tx) upsertText(ctx context.Context, t job.MeetingText) (bool, error) {
	speech := ""
	if t.Speech != nil {
		encoded, err := json.Marshal(t.Speech)
		if err != nil {
			return false, fmt.Errorf("encode the words of job %s: %w", t.JobID, err)
		}
		speech = string(encoded)
	}
	n, err := tx.exec(ctx, `
		INSERT INTO meeting_texts (`+textColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (job_id, attempt, kind, id) DO UPDATE SET sequence = excluded.sequence,
			participant_id = excluded.participant_id, author = excluded.author, text = excluded.text,
			language = excluded.language, started_at = excluded.started_at, ended_at = excluded.ended_at, speech = excluded.speech
		WHERE (meeting_texts.participant_id, meeting_texts.author, meeting_texts.text, meeting_texts.language,
				meeting_texts.started_at, meeting_texts.ended_at, meeting_texts.speech)
			<> (excluded.participant_id, excluded.author, excluded.text, excluded.language, excluded.started_at, excluded.ended_at, excluded.speech)`,
		t.JobID, t.Attempt, t.Kind, t.ID, t.Sequence, t.ParticipantID, t.Author, t.Text, t.Language,
		millis(t.StartedAt), millis(t.EndedAt), speech)
	if err != nil {
		return false, fmt.Errorf("store a text of job %s: %w", t.JobID, err)
	}
	return n > 0, nil
}

// Texts returns all texts of a job in the order in which they began. There are at
// most job.MaxTexts. It uses the primary key.
func (db *Reader) Texts(ctx context.Context, jobID uuid.UUID) ([]job.MeetingText, error) {
	texts, err := list(ctx, db, scanText, `SELECT `+textColumns+` FROM meeting_texts WHERE job_id = $1
		ORDER BY started_at, attempt, kind, id`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read the texts of job %s: %w", jobID, err)
	}
	return job.WithoutRepeatedChat(texts), nil
}

// LatestTexts returns the texts of a job that were stored or changed last, up to limit, in
// the order in which they began. It uses the index meeting_texts_sequence.
func (db *Reader) LatestTexts(ctx context.Context, jobID uuid.UUID, limit int) ([]job.MeetingText, error) {
	texts, err := list(ctx, db, scanText, `SELECT `+textColumns+` FROM meeting_texts WHERE job_id = $1 ORDER BY sequence DESC LIMIT $2`, jobID, limit)
	if err != nil {
		return nil, fmt.Errorf("read the latest texts of job %s: %w", jobID, err)
	}
	slices.SortStableFunc(texts, func(a, b job.MeetingText) int { return a.StartedAt.Compare(b.StartedAt) })
	return job.WithoutRepeatedChat(texts), nil
}

// TextsAfter returns up to limit texts of a job that were stored or changed after
// a sequence, in the order of their sequences, and whether there are more. Start
// with 0. A text that was corrected meanwhile is returned once, as it is now. It
// uses the index meeting_texts_sequence.
func (db *Reader) TextsAfter(ctx context.Context, jobID uuid.UUID, sequence int64, limit int) (texts []job.MeetingText, more bool, err error) {
	texts, more, err = page(ctx, db, limit, scanText, func(t job.MeetingText) int { return len(t.Text) },
		`SELECT `+textColumns+` FROM meeting_texts WHERE job_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`,
		jobID, sequence, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("list the texts of job %s: %w", jobID, err)
	}
	return texts, more, nil
}

// DeleteTexts deletes the texts of a job.
func (tx *Tx) DeleteTexts(ctx context.Context, jobID uuid.UUID) error {
	return tx.execAll(ctx, "delete the texts of job "+jobID.String(), []string{
		`DELETE FROM meeting_texts WHERE job_id = $1`,
		`DELETE FROM meeting_text_totals WHERE job_id = $1`,
	}, jobID)
}

const textColumns = `job_id, attempt, kind, id, sequence, participant_id, author, text, language, started_at, ended_at, speech`

func scanText(row sqldb.Row) (t job.MeetingText, err error) {
	var speech string
	err = row.Scan(&t.JobID, &t.Attempt, &t.Kind, &t.ID, &t.Sequence, &t.ParticipantID, &t.Author,
		&t.Text, &t.Language, timeColumn{&t.StartedAt}, timeColumn{&t.EndedAt}, &speech)
	if err == nil && speech != "" {
		err = json.Unmarshal([]byte(speech), &t.Speech)
	}
	return t, err
}
