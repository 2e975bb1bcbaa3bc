package store

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"
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

// scanText implements textScanner.
func (c timeColumn) scanText(value string) error {
	*c.Time = time.Time{}
	if value == "" {
		return nil
	}
	ms, err := strconv.ParseInt(value, 10, 64)
	if err == nil {
		*c.Time = fromMillis(ms)
	}
	return err
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

// Text from outside may contain NUL, which JSON allows and PostgreSQL does not.
// It is stored as \0, and a backslash as two backslashes.

func escapeNUL(s string) string {
	if !strings.ContainsAny(s, "\\\x00") {
		return s
	}
	return strings.NewReplacer(`\`, `\\`, "\x00", `\0`).Replace(s)
}

func unescapeNUL(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	return strings.NewReplacer(`\\`, `\`, `\0`, "\x00").Replace(s)
}

// escapedColumn scans a column that escapeNUL has escaped.
type escapedColumn struct{ *string }

// Scan implements sql.Scanner.
func (c escapedColumn) Scan(value any) error { return scanValue(c, value) }

func (c escapedColumn) scanText(value string) error {
	*c.string = unescapeNUL(value)
	return nil
}

// textColumn scans a column into a string type without reflection.
type textColumn[T ~string] struct{ into *T }

// Scan implements sql.Scanner.
func (c textColumn[T]) Scan(value any) error { return scanValue(c, value) }

func (c textColumn[T]) scanText(value string) error {
	*c.into = T(value)
	return nil
}

// nullTextColumn scans a column into a string, which is empty for NULL.
type nullTextColumn struct{ *string }

// Scan implements sql.Scanner.
func (c nullTextColumn) Scan(value any) error {
	if value == nil {
		return c.scanText("")
	}
	return scanValue(c, value)
}

func (c nullTextColumn) scanText(value string) error {
	*c.string = value
	return nil
}

// scanValue scans a text as a driver returns it.
func scanValue(column textScanner, value any) error {
	switch text := value.(type) {
	case string:
		return column.scanText(text)
	case []byte:
		return column.scanText(string(text))
	}
	return fmt.Errorf("scan a text: got %T", value)
}

// nullText returns NULL for an empty text.
func nullText(text string) sql.NullString {
	return sql.NullString{String: text, Valid: text != ""}
}

// flag is a boolean as stored: 0 or 1.
func flag(set bool) int {
	if set {
		return 1
	}
	return 0
}

// flagColumn scans a flag, or a condition.
type flagColumn struct{ *bool }

// Scan implements sql.Scanner.
func (c flagColumn) Scan(value any) error {
	switch set := value.(type) {
	case bool:
		*c.bool = set
	case int64:
		*c.bool = set != 0
	default:
		return fmt.Errorf("scan a flag: got %T", value)
	}
	return nil
}
