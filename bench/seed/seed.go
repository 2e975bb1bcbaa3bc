// Package seed fills databases of Standin by copying a job. It knows the names
// of a few columns and reads the others from the schema, so that it also works
// with earlier and later versions of Standin.
package seed

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver named pgx
	_ "modernc.org/sqlite"             // the driver named sqlite
)

// copiesPerStatement bounds how long a statement locks a SQLite database.
const copiesPerStatement = 20_000

// IsPostgres reports whether an address is that of a PostgreSQL database and
// not the path of a SQLite file.
func IsPostgres(address string) bool { return strings.HasPrefix(address, "postgres") }

// Open opens a database. On SQLite it waits for the service's transactions.
func Open(address string) (*sql.DB, error) {
	if IsPostgres(address) {
		return sql.Open("pgx", address)
	}
	return sql.Open("sqlite", "file:"+(&url.URL{Path: address}).EscapedPath()+
		"?_pragma=busy_timeout(15000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=temp_store(MEMORY)&_pragma=foreign_keys(ON)")
}

// Template returns a stored job: its columns and their values, without columns
// that are empty.
func Template(ctx context.Context, db *sql.DB) (columns []string, values []any, err error) {
	names, row, err := firstRow(ctx, db, "jobs")
	if err != nil {
		return nil, nil, err
	}
	for i, value := range row {
		switch value {
		case nil, "", int64(0):
			if names[i] != "on_status_change" && names[i] != "on_finalize" { // which have no default
				continue
			}
		}
		columns, values = append(columns, names[i]), append(values, value)
	}
	return columns, values, nil
}

// firstRow returns the first row of a table.
func firstRow(ctx context.Context, db *sql.DB, table string) (columns []string, values []any, err error) {
	rows, err := db.QueryContext(ctx, `SELECT * FROM `+table+` LIMIT 1`) //nolint:gosec // a constant name
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if columns, err = rows.Columns(); err != nil {
		return nil, nil, err
	}
	if !rows.Next() {
		return nil, nil, errors.Join(fmt.Errorf("the table %s is empty", table), rows.Err())
	}
	values = make([]any, len(columns))
	pointers := make([]any, len(columns))
	for i := range values {
		pointers[i] = &values[i]
	}
	return columns, values, rows.Scan(pointers...)
}

// Copies describes copies of a row.
type Copies struct {
	Count int
	Of    string            // ID of the row
	Set   map[string]string // SQL expressions of columns; i is the number of the copy, from 0
}

// JobID returns the ID of copy i of a job.
func JobID(i int) string { return fmt.Sprintf("%s%012x", idPrefix, i) }

// idPrefix is the time part of the IDs of copies.
const idPrefix = "019a0000-0000-7000-8000-"

// Expression of values that differ between the databases.
const (
	sqliteID   = `printf('` + idPrefix + `%012x', i)`
	postgresID = `'` + idPrefix + `' || lpad(to_hex(i), 12, '0')`
	sqliteHash = `lower(hex(randomblob(32)))`
	// postgresHash is as long and as random as a SHA-256.
	postgresHash = `encode(sha256(('copy ' || i)::bytea), 'hex')`
)

// Jobs copies a job. Copies have the ID JobID(i) and a unique external ID.
func Jobs(ctx context.Context, address string, c Copies) error {
	id, hash := sqliteID, sqliteHash
	if IsPostgres(address) {
		id, hash = postgresID, postgresHash
	}
	set := map[string]string{"id": id, "external_id": `'copy ' || i`, "external_hash": hash}
	for column, expression := range c.Set {
		set[column] = expression
	}
	c.Set = set
	return insertCopies(ctx, address, "jobs", c)
}

// insertCopies copies a row of a table.
func insertCopies(ctx context.Context, address, table string, c Copies) (err error) {
	db, err := Open(address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	columns, _, err := firstRow(ctx, db, table)
	if err != nil {
		return err
	}
	values := make([]string, len(columns))
	for i, column := range columns {
		values[i] = "original." + column
		if expression, found := c.Set[column]; found {
			values[i] = expression
		}
	}
	numbers := `(WITH RECURSIVE numbers(i) AS (SELECT $1 UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < $2) SELECT i FROM numbers) AS numbers`
	if IsPostgres(address) {
		numbers = `(SELECT generate_series($1::bigint, $2::bigint - 1) AS i) AS numbers`
	}
	statement := fmt.Sprintf(`INSERT INTO %s (%s) SELECT %s FROM %s AS original, %s WHERE original.id = $3`, //nolint:gosec // names of the schema
		table, strings.Join(columns, ", "), strings.Join(values, ", "), table, numbers)
	for from := 0; from < c.Count; from += copiesPerStatement {
		if _, err := db.ExecContext(ctx, statement, from, min(c.Count, from+copiesPerStatement), c.Of); err != nil {
			return fmt.Errorf("copy a row of %s: %w", table, err)
		}
	}
	return nil
}

// Vacuum runs the maintenance that PostgreSQL runs within minutes after many
// writes.
func Vacuum(ctx context.Context, address string) (err error) {
	if !IsPostgres(address) {
		return nil
	}
	db, err := Open(address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, statement := range []string{`VACUUM ANALYZE`, `CHECKPOINT`} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Await waits until a query that counts rows returns the wanted number.
func Await(ctx context.Context, address, query string, want int64) (err error) {
	db, err := Open(address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		var n int64
		if err := db.QueryRowContext(ctx, query).Scan(&n); err != nil {
			return err
		}
		if n == want {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %d, want %d: %w", query, n, want, ctx.Err())
		}
	}
}
