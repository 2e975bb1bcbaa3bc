package dump

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"standin/internal/base/retry"
	"standin/internal/store"
	"standin/internal/store/migrations"
	"standin/internal/store/postgres"
)

// tableFile returns the file of a table of a PostgreSQL dump: the rows in the
// text format of COPY, compressed with gzip.
func tableFile(dir, table string) string { return filepath.Join(dir, table+".copy.gz") }

// connectBulk opens a connection without the limits of statements, for copies
// and migrations, whose duration grows with the database.
func connectBulk(ctx context.Context, address string) (*pgx.Conn, error) {
	connection, err := pgx.Connect(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL: %w", err) // pgx omits the password
	}
	return connection, nil
}

// dumpPostgres copies the tables in one transaction with a stable snapshot,
// which delays no other transaction.
func dumpPostgres(ctx context.Context, address, dir string) (dump Dump, err error) {
	connection, err := connectBulk(ctx, address)
	if err != nil {
		return dump, err
	}
	defer func() { _ = connection.Close(context.WithoutCancel(ctx)) }() // which also ends the transaction; only read
	tx, err := connection.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return dump, fmt.Errorf("begin a transaction: %w", err)
	}
	dump.Engine = Postgres
	if dump.SchemaVersion, err = scanVersion(tx.QueryRow(ctx, migrations.VersionQuery)); err != nil {
		return dump, err
	}
	for _, name := range tables {
		table, err := dumpTable(ctx, tx, dir, name)
		if err != nil {
			return dump, fmt.Errorf("copy the table %s: %w", name, err)
		}
		dump.Tables = append(dump.Tables, table)
	}
	return dump, nil
}

// dumpTable writes the file of a table.
func dumpTable(ctx context.Context, tx pgx.Tx, dir, name string) (table Table, err error) {
	rows, _ := tx.Query(ctx, `SELECT column_name::text FROM information_schema.columns
		WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position`, name) // CollectRows returns its error
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return table, err
	}
	file, err := os.OpenFile(tableFile(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return table, err
	}
	compressed, err := gzip.NewWriterLevel(file, gzip.BestSpeed)
	if err != nil {
		return table, errors.Join(err, file.Close())
	}
	tag, err := tx.Conn().PgConn().CopyTo(ctx, compressed, "COPY "+copyTarget(name, columns)+" TO STDOUT")
	if err == nil {
		err = compressed.Close()
	}
	if err == nil {
		err = file.Sync()
	}
	return Table{Name: name, Rows: tag.RowsAffected(), Columns: columns}, errors.Join(err, file.Close())
}

// copyTarget returns a table with its columns, quoted.
func copyTarget(table string, columns []string) string {
	quoted := make([]string, len(columns))
	for i, column := range columns {
		quoted[i] = pgx.Identifier{column}.Sanitize()
	}
	return pgx.Identifier{table}.Sanitize() + " (" + strings.Join(quoted, ", ") + ")"
}

// loadPostgres empties the database, creates the schema of the dump, loads the
// tables in one transaction. It returns an error if a service uses the database, or if the
// database has consumers and force is not set. After another error the database can be
// empty, and the load can be repeated.
func loadPostgres(ctx context.Context, address, dir string, dump Dump, force bool) (err error) {
	if len(tables) != len(dump.Tables) {
		return fmt.Errorf("the dump has %d tables, and its schema %d", len(dump.Tables), len(tables))
	}
	for i, table := range dump.Tables {
		if table.Name != tables[i] {
			return fmt.Errorf("the dump has the table %q instead of %q", table.Name, tables[i])
		}
	}
	s, err := store.Open(ctx, address) // migrates the schema, so that the tables exist
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		return err
	}
	connection, err := connectBulk(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, connection.Close(context.WithoutCancel(ctx))) }()
	var consumers int64
	if err := connection.QueryRow(ctx, `SELECT COUNT(*) FROM consumers`).Scan(&consumers); err != nil {
		return fmt.Errorf("check that the database is empty: %w", err)
	}
	if consumers > 0 && !force {
		return fmt.Errorf("it has %d consumers: %w", consumers, ErrNotEmpty)
	}
	name := cmp.Or(connection.Config().RuntimeParams["application_name"], postgres.ApplicationName)
	for end := time.Now().Add(unusedTimeout); ; { // until no service is connected to the database
		var others int64
		err := connection.QueryRow(ctx, `SELECT COUNT(*) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = $1 AND pid <> pg_backend_pid()`, name).Scan(&others)
		if err != nil {
			return fmt.Errorf("find the connections of services: %w", err)
		}
		if others == 0 {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("services use the database (%d connections): stop them first", others)
		}
		if err := retry.Sleep(ctx, unusedTimeout/50); err != nil {
			return err
		}
	}
	db := stdlib.OpenDB(*connection.Config())
	defer db.Close()                               // its connections are idle
	locker, err := lock.NewPostgresSessionLocker() // no service may start meanwhile
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	if err := migrations.Recreate(ctx, db, goose.DialectPostgres, goose.WithSessionLocker(locker)); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error {
		for _, table := range dump.Tables {
			if err := loadTable(ctx, tx, dir, table); err != nil {
				return fmt.Errorf("load the table %s: %w", table.Name, err)
			}
		}
		return nil
	})
}

// unusedTimeout is how long PostgreSQL may take to end the connections of a
// service that has stopped.
const unusedTimeout = 15 * time.Second

// loadTable replaces the rows of a table by those in its file.
func loadTable(ctx context.Context, tx pgx.Tx, dir string, table Table) error {
	file, err := os.Open(tableFile(dir, table.Name))
	if err != nil {
		return err
	}
	defer file.Close() // only read
	rows, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM `+pgx.Identifier{table.Name}.Sanitize()); err != nil { // of the migrations
		return err
	}
	tag, err := tx.Conn().PgConn().CopyFrom(ctx, rows, "COPY "+copyTarget(table.Name, table.Columns)+" FROM STDIN")
	if err != nil {
		return err
	}
	if tag.RowsAffected() != table.Rows {
		return fmt.Errorf("the file has %d rows, and the description of the dump %d", tag.RowsAffected(), table.Rows)
	}
	return nil
}
