package sqldb

import "strings"

// searchSQLite uses the FTS5 table search_texts_words, whose column owner limits a
// search to one consumer.
var searchSQLite = Search{
	Match: `s.id IN (SELECT rowid FROM search_texts_words WHERE search_texts_words MATCH $1) AND s.owner = $2`,
	Query: func(owner string, words []string) string {
		return `owner : "` + owner + `" AND text : (` + prefixes(words, `"`, `"*`, " AND ") + `)`
	},
}

// searchPostgres uses text search vectors without stemming, because the language of
// a meeting is unknown.
var searchPostgres = Search{
	Match: `to_tsvector('simple', s.text) @@ to_tsquery('simple', $1) AND s.owner = $2`,
	Query: func(_ string, words []string) string { return prefixes(words, `'`, `':*`, " & ") },
}

// prefixes joins words, each between two quotes.
func prefixes(words []string, before, after, separator string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = before + word + after
	}
	return strings.Join(quoted, separator)
}
