// Package dump copies the database of a service to files, and restores such copies.
package dump

import (
	"context"
	"errors"
	"fmt"

	"standin/internal/store"
	"standin/internal/store/migrations"
	"standin/internal/store/sqldb"
	"standin/internal/store/sqlite"
)

// Dump describes a copy of a database that Write wrote.
type Dump struct {
	Engine        Engine  `json:"engine"`
	SchemaVersion int64   `json:"schemaVersion"`
	Tables        []Table `json:"tables"`
}

// Table describes a table of a Dump.
type Table struct {
	Name    string   `json:"name"`
	Rows    int64    `json:"rows"`
	Columns []string `json:"columns,omitempty"` // of the file of a PostgreSQL table, in their order
}

// Engine names a kind of database.
type Engine string

// The kinds of databases.
const (
	SQLite   Engine = "sqlite"
	Postgres Engine = "postgres"
)

// ErrNotEmpty is the error of Load when the database contains data.
var ErrNotEmpty = errors.New("the database is not empty")

// engineOf returns the kind of the database at an address of store.Open.
func engineOf(address string) Engine {
	if store.IsPostgres(address) {
		return Postgres
	}
	return SQLite
}

// Write copies the database at address to files in dir, as it is at one
// moment after the call: with every write that was durable before, and nothing
// of a transaction that was not. The service may be running. The schema is not
// migrated.
func Write(ctx context.Context, address, dir string) (Dump, error) {
	if engineOf(address) == Postgres {
		return dumpPostgres(ctx, address, dir)
	}
	return dumpSQLite(ctx, address, dir)
}

// Load replaces the content of the database at address by a dump in dir,
// which has the schema of this version. No service may be running. If the
// database is not empty, it returns ErrNotEmpty unless force is set. A replaced
// SQLite file is kept under another name; the content of a PostgreSQL database
// is deleted.
func Load(ctx context.Context, address, dir string, dump Dump, force bool) error {
	if dump.Engine != engineOf(address) {
		return fmt.Errorf("the dump is of the engine %q, and the database of %q", dump.Engine, engineOf(address))
	}
	if dump.SchemaVersion != migrations.Newest {
		return fmt.Errorf("the dump has the schema version %d, and this version of standin restores %d", dump.SchemaVersion, migrations.Newest)
	}
	if dump.Engine == Postgres {
		return loadPostgres(ctx, address, dir, dump, force)
	}
	return loadSQLite(ctx, address, dir, dump, force)
}

// SchemaVersion returns the version of a database's schema. It changes nothing.
func SchemaVersion(ctx context.Context, address string) (int64, error) {
	if engineOf(address) == Postgres {
		connection, err := connectBulk(ctx, address)
		if err != nil {
			return 0, err
		}
		defer func() { _ = connection.Close(context.WithoutCancel(ctx)) }() // only read
		return scanVersion(connection.QueryRow(ctx, migrations.VersionQuery))
	}
	db, err := sqlite.OpenExisting(address)
	if err != nil {
		return 0, err
	}
	defer db.Close() // only read
	return scanVersion(db.QueryRowContext(ctx, migrations.VersionQuery))
}

func scanVersion(row sqldb.Row) (version int64, err error) {
	if err := row.Scan(&version); err != nil {
		return 0, fmt.Errorf("read the schema version: %w", err)
	}
	return version, nil
}

// tables are the tables of the schema in the order of their creation: a table refers
// only to earlier ones.
var tables = []string{
	"consumers", "audit_log", "users", "api_keys", "kept_requests", "sessions", "invitations", "device_flows", "device_flow_lock",
	"payment_events", "subscriptions", "payment_customers", "nodes", "consumer_rotation",
	"jobs", "calendars", "calendar_events", "mail_messages", "mail_meetings", "mail_events", "mail_changes", "mailboxes", "consumer_mail",
	"usage_days", "share_links", "job_tombstones", "timeline", "attempt_ends", "commands",
	"accounts", "zoom_apps", "zoom_streams", "saml_secrets", "account_uses", "screenshots", "deliveries", "delivery_tries", "webhook_endpoints", "alerts",
	"meeting_texts", "meeting_text_totals", "recording_tasks", "transcription_pieces", "search_texts",
}
