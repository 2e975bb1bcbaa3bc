package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// OpenRaw opens a database without migrating it.
func OpenRaw(address string) (*sql.DB, error) {
	if EngineOf(address) == SQLite {
		db, err := sql.Open("sqlite", "file:"+address+"?_pragma=foreign_keys(ON)")
		if err == nil {
			db.SetMaxOpenConns(1)
		}
		return db, err
	}
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	return stdlib.OpenDB(*config), nil
}

// MigrateTo migrates a database to a version, up or down.
func MigrateTo(ctx context.Context, address string, version int64) error {
	db, err := OpenRaw(address)
	if err != nil {
		return err
	}
	dialect := goose.DialectSQLite3
	if EngineOf(address) == Postgres {
		dialect = goose.DialectPostgres
	}
	provider, err := newProvider(db, dialect)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	current, err := provider.GetDBVersion(ctx)
	if err == nil && current < version {
		_, err = provider.UpTo(ctx, version)
	} else if err == nil {
		_, err = provider.DownTo(ctx, version)
	}
	return errors.Join(err, db.Close())
}

// TablesAt returns the tables of a schema version.
func TablesAt(version int64) ([]string, error) { return tablesAt(version) }

// Versions returns the versions of the schema.
func Versions() ([]int64, error) {
	entries, err := migrations.ReadDir("migrations")
	if err != nil {
		return nil, err
	}
	versions := []int64{referencesVersion}
	for _, entry := range entries {
		version, err := migrationVersion(entry.Name())
		if err != nil {
			return nil, err
		}
		versions = append(versions, version)
	}
	slices.Sort(versions)
	return versions, nil
}
