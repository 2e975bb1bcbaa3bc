package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"standin/internal/store/sqldb"
	"standin/internal/store/sqlite"
	"standin/internal/testing/drivertest"
)

func open(t *testing.T, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestDriver(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, open(t, filepath.Join(t.TempDir(), "a ? b#.db")), sqldb.SQLite)
}

// TestFile checks that one tells whether a file was closed.
func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "standin.db")
	db := open(t, path)
	if sqlite.ClosedCleanly(path) {
		t.Error("an open database counts as closed")
	}
	if err := errors.Join(db.Check(t.Context()), db.Close()); err != nil {
		t.Fatal(err)
	}
	if !sqlite.ClosedCleanly(path) {
		t.Error("a closed database counts as open")
	}
}

// TestLogShrinks checks that the -wal file shrinks that has grown while a read lasted.
func TestLogShrinks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "standin.db")
	db := open(t, path)
	write := func(query string, args ...any) {
		t.Helper()
		if err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Conn) error {
			_, err := tx.Exec(ctx, sqldb.Statement{Query: query, Args: args})
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	size := func() int64 {
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size() >> 20
	}
	write(`CREATE TABLE things (name BLOB)`)
	write(`INSERT INTO things VALUES ('read')`)
	rows, err := db.Reader().Query(t.Context(), `SELECT name FROM things`)
	if err != nil || !rows.Next() {
		t.Fatal(err)
	}
	for range 50 {
		write(`INSERT INTO things VALUES ($1)`, make([]byte, 1<<20))
	}
	if size() < 40 {
		t.Fatalf("the file has %d MiB: this test shows nothing", size())
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		write(`INSERT INTO things VALUES ('later')`)
	}
	if size() > 32 {
		t.Errorf("the file still has %d MiB", size())
	}
}

// TestDamagedFile checks that the error of a damaged file says what to do.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "standin.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "restore a backup") {
		t.Errorf("the error is %v", err)
	}
	if other := errors.New("other"); sqlite.Explain(path, other) != other { //nolint:errorlint // the same
		t.Error("another error is explained")
	}
}

// TestOpenExisting checks that a file is neither created nor migrated.
func TestOpenExisting(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "standin.db")
	db, err := sqlite.OpenExisting(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.PingContext(t.Context()); err == nil {
		t.Error("a file that does not exist was opened")
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file was created (%v)", err)
	}
}

// TestFullDisk checks which errors mean a full disk, and that the writes that need no room do
// not fail with those that share their transaction. SQLite rolls back the whole transaction when
// an update that changes one row finds no room.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "standin.db"))
	write := func(query string, args ...any) error {
		return db.Write(t.Context(), func(ctx context.Context, conn sqldb.Conn) error {
			_, err := conn.Exec(ctx, sqldb.Statement{Query: query, Args: args})
			return err
		})
	}
	for _, query := range []string{`CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT)`, `INSERT INTO things VALUES (1, '')`, `INSERT INTO things VALUES (2, '')`} {
		if err := write(query); err != nil {
			t.Fatal(err)
		}
	}
	drivertest.Limit(t, db, `PRAGMA max_page_count = 1`)
	var writing sync.WaitGroup
	for n := range 40 {
		writing.Go(func() {
			if n%4 > 0 {
				if err := write(`UPDATE things SET name = name || 'x' WHERE id = 1`); err != nil {
					t.Errorf("a small write: %v", err)
				}
			} else if err := write(`UPDATE things SET name = $1 WHERE id = 2`, strings.Repeat("x", 1<<20)); !sqlite.IsDiskFull(fmt.Errorf("write: %w", err)) {
				t.Errorf("a large write: %v", err)
			}
		})
	}
	writing.Wait()
	var small, large int
	rows, err := db.Reader().Query(t.Context(), `SELECT max(length(name)), min(length(name)) FROM things`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if !rows.Next() || rows.Scan(&small, &large) != nil || small != 30 || large != 0 {
		t.Errorf("%d small writes and %d bytes of large ones were kept (%v)", small, large, rows.Err())
	}
	if sqlite.IsDiskFull(errors.New("disk full")) {
		t.Error("another error counts as a full disk")
	}
}
