package dump

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"standin/internal/base/fsutil"
	"standin/internal/store"
	"standin/internal/store/migrations"
	"standin/internal/store/sqlite"
)

// sqliteDump is the file of a SQLite database in a dump.
const sqliteDump = "standin.db"

// dumpSQLite copies a database with VACUUM INTO, which reads one snapshot and
// delays no writer.
func dumpSQLite(ctx context.Context, path, dir string) (dump Dump, err error) {
	if _, err := os.Stat(path); err != nil {
		return dump, err
	}
	db, err := sqlite.OpenExisting(path)
	if err != nil {
		return dump, err
	}
	target := filepath.Join(dir, sqliteDump)
	_, err = db.ExecContext(ctx, `VACUUM INTO $1`, target)
	if err := errors.Join(err, db.Close()); err != nil {
		return dump, sqlite.Explain(path, fmt.Errorf("copy the SQLite database: %w", err))
	}
	if err := errors.Join(os.Chmod(target, 0o600), fsutil.Sync(target)); err != nil {
		return dump, err
	}
	return describeSQLite(ctx, target)
}

// describeSQLite returns the schema version and the tables of a file.
func describeSQLite(ctx context.Context, path string) (dump Dump, err error) {
	dump.Engine = SQLite
	db, err := sqlite.OpenExisting(path)
	if err != nil {
		return dump, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if dump.SchemaVersion, err = scanVersion(db.QueryRowContext(ctx, migrations.VersionQuery)); err != nil {
		return dump, err
	}
	for _, name := range tables {
		table := Table{Name: name}
		if err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM `+name).Scan(&table.Rows); err != nil {
			return dump, fmt.Errorf("count the rows of %s: %w", name, err)
		}
		dump.Tables = append(dump.Tables, table)
	}
	return dump, nil
}

// loadSQLite replaces the database at path by the dump. It checks a copy of the
// dump next to the database first, so that the replacement is one rename.
func loadSQLite(ctx context.Context, path, dir string, dump Dump, force bool) error {
	if info, err := os.Stat(path); err == nil && info.Size() > 0 && !force {
		return fmt.Errorf("%s: %w", path, ErrNotEmpty)
	}
	restored := path + ".restoring"
	if err := fsutil.CopyFile(filepath.Join(dir, sqliteDump), restored); err != nil {
		return err
	}
	found, err := describeSQLite(ctx, restored)
	if err != nil {
		return err
	}
	if found.SchemaVersion != dump.SchemaVersion || len(found.Tables) != len(dump.Tables) {
		return fmt.Errorf("the dump has the schema version %d with %d tables, and its description %d with %d",
			found.SchemaVersion, len(found.Tables), dump.SchemaVersion, len(dump.Tables))
	}
	for i, table := range found.Tables {
		if want := dump.Tables[i]; table.Name != want.Name || table.Rows != want.Rows {
			return fmt.Errorf("the dump has %d rows in %s, and its description %d in %s", table.Rows, table.Name, want.Rows, want.Name)
		}
	}
	aside := path + ".replaced-" + time.Now().UTC().Format("20060102T150405.000Z")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(restored, path); err != nil {
		return err
	}
	if err := fsutil.Sync(filepath.Dir(path)); err != nil {
		return err
	}
	s, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	return errors.Join(s.Check(ctx), s.Close())
}
