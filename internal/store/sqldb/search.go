package sqldb

import (
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

// searchSQLite uses the FTS5 table search_texts_words, whose column owner limits a
// search to one consumer.
var searchSQLite = Search{
	From: `search_texts_words JOIN search_texts s ON s.id = search_texts_words.rowid`,
	ID:   `search_texts_words.rowid`,
	Match: func(owner string, words, speaker []string) (string, []any) {
		query := `owner : "` + owner + `" AND text : (` + prefixes(words, `"`, `*`, " AND ") + `)`
		if len(speaker) > 0 {
			query += ` AND speaker : (` + prefixes(speaker, `"`, `*`, " AND ") + `)`
		}
		return `search_texts_words MATCH $1 AND s.owner = $2`, []any{query, owner}
	},
}

// searchPostgres uses text search vectors without stemming, because the language of
// a meeting is unknown.
var searchPostgres = Search{
	From:    `search_texts s`,
	Options: []any{pgx.QueryExecModeSimpleProtocol},
	ID:      `s.id`,
	Match: func(owner string, words, speaker []string) (string, []any) {
		condition, args := `to_tsvector('simple', s.text) @@ to_tsquery('simple', $1) AND s.owner = $2`, []any{
			prefixes(words, `'`, `:*`, " & "), owner,
		}
		if len(speaker) > 0 {
			condition, args = condition+` AND to_tsvector('simple', s.speaker) @@ to_tsquery('simple', $3)`, append(args,
				prefixes(speaker, `'`, `:*`, " & "))
		}
		return condition, args
	},
}

// minPrefix is the length in characters from which a word stands for all words that begin with
// it. Too many begin with shorter ones.
const minPrefix = 3

// prefixes joins words, each between quotes. star follows those that stand for the words that
// begin with them.
func prefixes(words []string, quote, star, separator string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quote + word + quote
		if utf8.RuneCountInString(word) >= minPrefix {
			quoted[i] += star
		}
	}
	return strings.Join(quoted, separator)
}
