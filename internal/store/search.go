package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
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
	next := firstTextID(j.CreatedAt) + rand.Int64N(textIDsPerMilli) //nolint:gosec // no secret
	for _, text := range texts {
		for inserted := int64(0); inserted == 0; next++ { // the ID may be taken by a job that was created at about the same time
			var err error
			inserted, err = tx.exec(ctx, `INSERT INTO search_texts (id, job_id, owner, kind, start_ms, speaker, text) VALUES ($1, $2, $3, $4, $5, $6, $7)
				ON CONFLICT (id) DO NOTHING`, next, j.ID, ownerWord(j.ConsumerID, j.Mode), kind, text.StartMs, text.Speaker, text.Text)
			if err != nil {
				return fmt.Errorf("store the searchable texts of job %s: %w", j.ID, err)
			}
		}
	}
	return nil
}

// textIDsPerMilli is how many IDs of searchable texts there are for each millisecond of the
// creation of jobs.
const textIDsPerMilli = 1 << 20

// firstTextID returns the first ID of the texts of jobs that were created at a time. IDs are in
// the order of creation, so that a search of the newest texts reads no others.
func firstTextID(created time.Time) int64 {
	return min(max(millis(created), 0), math.MaxInt64/textIDsPerMilli-1) * textIDsPerMilli
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
// contain all words of a text, in any case, or words that begin with them if they have three
// letters, and pass the filter: those of the newest jobs first. A text without letters and digits matches
// nothing. It uses the full-text index.
func (db *Reader) SearchTexts(ctx context.Context, consumer uuid.UUID, mode job.Mode, text string, filter job.TextFilter, limit int) ([]job.SearchMatch, error) {
	words, speaker := searchWords(text), searchWords(filter.Speaker)
	if len(words) == 0 || len(speaker) == 0 && filter.Speaker != "" {
		return nil, nil
	}
	search := db.dialect.Search
	condition, args := search.Match(ownerWord(consumer, mode), words, speaker)
	and := func(comparison string, value int64) {
		args = append(args, value)
		condition += fmt.Sprintf(" AND %s %s $%d", search.ID, comparison, len(args))
	}
	if !filter.From.IsZero() {
		and(">=", firstTextID(filter.From))
	}
	if !filter.To.IsZero() {
		and("<", firstTextID(filter.To))
	}
	args = append(args, limit)
	matches, err := list(ctx, db, func(row sqldb.Row) (m job.SearchMatch, err error) {
		err = row.Scan(&m.JobID, &m.Kind, &m.StartMs, &m.Speaker, &m.Text, &m.MeetingURL, timeColumn{&m.CreatedAt})
		return m, err
	}, `SELECT t.job_id, t.kind, t.start_ms, t.speaker, t.text, j.meeting_url, j.created_at
		FROM (SELECT s.id FROM `+search.From+` WHERE `+condition+` ORDER BY `+search.ID+fmt.Sprintf(` DESC LIMIT $%d`, len(args))+`) AS newest
		JOIN search_texts t ON t.id = newest.id JOIN jobs j ON j.id = t.job_id
		ORDER BY j.created_at DESC, t.job_id, t.start_ms`, args...)
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
