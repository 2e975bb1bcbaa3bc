// Package drivertest checks what package store expects of each database.
package drivertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"standin/internal/store/sqldb"
)

// DB is an open database.
type DB interface {
	Reader() sqldb.Conn
	Write(ctx context.Context, fn func(context.Context, sqldb.Conn) error) error
}

var errRefused = errors.New("refused")

// Run tests a database with a new schema.
func Run(t *testing.T, db DB, dialect sqldb.Dialect) {
	t.Helper()
	ctx := t.Context()
	if err := insert(ctx, db, `CREATE TABLE things (name TEXT PRIMARY KEY, chosen INTEGER NOT NULL)`); err != nil {
		t.Fatal(err)
	}
	t.Run("a write is committed or rolled back as a whole", func(t *testing.T) {
		if err := insert(ctx, db, `INSERT INTO things VALUES ('kept', 1)`); err != nil {
			t.Fatal(err)
		}
		for name, fail := range map[string]func() error{
			"an error": func() error { return errRefused },
			"a panic":  func() error { panic("in a write") },
		} {
			err := safely(func() error {
				return db.Write(ctx, func(ctx context.Context, conn sqldb.Conn) error {
					if _, err := conn.Exec(ctx, sqldb.Statement{Query: `INSERT INTO things VALUES ('lost', 0)`}); err != nil {
						return err
					}
					return fail()
				})
			})
			if err == nil {
				t.Errorf("%s: the write succeeded", name)
			}
		}
		if err := insert(ctx, db, `INSERT INTO things VALUES ('lost', 0)`, `INSERT INTO things VALUES ('kept', 0)`); err == nil {
			t.Error("a duplicate was inserted")
		}
		expect(t, db, `SELECT name FROM things ORDER BY name`, "kept")
	})
	t.Run("a failed write does not affect concurrent ones", func(t *testing.T) {
		var writing sync.WaitGroup
		for n := range 20 {
			writing.Go(func() {
				err := db.Write(ctx, func(ctx context.Context, conn sqldb.Conn) error {
					if n%4 == 0 {
						return errRefused
					}
					_, err := conn.Exec(ctx, sqldb.Statement{Query: `INSERT INTO things VALUES ($1, 0)`, Args: []any{fmt.Sprintf("n%02d", n)}})
					return err
				})
				if (n%4 == 0) != errors.Is(err, errRefused) || n%4 != 0 && err != nil {
					t.Errorf("write %d: %v", n, err)
				}
			})
		}
		writing.Wait()
		expect(t, db, `SELECT count(*) FROM things WHERE name LIKE 'n%'`, "15")
	})
	t.Run("a caller that has given up writes nothing, and one that gives up does not interrupt", func(t *testing.T) {
		ended, cancel := context.WithCancel(ctx)
		called := false
		err := db.Write(ended, func(ctx context.Context, conn sqldb.Conn) error {
			called = true
			cancel()
			_, err := conn.Exec(ctx, sqldb.Statement{Query: `UPDATE things SET chosen = 7 WHERE name = 'kept'`})
			return err
		})
		if err != nil || !called {
			t.Errorf("called %t, %v", called, err)
		}
		if err := insert(ended, db, `DELETE FROM things`); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v", err)
		}
		expect(t, db, `SELECT chosen FROM things WHERE name = 'kept'`, "7")
	})
	t.Run("statements report the rows that they change", func(t *testing.T) {
		var affected []int64
		err := db.Write(ctx, func(ctx context.Context, conn sqldb.Conn) (err error) {
			affected, err = conn.Exec(ctx, sqldb.Statement{
				Query: `UPDATE things SET chosen = 1 WHERE name ` + dialect.In(1), Args: []any{`["n01", "n02", "none"]`},
			},
				sqldb.Statement{Query: `DELETE FROM things WHERE name = 'none'`})
			return err
		})
		if err != nil || fmt.Sprint(affected) != "[2 0]" {
			t.Errorf("changed %v (%v)", affected, err)
		}
		expect(t, db, `SELECT name FROM things WHERE chosen = 1 ORDER BY name`, "n01 n02")
	})
	t.Run("numbers and conditions are flags", func(t *testing.T) {
		rows, err := db.Reader().Query(ctx, `SELECT chosen, chosen > 1 FROM things WHERE name = $1`, "n01")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var chosen, more bool
		if !rows.Next() {
			t.Fatal("no row")
		}
		if err := rows.Scan(&chosen, &more); err != nil || !chosen || more {
			t.Errorf("got %t and %t (%v)", chosen, more, err)
		}
	})
	t.Run("a reader sees what is committed", func(t *testing.T) {
		err := db.Write(ctx, func(ctx context.Context, conn sqldb.Conn) error {
			if _, err := conn.Exec(ctx, sqldb.Statement{Query: `DELETE FROM things`}); err != nil {
				return err
			}
			expect(t, db, `SELECT name FROM things WHERE name = 'kept'`, "kept")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, db, `SELECT name FROM things`, "")
	})
}

// insert writes statements in a transaction.
func insert(ctx context.Context, db DB, statements ...string) error {
	return db.Write(ctx, func(ctx context.Context, conn sqldb.Conn) error {
		for _, statement := range statements {
			if _, err := conn.Exec(ctx, sqldb.Statement{Query: statement}); err != nil {
				return err
			}
		}
		return nil
	})
}

// expect checks the first column of a query, joined with spaces.
func expect(t *testing.T, db DB, query, want string) {
	t.Helper()
	rows, err := db.Reader().Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var found []string
	for rows.Next() {
		var value any
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		found = append(found, fmt.Sprint(value))
	}
	if got := strings.Join(found, " "); rows.Err() != nil || got != want {
		t.Errorf("%s: got %q, want %q (%v)", query, got, want, rows.Err())
	}
}

// safely returns the error of fn, or its panic.
func safely(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return fn()
}

// Limit sets a limit of the database, which returns its value.
func Limit(t *testing.T, db DB, statement string) {
	t.Helper()
	err := db.Write(t.Context(), func(ctx context.Context, conn sqldb.Conn) error {
		rows, err := conn.Query(ctx, statement)
		if err != nil {
			return err
		}
		for rows.Next() { // runs it
		}
		return errors.Join(rows.Err(), rows.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
}
