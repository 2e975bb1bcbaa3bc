package doctor

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"standin/internal/server/service"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// change runs a statement in a database.
func change(t *testing.T, driver, address, statement string) {
	t.Helper()
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(limited(t), statement); err != nil {
		t.Fatal(err)
	}
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	const last = `(SELECT max(version_id) FROM goose_db_version)`
	for name, test := range map[string]struct {
		statement string
		state     State
		found     string
	}{
		"up to date": {``, OK, "up to date"},
		"older":      {`DELETE FROM goose_db_version WHERE version_id = ` + last, Warn, "this program has"},
		"newer":      {`INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`, Fail, "schema 999 is newer"},
		"ahead":      {`INSERT INTO nodes VALUES ('a', '', '', 0, 9999999999999, 0, 0, '', 0)`, Warn, "ahead of this clock"},
		"empty":      {`DROP TABLE goose_db_version`, OK, "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := storetest.FreshSQLite(t)
			if test.statement != "" {
				change(t, "sqlite", path, test.statement)
			}
			untouched(t, filepath.Dir(path))
			check, clocks := checkDatabase(limited(t), Settings{DataSettings: service.DataSettings{DatabaseURL: path}})
			expect(t, check, test.state, test.found, "SQLite 3.", path)
			if len(clocks) != 0 {
				t.Errorf("SQLite has a clock: %v", clocks)
			}
		})
	}
}

// TestSQLiteInUse checks that recent writes are read, and that the files beside
// the database do not change.
func TestSQLiteInUse(t *testing.T) {
	t.Parallel()
	path := storetest.FreshSQLite(t)
	folder := filepath.Dir(path)
	s, err := store.Open(limited(t), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := os.Stat(path + "-wal"); err != nil {
		t.Fatalf("the open database has no write-ahead log: %v", err)
	}
	before := tree(t, folder)
	check, _ := checkDatabase(limited(t), Settings{DataSettings: service.DataSettings{DatabaseURL: path}})
	expect(t, check, OK, "up to date")
	if after := tree(t, folder); strings.Join(before, " ") != strings.Join(after, " ") {
		t.Errorf("the folder held %q and now holds %q", before, after)
	}
}

func TestSQLiteThatCannotBeRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "standin.db")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(path, strings.Repeat("this is no database ", 100))
	check, _ := checkDatabase(limited(t), Settings{DataSettings: service.DataSettings{DatabaseURL: path}})
	expect(t, check, Fail, path)
	write(path+"-wal", "left behind")
	check, _ = checkDatabase(limited(t), Settings{DataSettings: service.DataSettings{DatabaseURL: path}})
	expect(t, check, Fail, "write-ahead log", "killed")
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	settings := Settings{DataSettings: service.DataSettings{DatabaseURL: cluster.Empty(t)}}
	check, clocks := checkDatabase(limited(t), settings)
	expect(t, check, OK, "PostgreSQL ", "empty", `as "postgres"`)
	if len(clocks) != 1 || clocks[0].skew() > harmfulSkew {
		t.Errorf("the clock of the same machine is %v", clocks)
	}
	check, _ = checkDatabase(limited(t), settings)
	expect(t, check, OK, "empty") // the first check migrated nothing

	settings.DatabaseURL = cluster.Fresh(t)
	check, _ = checkDatabase(limited(t), settings)
	expect(t, check, OK, "up to date")
	change(t, "pgx", settings.DatabaseURL, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, true)`)
	check, _ = checkDatabase(limited(t), settings)
	expect(t, check, Fail, "schema 999 is newer")
}

// TestPasswordsStaySecret checks that no report contains a password.
func TestPasswordsStaySecret(t *testing.T) {
	t.Parallel()
	checks := []Check{checkBaseURL(Settings{BaseURL: "https://me:hunter2@example.com", Listen: "127.0.0.1:8080"})}
	for _, address := range []string{
		"postgres://me:hunter2@127.0.0.1:1/standin?connect_timeout=5",
		"postgres://me:hunter2@127.0.0.1:port/standin",
		"mysql://me:hunter2@127.0.0.1/standin",
	} {
		check, _ := checkDatabase(limited(t), Settings{DataSettings: service.DataSettings{DataDir: t.TempDir(), DatabaseURL: address}})
		checks = append(checks, check)
	}
	for _, address := range []string{"s3://key:hunter2@bucket", "file://me:hunter2@host/folder", "s3://key:hunter2@b%"} {
		check, _ := checkStorage(limited(t), Settings{StorageSettings: service.StorageSettings{StorageURL: address}})
		checks = append(checks, check)
	}
	for _, check := range checks {
		expect(t, check, Fail)
		if strings.Contains(check.Found+check.Fix, "hunter2") {
			t.Errorf("the password is shown: %s; fix: %s", check.Found, check.Fix)
		}
	}
}
