package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
)

// AppendTexts stores texts of one job's bot, in their order, and returns those
// that are new or differ from the stored ones. Each has the next sequence of the
// job. The caller must have locked the job. Over a limit of the job, the error is
// a *job.Error with OverQuota and nothing is to be stored.
func (tx *Tx) AppendTexts(ctx context.Context, jobID uuid.UUID, texts []job.MeetingText) ([]job.MeetingText, error) {
	var count, bytes int64
	err := tx.queryRow(ctx, "count the texts of a job", `SELECT texts, bytes FROM meeting_text_totals WHERE job_id = $1`,
		jobID).Scan(&count, &bytes)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	var stored []job.MeetingText
	for _, t := range texts {
		t.JobID, t.Sequence = jobID, count+1
		var speech any = ""
		if t.Speech != nil {
			speech = jsonValue{t.Speech}
		}
		changed, err := tx.Affected(ctx, "store a text of a job", `
			INSERT INTO meeting_texts (`+textColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
			ON CONFLICT (job_id, attempt, kind, id) DO UPDATE SET sequence = excluded.sequence,
				participant_id = excluded.participant_id, author = excluded.author, text = excluded.text,
				language = excluded.language, started_at = excluded.started_at, ended_at = excluded.ended_at, speech = excluded.speech
			WHERE (meeting_texts.participant_id, meeting_texts.author, meeting_texts.text, meeting_texts.language,
					meeting_texts.started_at, meeting_texts.ended_at, meeting_texts.speech)
				<> (excluded.participant_id, excluded.author, excluded.text, excluded.language, excluded.started_at, excluded.ended_at,
				excluded.speech)`,
			t.JobID, t.Attempt, t.Kind, t.ID, t.Sequence, t.ParticipantID, t.Author, t.Text, t.Language, t.StartedAt, t.EndedAt, speech)
		if err != nil {
			return nil, err
		}
		if changed > 0 {
			count++
			bytes += int64(len(t.Text) + len(t.Author) + t.Speech.Size())
			stored = append(stored, t)
		}
	}
	if len(stored) == 0 {
		return nil, nil
	}
	if count > job.MaxTexts || bytes > job.MaxTextBytes {
		return nil, job.NewError(job.OverQuota, fmt.Sprintf(
			"The bots of this job may report %d texts with %d bytes in all.", job.MaxTexts, job.MaxTextBytes))
	}
	err = tx.exec(ctx, "count the texts of a job", `INSERT INTO meeting_text_totals (job_id, texts, bytes) VALUES ($1, $2, $3)
		ON CONFLICT (job_id) DO UPDATE SET texts = excluded.texts, bytes = excluded.bytes`, jobID, count, bytes)
	return stored, err
}

// Texts returns all texts of a job in the order in which they began. There are at
// most job.MaxTexts. It uses the primary key.
func (db *Reader) Texts(ctx context.Context, jobID uuid.UUID) ([]job.MeetingText, error) {
	texts, err := List(ctx, db, "read the texts of a job", scanText, `SELECT `+textColumns+` FROM meeting_texts WHERE job_id = $1
		ORDER BY started_at, attempt, kind, id`, jobID)
	return job.WithoutRepeatedChat(texts), err
}

// LatestTexts returns the texts of a job that were stored or changed last, up to limit, in
// the order in which they began. It uses the index meeting_texts_sequence.
func (db *Reader) LatestTexts(ctx context.Context, jobID uuid.UUID, limit int) ([]job.MeetingText, error) {
	texts, err := List(ctx, db, "read the latest texts of a job", scanText, `SELECT `+textColumns+` FROM meeting_texts WHERE job_id = $1
		ORDER BY sequence DESC LIMIT $2`, jobID, limit)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(texts, func(a, b job.MeetingText) int { return a.StartedAt.Compare(b.StartedAt) })
	return job.WithoutRepeatedChat(texts), nil
}

// TextsAfter returns up to limit texts of a job that were stored or changed after
// a sequence, in the order of their sequences, and whether there are more. Start
// with 0. A text that was corrected meanwhile is returned once, as it is now. It
// uses the index meeting_texts_sequence.
func (db *Reader) TextsAfter(ctx context.Context, jobID uuid.UUID, sequence int64,
	limit int) (texts []job.MeetingText, more bool, err error) {
	return page(ctx, db, "list the texts of a job", limit, scanText, func(t job.MeetingText) int { return len(t.Text) },
		`SELECT `+textColumns+` FROM meeting_texts WHERE job_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`,
		jobID, sequence, limit+1)
}

// DeleteTexts deletes the texts of a job.
func (tx *Tx) DeleteTexts(ctx context.Context, jobID uuid.UUID) error {
	return tx.execAll(ctx, "delete the texts of job "+jobID.String(), []string{
		`DELETE FROM meeting_texts WHERE job_id = $1`,
		`DELETE FROM meeting_text_totals WHERE job_id = $1`,
	}, jobID)
}

const textColumns = `job_id, attempt, kind, id, sequence, participant_id, author, text, language, started_at, ended_at, speech`

func scanText(r row, t *job.MeetingText) error {
	return r.Scan(&t.JobID, &t.Attempt, &t.Kind, &t.ID, &t.Sequence, &t.ParticipantID, &t.Author,
		&t.Text, &t.Language, &t.StartedAt, &t.EndedAt, jsonColumn{&t.Speech})
}

// Limits of a search.
const (
	maxSearchWords = 16
	maxSearchWord  = 64 // characters
)

// ReplaceSearchTexts stores the searchable texts of a job, in place of the earlier
// ones of the same kinds.
func (tx *Tx) ReplaceSearchTexts(ctx context.Context, j job.Job, kind job.TextKind, texts []job.SearchText) error {
	if err := tx.exec(ctx, "delete the searchable texts of a job", `DELETE FROM search_texts WHERE job_id = $1 AND kind = $2`, j.ID,
		kind); err != nil {
		return err
	}
	next := firstTextID(j.CreatedAt) + rand.Int64N(textIDsPerMilli) //nolint:gosec // no secret
	for _, text := range texts {
		for inserted := int64(0); inserted == 0; next++ { // the ID may be taken by a job that was created at about the same time
			var err error
			inserted, err = tx.Affected(ctx, "store the searchable texts of a job", `INSERT INTO search_texts (id, job_id, owner, kind, start_ms,
				speaker, text) VALUES ($1, $2, $3, $4, $5, $6, $7)
				ON CONFLICT (id) DO NOTHING`, next, j.ID, ownerWord(j.ConsumerID, j.Mode), kind, text.StartMs, text.Speaker, text.Text)
			if err != nil {
				return err
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
	return min(max(created.UnixMilli(), 0), math.MaxInt64/textIDsPerMilli-1) * textIDsPerMilli
}

// DeleteSearchTexts deletes what is stored of a job's transcript, and ends its
// transcription.
func (tx *Tx) DeleteSearchTexts(ctx context.Context, jobID uuid.UUID) error {
	return tx.execAll(ctx, "delete the transcript of job "+jobID.String(), []string{
		`DELETE FROM search_texts WHERE job_id = $1`,
		`DELETE FROM transcription_pieces WHERE job_id = $1`,
		`DELETE FROM recording_tasks WHERE job_id = $1`,
	}, jobID)
}

// SearchTexts returns up to limit texts of the consumer's recordings that
// contain all words of a text, in any case, or words that begin with them if they have three
// letters, and pass the filter: those of the newest jobs first. A text without letters and digits matches
// nothing. It uses the full-text index.
func (db *Reader) SearchTexts(ctx context.Context, caller account.Caller, text string, filter job.TextFilter,
	limit int) ([]job.SearchMatch, error) {
	words, speaker := searchWords(text), searchWords(filter.Speaker)
	if len(words) == 0 || len(speaker) == 0 && filter.Speaker != "" {
		return nil, nil
	}
	search := db.dialect.Search
	matching, args := search.Match(ownerWord(caller.ConsumerID, caller.Mode), words, speaker)
	c := conditions{args: args}
	if !filter.From.IsZero() {
		c.and(search.ID+" >= %s", firstTextID(filter.From))
	}
	if !filter.To.IsZero() {
		c.and(search.ID+" < %s", firstTextID(filter.To))
	}
	newest := ` LIMIT ` + c.arg(limit)
	return List(ctx, db, "search texts", func(r row, m *job.SearchMatch) error {
		return r.Scan(&m.JobID, &m.Kind, &m.StartMs, &m.Speaker, &m.Text, &m.MeetingURL, &m.CreatedAt)
	}, `SELECT t.job_id, t.kind, t.start_ms, t.speaker, t.text, j.meeting_url, j.created_at
		FROM (SELECT s.id FROM `+search.From+` WHERE `+matching+c.text+` ORDER BY `+search.ID+` DESC`+newest+`) AS newest
		JOIN search_texts t ON t.id = newest.id JOIN jobs j ON j.id = t.job_id
		ORDER BY j.created_at DESC, t.job_id, t.start_ms`, slices.Concat(search.Options, c.args)...)
}

// searchWords returns the words of a search in lower case.
func searchWords(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
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
