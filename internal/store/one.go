package store

import (
	"database/sql"
	"errors"
	"fmt"

	"standin/internal/job"
)

// scanned is a row of a result, single or one of many.
type scanned interface{ Scan(...any) error }

// one reads the single row of a query; without one the error says that there is
// no such thing.
func one[T any](row *sql.Row, scan func(scanned) (T, error), what string) (T, error) {
	var none T
	read, err := scan(row)
	if errors.Is(err, sql.ErrNoRows) {
		return none, &job.Error{Code: job.NotFound, Message: "no such " + what}
	}
	if err != nil {
		return none, fmt.Errorf("read the %s: %w", what, err)
	}
	return read, nil
}
