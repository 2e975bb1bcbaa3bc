// Package migrations creates the schema of the database and migrates it.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"fmt"

	"github.com/pressly/goose/v3"
)

//go:embed *.sql
var files embed.FS

// Newest is the version of the schema after all migrations.
const Newest = 2

// VersionQuery reads the version of the schema.
const VersionQuery = `SELECT MAX(version_id) FROM goose_db_version WHERE is_applied`

// Up migrates a database to Newest. A database with a newer schema is an error.
func Up(ctx context.Context, db *sql.DB, dialect goose.Dialect, options ...goose.ProviderOption) error {
	provider, err := newProvider(db, dialect, options...)
	if err != nil {
		return err
	}
	version, err := provider.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	if version > Newest {
		return fmt.Errorf("the schema has version %d, and this version of standin supports up to %d: "+
			"run the version of standin that migrated it, or a newer one", version, Newest)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate the schema: %w", err)
	}
	return nil
}

// Recreate empties a database and creates the schema.
func Recreate(ctx context.Context, db *sql.DB, dialect goose.Dialect, options ...goose.ProviderOption) error {
	provider, err := newProvider(db, dialect, options...)
	if err != nil {
		return err
	}
	if _, err := provider.DownTo(ctx, 0); err != nil {
		return fmt.Errorf("empty the database: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("create the schema: %w", err)
	}
	return nil
}

func newProvider(db *sql.DB, dialect goose.Dialect, options ...goose.ProviderOption) (*goose.Provider, error) {
	provider, err := goose.NewProvider(dialect, db, files, append(options, goose.WithGoMigrations(searchIndex(dialect)))...)
	if err != nil {
		return nil, fmt.Errorf("prepare migrations: %w", err)
	}
	return provider, nil
}
