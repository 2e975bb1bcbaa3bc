// Package sqldb is what package store needs of a database. Packages sqlite and
// postgres implement it.
package sqldb

import (
	"context"
	"fmt"
)

// Conn runs statements: outside of transactions, or in one.
type Conn interface {
	// Exec runs statements, in one round trip where the database is another process, and
	// returns the number of affected rows of each.
	Exec(ctx context.Context, statements ...Statement) ([]int64, error)
	Query(ctx context.Context, query string, args ...any) (Rows, error)
}

// Statement is a statement with its arguments.
type Statement struct {
	Query string
	Args  []any
}

// Row is a single row, or the current one of Rows.
type Row interface{ Scan(...any) error }

// Rows are the rows of a query.
type Rows interface {
	Row
	Next() bool
	Err() error
	Close() error
}

// Dialect is the SQL that differs between the databases.
type Dialect struct {
	ForUpdate  string // clause that locks the selected rows until the transaction ends; new rows may refer to them
	ForDelete  string // like ForUpdate, after the transactions that insert rows that refer to the selected ones
	SkipLocked string // like ForUpdate, without the rows that another transaction has locked
	inList     string // condition that a text is in a JSON array, with a verb for the placeholder
	Search     Search
}

// Search is the full-text search of the table search_texts.
type Search struct {
	From string // tables, with s for search_texts
	ID   string // of a row; the newest have the highest
	// Options are arguments before all others. On PostgreSQL, the query is planned for its words: the newest
	// texts are read for a common word, and the index for a rare one.
	Options []any
	// Match returns the condition that a row belongs to an owner, and that its text and the
	// name of its speaker have words that begin with these, and its arguments from $1. The words
	// contain only letters and digits. No words of a speaker mean any speaker.
	Match func(owner string, words, speaker []string) (condition string, args []any)
}

// The dialects. SQLite locks the whole database for a write.
var (
	SQLite   = Dialect{inList: `IN (SELECT value FROM json_each($%d))`, Search: searchSQLite}
	Postgres = Dialect{
		ForUpdate: " FOR NO KEY UPDATE", ForDelete: " FOR UPDATE", SkipLocked: " FOR NO KEY UPDATE SKIP LOCKED",
		inList: `= ANY (ARRAY (SELECT json_array_elements_text($%d::json)))`,
		Search: searchPostgres,
	}
)

// In returns the condition that a text is in a JSON array of texts, which is the
// argument with a number. The text of the statement does not depend on its length.
func (d Dialect) In(argument int) string { return fmt.Sprintf(d.inList, argument) }
