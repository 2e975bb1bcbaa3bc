package store_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// TestSQLiteFilesArePrivate checks the modes of a new database and of one that other
// users could read.
func TestSQLiteFilesArePrivate(t *testing.T) {
	t.Parallel()
	readable := storetest.FreshSQLite(t)
	for _, name := range []string{readable, readable + "-wal"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil && name != readable {
			t.Fatal(err)
		}
		if err := os.Chmod(name, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, path := range map[string]string{"new": filepath.Join(t.TempDir(), "standin.db"), "readable": readable} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t, path)
			newConsumer(t, s)
			files, err := filepath.Glob(path + "*")
			if err != nil || len(files) < 3 {
				t.Fatalf("files %v, %v", files, err)
			}
			for _, file := range files {
				info, err := os.Stat(file)
				if err != nil {
					t.Fatal(err)
				}
				if info.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s has mode %04o", filepath.Base(file), info.Mode().Perm())
				}
			}
		})
	}
}

// TestOpenNewerSchema checks that the schema of the next release is used as it is, and that a
// newer one is refused.
func TestOpenNewerSchema(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, cluster, func(t *testing.T, address string) {
		driver := "sqlite"
		if strings.HasPrefix(address, "postgres:") {
			driver = "pgx"
		}
		db, err := sql.Open(driver, address)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		migrate := func(statements ...string) {
			for _, statement := range statements {
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
		}
		migrate(
			`INSERT INTO goose_db_version (version_id, is_applied) VALUES (201, true)`,
			`ALTER TABLE consumers ADD COLUMN of_next_release TEXT NOT NULL DEFAULT ''`, `CREATE TABLE next_release (id INTEGER PRIMARY KEY)`,
		)
		s, err := store.Open(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		newConsumer(t, s)
		if err := errors.Join(s.CheckSchema(t.Context()), s.Close()); err != nil {
			t.Error(err)
		}
		migrate(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (301, true)`)
		if s, err = store.Open(t.Context(), address); err == nil {
			t.Fatal("opened a newer database; close: ", s.Close())
		}
		if !strings.Contains(err.Error(), "the schema has version 301") {
			t.Error(err)
		}
	})
}

// TestUnreadableSQLite checks that an I/O error is not taken for a full disk: the -wal file
// is shorter than SQLite has written it.
func TestUnreadableSQLite(t *testing.T) {
	t.Parallel()
	path := storetest.FreshSQLite(t)
	s := storetest.Open(t, path)
	c := newConsumer(t, s)
	if err := os.Truncate(path+"-wal", 0); err != nil {
		t.Fatal(err)
	}
	_, err := s.Consumer(t.Context(), c.ID)
	var lite *modernc.Error
	if !errors.As(err, &lite) || lite.Code()&0xff != sqlite3.SQLITE_IOERR {
		t.Fatalf("read a consumer: %v, want an I/O error", err)
	}
	if store.IsDiskFull(err) {
		t.Errorf("reported as a full disk: %v", err)
	}
	if !store.IsUnavailable(err) {
		t.Errorf("not reported as an outage: %v", err)
	}
}

// TestDamagedSQLite checks a database with a damaged page.
func TestDamagedSQLite(t *testing.T) {
	t.Parallel()
	path := storetest.FreshSQLite(t)
	s := storetest.Open(t, path)
	for range 200 {
		newConsumer(t, s)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("check an intact database: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(content) - 4096; i < len(content); i++ {
		content[i] = 0xa5 // the last page
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s = storetest.Open(t, path)
	if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "restore a backup") {
		t.Errorf("check a damaged database: %v", err)
	}
}
