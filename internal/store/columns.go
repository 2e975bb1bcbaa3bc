package store

import (
	"database/sql"
	"fmt"
	"time"
)

// Times are stored as milliseconds since 1970 UTC; unset times are NULL.

func millis(t time.Time) int64 { return t.UnixMilli() }

func nullMillis(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}

func fromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// timeColumn scans a column of milliseconds into a time. NULL is the zero time.
type timeColumn struct{ *time.Time }

// Scan implements sql.Scanner.
func (c timeColumn) Scan(value any) error {
	switch ms := value.(type) {
	case nil:
		*c.Time = time.Time{}
	case int64:
		*c.Time = fromMillis(ms)
	default:
		return fmt.Errorf("scan a time: got %T", value)
	}
	return nil
}

// durationColumn scans a column of milliseconds into a duration.
type durationColumn struct{ *time.Duration }

// Scan implements sql.Scanner.
func (c durationColumn) Scan(value any) error {
	ms, ok := value.(int64)
	if !ok {
		return fmt.Errorf("scan a duration: got %T", value)
	}
	*c.Duration = time.Duration(ms) * time.Millisecond
	return nil
}

// nullDuration converts milliseconds, nil for NULL.
func nullDuration(ms sql.NullInt64) *time.Duration {
	if !ms.Valid {
		return nil
	}
	duration := time.Duration(ms.Int64) * time.Millisecond
	return &duration
}

// durationMillis is the inverse of nullDuration.
func durationMillis(duration *time.Duration) sql.NullInt64 {
	if duration == nil {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: duration.Milliseconds(), Valid: true}
}

// nullText returns NULL for an empty text.
func nullText(text string) sql.NullString { return sql.NullString{String: text, Valid: text != ""} }

// boolInt is a boolean as stored: 0 or 1.
func boolInt(set bool) int {
	if set {
		return 1
	}
	return 0
}
