package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pressly/goose/v3"
)

// unchecked are references that PostgreSQL does not check. It would run a query for
// each reference of each inserted row, which took up to 16% of the CPU time of a
// create. Instead, a transaction that inserts such a row holds a lock that keeps the
// row that it refers to: consumersLock or LockConsumer for a new job, and a lock on the
// job for a timeline entry or a delivery. A delivery has the consumer of its job.
// Deletions lock first, and a restore reads all rows: see CheckReferences.
//
// SQLite checks all references.
var unchecked = []struct{ table, column, target string }{
	{"jobs", "consumer_id", "consumers"},
	{"timeline", "job_id", "jobs"},
	{"deliveries", "job_id", "jobs"},
	{"deliveries", "consumer_id", "consumers"},
}

// referencesVersion is the version of referencesMigration.
const referencesVersion = 23

// referencesMigration is the migration that drops the constraints of unchecked. On
// SQLite it does nothing.
func referencesMigration(dialect goose.Dialect) *goose.Migration {
	if dialect != goose.DialectPostgres {
		return goose.NewGoMigration(referencesVersion, nil, nil)
	}
	each := func(format string) *goose.GoFunc {
		return &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			for _, r := range unchecked {
				if _, err := tx.ExecContext(ctx, fmt.Sprintf(format, r.table, r.column, r.target)); err != nil {
					return fmt.Errorf("the reference of %s to %s: %w", r.table, r.target, err)
				}
			}
			return nil
		}}
	}
	return goose.NewGoMigration(referencesVersion,
		each(`ALTER TABLE %[1]s DROP CONSTRAINT %[1]s_%[2]s_fkey`),
		each(`ALTER TABLE %[1]s ADD CONSTRAINT %[1]s_%[2]s_fkey FOREIGN KEY (%[2]s) REFERENCES %[3]s (id) NOT VALID`)) // without reading the rows
}

// CheckReferences returns an error if a row has one of the references that PostgreSQL
// does not check to a row that does not exist. It reads all rows of their tables.
func (q *Queries) CheckReferences(ctx context.Context) error {
	return checkReferences(func(query string) scanner { return q.queryRow(ctx, query) })
}

// checkReferences is CheckReferences on any connection.
func checkReferences(queryRow func(query string) scanner) (err error) {
	for _, r := range unchecked {
		var missing int64
		row := queryRow(fmt.Sprintf(`SELECT COUNT(*) FROM %[1]s WHERE NOT EXISTS (SELECT 1 FROM %[2]s target WHERE target.id = %[1]s.%[3]s)`, r.table, r.target, r.column))
		if scanErr := row.Scan(&missing); scanErr != nil {
			return fmt.Errorf("check the references of %s: %w", r.table, scanErr)
		}
		if missing > 0 {
			err = errors.Join(err, fmt.Errorf("%d rows of %s have a %s that is not in %s", missing, r.table, r.column, r.target))
		}
	}
	return err
}
