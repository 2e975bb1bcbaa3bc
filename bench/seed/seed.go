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
	return columns, values, errors.Join(rows.Scan(pointers...), rows.Err())
}

// Copies describes copies of a row.
type Copies struct {
	From, Count int
	Of          string            // ID of the row
	Set         map[string]string // SQL expressions of columns; i is the number of the copy, from From on
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

// ids returns the expressions for IDs and hashes.
func ids(address string) (id, hash string) {
	if IsPostgres(address) {
		return postgresID, postgresHash
	}
	return sqliteID, sqliteHash
}

// Jobs copies a job. Copies have the ID JobID(i) and a unique external ID.
func Jobs(ctx context.Context, address string, c Copies) error {
	id, hash := ids(address)
	set := map[string]string{"id": id, "external_id": `'copy ' || i`, "external_hash": hash}
	for column, expression := range c.Set {
		set[column] = expression
	}
	c.Set = set
	return insertCopies(ctx, address, "jobs", c)
}

// Deliveries copies a delivery, one for each copy of a job. The copies are due
// at once, and their URLs rotate.
func Deliveries(ctx context.Context, address string, c Copies, urls []string) error {
	id, _ := ids(address)
	receiver := rotate(urls)
	c.Set = map[string]string{
		"id": `'dlv_' || ` + id, "job_id": id, "subject": id, "url": receiver, "endpoint": "original.consumer_id || ' ' || " + receiver,
		"state": `'waiting'`, "due_at": fmt.Sprint(time.Now().UnixMilli()), "attempt": "0", "failures": "0",
		"lease": `''`, "ended_at": "NULL", "end_reason": `''`,
	}
	return insertCopies(ctx, address, "deliveries", c)
}

// rotate returns an expression with the URLs in rotation.
func rotate(urls []string) string {
	var expression strings.Builder
	fmt.Fprintf(&expression, "CASE i %% %d", len(urls))
	for n, text := range urls {
		fmt.Fprintf(&expression, " WHEN %d THEN '%s'", n, text)
	}
	return expression.String() + " END"
}

// DeliveryID returns the ID of a stored delivery.
func DeliveryID(ctx context.Context, address string) (id string, err error) {
	err = query(address, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, `SELECT id FROM deliveries LIMIT 1`).Scan(&id)
	})
	return id, err
}

// Latenesses returns how long after joinAt the bots of copies were launched, in
// milliseconds and in ascending order. For a bot that ended before its launch
// was recorded, the start of the attempt counts.
func Latenesses(ctx context.Context, address string, c Copies) (all []int64, err error) {
	err = query(address, func(db *sql.DB) (err error) {
		rows, err := db.QueryContext(ctx, `SELECT COALESCE(launched_at, status_since) - join_at FROM jobs WHERE id BETWEEN $1 AND $2
			AND (launched_at IS NOT NULL OR attempts > 0 AND status IN ('completed', 'failed', 'cancelled')) ORDER BY 1`,
			JobID(c.From), JobID(c.From+c.Count-1))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			var lateness int64
			if err := rows.Scan(&lateness); err != nil {
				return err
			}
			all = append(all, lateness)
		}
		return rows.Err()
	})
	return all, err
}

// query runs fn with an open database.
func query(address string, fn func(*sql.DB) error) (err error) {
	db, err := Open(address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return fn(db)
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
	numbers := `(WITH RECURSIVE numbers(i) AS (SELECT $1 UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < $2) SELECT i
		FROM numbers) AS numbers`
	if IsPostgres(address) {
		numbers = `(SELECT generate_series($1::bigint, $2::bigint - 1) AS i) AS numbers`
	}
	statement := fmt.Sprintf(`INSERT INTO %s (%s) SELECT %s FROM %s AS original, %s
		WHERE original.id = $3`, //nolint:gosec // names of the schema
		table, strings.Join(columns, ", "), strings.Join(values, ", "), table, numbers)
	for from, end := c.From, c.From+c.Count; from < end; from += copiesPerStatement {
		if _, err := db.ExecContext(ctx, statement, from, min(end, from+copiesPerStatement), c.Of); err != nil {
			return fmt.Errorf("copy a row of %s: %w", table, err)
		}
	}
	return nil
}

// Vacuum runs the maintenance that PostgreSQL runs within minutes after many
// writes.
func Vacuum(ctx context.Context, address string) error {
	return maintain(ctx, address, `VACUUM ANALYZE`, `CHECKPOINT`)
}

// CreateLogFiles creates files of PostgreSQL's write-ahead log. The checkpoint keeps
// them for reuse up to min_wal_size. Without them a commit creates a file after each
// 16 MB of log, and all commits wait for it.
func CreateLogFiles(ctx context.Context, address string, count int) error {
	return maintain(ctx, address, fmt.Sprintf(`DO $$ BEGIN
			FOR i IN 1..%d LOOP
				PERFORM pg_logical_emit_message(false, '', '');
				PERFORM pg_switch_wal();
			END LOOP;
		END $$`, count), `CHECKPOINT`)
}

// StopAutovacuum turns off autovacuum of the jobs on PostgreSQL. After inserts it
// uses up to 0.7 s of CPU time, at most once a minute for each database.
func StopAutovacuum(ctx context.Context, address string) error {
	return maintain(ctx, address, `ALTER TABLE jobs SET (autovacuum_enabled = false)`)
}

// maintain executes statements on a PostgreSQL database.
func maintain(ctx context.Context, address string, statements ...string) error {
	if !IsPostgres(address) {
		return nil
	}
	return query(address, func(db *sql.DB) error {
		for _, statement := range statements {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// Spread reads how many jobs had more than one attempt, and the lowest and the
// highest number of bots of a node.
func Spread(ctx context.Context, address string, repeated, fewest, most *int) error {
	return query(address, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, `SELECT COALESCE(SUM(repeated), 0), COALESCE(MIN(bots), 0), COALESCE(MAX(bots), 0) FROM (
			SELECT COUNT(*) AS bots, SUM(CASE WHEN attempts > 1 THEN 1 ELSE 0 END) AS repeated FROM jobs WHERE attempts > 0
			GROUP BY node) AS nodes`).
			Scan(repeated, fewest, most)
	})
}
