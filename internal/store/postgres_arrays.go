package store

import (
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"
)

// arraysOf returns an array for each column of rows, which have values of the
// same types.
func arraysOf(rows [][]any) []any {
	arrays := make([]any, len(rows[0]))
	for i, value := range rows[0] {
		switch value.(type) {
		case string:
			arrays[i] = arrayOf(rows, i, func(text string) string { return text })
		case int:
			arrays[i] = arrayOf(rows, i, func(n int) int64 { return int64(n) })
		case int64:
			arrays[i] = arrayOf(rows, i, func(n int64) int64 { return n })
		case sql.NullString:
			arrays[i] = arrayOf(rows, i, func(t sql.NullString) pgtype.Text { return pgtype.Text(t) })
		case sql.NullInt64:
			arrays[i] = arrayOf(rows, i, func(n sql.NullInt64) pgtype.Int8 { return pgtype.Int8(n) })
		default:
			panic(fmt.Sprintf("no array of %T", value))
		}
	}
	return arrays
}

// arrayOf returns the values of a column.
func arrayOf[From, To any](rows [][]any, column int, convert func(From) To) []To {
	values := make([]To, len(rows))
	for i, row := range rows {
		values[i] = convert(row[column].(From))
	}
	return values
}
