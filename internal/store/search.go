package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store/sqldb"
)

// Limits of a search.
const (
	maxSearchWords = 16
	maxSearchWord  = 64 // characters
)

// ReplaceSearchTexts stores the searchable texts of a job, in place of the earlier
// ones of the same kinds.
func (tx *Tx) ReplaceSearchTexts(ctx context.Context, j job.Job, kind job.TextKind, texts []job.SearchText) error {
	if _, err := tx.exec(ctx, `DELETE FROM search_texts WHERE job_id = $1 AND kind = $2`, j.ID, kind); err != nil {
		return fmt.Errorf("delete the searchable texts of job %s: %w", j.ID, err)
	}
	first := rand.Int64N(1<<40) << 22 //nolint:gosec // no secret; ascending, which keeps the full-text index small
	for i, text := range texts {
		_, err := tx.exec(ctx, `INSERT INTO search_texts (id, job_id, owner, kind, start_ms, speaker, text) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			first+int64(i), j.ID, ownerWord(j.ConsumerID, j.Mode), kind, text.StartMs, text.Speaker, text.Text)
		if err != nil {
			return fmt.Errorf("store the searchable texts of job %s: %w", j.ID, err)
		}
	}
	return nil
}

// DeleteSearchTexts deletes what is stored of a job's transcript, and ends its
// transcription.
func (tx *Tx) DeleteSearchTexts(ctx context.Context, jobID uuid.UUID) error {
	return tx.execAll(ctx, "delete the transcript of job "+jobID.String(), []string{
		`DELETE FROM search_texts WHERE job_id = $1`,
		`DELETE FROM transcription_pieces WHERE job_id = $1`,
		`DELETE FROM transcriptions WHERE job_id = $1`,
	}, jobID)
}

// SearchTexts returns up to limit texts of the consumer's recordings that
// contain all words of a text, in any case, or words that begin with them: those
// of the newest jobs first. A text without letters and digits matches nothing. It
// uses the full-text index.
func (db *Reader) SearchTexts(ctx context.Context, consumer uuid.UUID, mode job.Mode, text string, limit int) ([]job.SearchMatch, error) {
	words := searchWords(text)
	if len(words) == 0 {
		return nil, nil
	}
	owner := ownerWord(consumer, mode)
	matches, err := list(ctx, db, func(row sqldb.Row) (m job.SearchMatch, err error) {
		err = row.Scan(&m.JobID, &m.Kind, &m.StartMs, &m.Speaker, &m.Text, &m.MeetingURL, timeColumn{&m.CreatedAt})
		return m, err
	}, `SELECT s.job_id, s.kind, s.start_ms, s.speaker, s.text, j.meeting_url, j.created_at
		FROM search_texts s JOIN jobs j ON j.id = s.job_id WHERE `+db.dialect.Search.Match+`
		ORDER BY j.created_at DESC, s.job_id, s.start_ms LIMIT $3`, db.dialect.Search.Query(owner, words), owner, limit)
	if err != nil {
		return nil, fmt.Errorf("search texts: %w", err)
	}
	return matches, nil
}

// searchWords returns the words of a search in lower case.
func searchWords(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	words = words[:min(len(words), maxSearchWords)]
	for i, word := range words {
		if runes := []rune(word); len(runes) > maxSearchWord {
			words[i] = string(runes[:maxSearchWord])
		}
	}
	return words
}

// ownerWord returns a consumer and a mode as a word of the full-text index.
func ownerWord(consumer uuid.UUID, mode job.Mode) string {
	return hex.EncodeToString(consumer[:]) + string(mode)
}
