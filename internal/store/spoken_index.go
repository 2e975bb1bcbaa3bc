package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"standin/internal/job"
)

// spokenIndex is the full-text index of the table spoken. Together with the
// clauses forUpdate and skip and the select lists of jobs, it is the only SQL
// that differs between the databases: SQLite has FTS5, and PostgreSQL tsvector.
type spokenIndex struct {
	setup []string // statements that create the index; they may be repeated
	match string   // condition on the row s of spoken, with the query as $1 and the owner as $2
	query func(owner string, words []string) string
}

// sqliteSpokenIndex is an FTS5 table that refers to the rows of spoken, and that
// triggers keep up to date. Its column owner limits a search to one consumer.
var sqliteSpokenIndex = spokenIndex{
	setup: []string{
		`CREATE VIRTUAL TABLE IF NOT EXISTS spoken_words USING fts5(owner, text, content='spoken', content_rowid='doc', tokenize='unicode61 remove_diacritics 2')`,
		`CREATE TRIGGER IF NOT EXISTS spoken_inserted AFTER INSERT ON spoken BEGIN
			INSERT INTO spoken_words (rowid, owner, text) VALUES (new.doc, new.owner, new.text);
		END`,
		`CREATE TRIGGER IF NOT EXISTS spoken_deleted AFTER DELETE ON spoken BEGIN
			INSERT INTO spoken_words (spoken_words, rowid, owner, text) VALUES ('delete', old.doc, old.owner, old.text);
		END`,
	},
	match: `s.doc IN (SELECT rowid FROM spoken_words WHERE spoken_words MATCH $1) AND s.owner = $2`,
	query: func(owner string, words []string) string {
		return `owner : "` + owner + `" AND text : (` + quotedPrefixes(words, `"`, `"*`, " AND ") + `)`
	},
}

// postgresSpokenIndex is an index of text search vectors without stemming,
// because the language of a meeting is unknown.
var postgresSpokenIndex = spokenIndex{
	setup: []string{
		`SELECT pg_advisory_xact_lock(5051931)`, // several nodes may start at once
		`CREATE INDEX IF NOT EXISTS spoken_words ON spoken USING gin (to_tsvector('simple', text))`,
	},
	match: `to_tsvector('simple', s.text) @@ to_tsquery('simple', $1) AND s.owner = $2`,
	query: func(_ string, words []string) string { return quotedPrefixes(words, `'`, `':*`, " & ") },
}

// quotedPrefixes joins words, each between two quotes. Words contain only letters
// and digits.
func quotedPrefixes(words []string, before, after, separator string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = before + word + after
	}
	return strings.Join(quoted, separator)
}

// create creates the index.
func (x spokenIndex) create(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("create the full-text index: %w", err)
	}
	for _, statement := range x.setup {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return errors.Join(fmt.Errorf("create the full-text index: %w", err), tx.Rollback())
		}
	}
	return tx.Commit()
}

// spokenOwner returns the owner of a job's texts, as one word.
func spokenOwner(j job.Job) string { return ownerWord(j.ConsumerID, j.Mode) }
