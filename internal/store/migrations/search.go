package migrations

import (
	"context"
	"database/sql"

	"github.com/pressly/goose/v3"
)

// searchIndex is the migration that creates the full-text index of search_texts:
// FTS5 on SQLite, which triggers keep up to date, and tsvector on PostgreSQL.
func searchIndex(dialect goose.Dialect) *goose.Migration {
	up, down := searchSQLite, []string{`DROP TRIGGER search_texts_deleted`, `DROP TRIGGER search_texts_inserted`, `DROP TABLE search_texts_words`}
	if dialect == goose.DialectPostgres {
		up = []string{`CREATE INDEX search_texts_words ON search_texts USING gin (to_tsvector('simple', text))`}
		down = []string{`DROP INDEX search_texts_words`}
	}
	return goose.NewGoMigration(102, run(up), run(down))
}

var searchSQLite = []string{
	`CREATE VIRTUAL TABLE search_texts_words USING fts5(owner, speaker, text, content='search_texts', content_rowid='id', tokenize='unicode61 remove_diacritics 2', prefix='3 4 5 6')`,
	`CREATE TRIGGER search_texts_inserted AFTER INSERT ON search_texts BEGIN
		INSERT INTO search_texts_words (rowid, owner, speaker, text) VALUES (new.id, new.owner, new.speaker, new.text);
	END`,
	`CREATE TRIGGER search_texts_deleted AFTER DELETE ON search_texts BEGIN
		INSERT INTO search_texts_words (search_texts_words, rowid, owner, speaker, text) VALUES ('delete', old.id, old.owner, old.speaker, old.text);
	END`,
}

// run returns a step that runs statements in a transaction.
func run(statements []string) *goose.GoFunc {
	return &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
		for _, statement := range statements {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}}
}
