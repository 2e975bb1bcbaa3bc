package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"standin/internal/store"
)

// OnBoth runs a test with the address of a new SQLite database and with that of a
// new database on the cluster, which is nil without PostgreSQL.
func OnBoth(t *testing.T, cluster *Cluster, test func(t *testing.T, address string)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, FreshSQLite(t))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, cluster.Fresh(t))
	})
}

// Open opens a database that is closed when the test ends.
func Open(t testing.TB, address string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// FreshSQLite returns the path of a new SQLite database with an empty schema.
func FreshSQLite(t testing.TB) string {
	t.Helper()
	content, err := migratedSQLite()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "standin.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// FreshDataDir returns the data directory of a service with such a database.
func FreshDataDir(t testing.TB) string {
	t.Helper()
	return filepath.Dir(FreshSQLite(t))
}

// migratedSQLite returns the content of a migrated database. Tests copy it, because
// migrating takes longer than most of them.
var migratedSQLite = sync.OnceValues(func() (content []byte, err error) {
	dir, err := os.MkdirTemp("", "standin-store-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "standin.db")
	if err := migrate(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// migrate migrates a database. A SQLite database is one file afterwards.
func migrate(address string) error {
	s, err := store.Open(context.Background(), address)
	if err != nil {
		return fmt.Errorf("migrate a database for tests: %w", err)
	}
	return s.Close()
}

// Fresh returns the address of a new database with an empty schema. It skips the
// test without a cluster; in CI, Main has failed in that case.
func (c *Cluster) Fresh(t *testing.T) string {
	t.Helper()
	return c.fresh(t, func() (string, error) {
		if err := c.template(); err != nil {
			return "", err
		}
		// The default strategy also writes the copy to the log, which takes twice the CPU time.
		return c.newDatabase(t.Context(), "TEMPLATE "+templateName+" STRATEGY FILE_COPY")
	})
}

// Empty returns the address of a new database without a schema. See Fresh.
func (c *Cluster) Empty(t *testing.T) string {
	t.Helper()
	return c.fresh(t, func() (string, error) { return c.NewDatabase(t.Context()) })
}

func (c *Cluster) fresh(t *testing.T, create func() (string, error)) string {
	t.Helper()
	if c == nil {
		t.Skip(ErrMissing)
	}
	address, err := create()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// StartPair starts a server with a new database that has an empty schema, and a standby that replicates it,
// until the test ends. It skips the test without PostgreSQL.
func StartPair(t *testing.T) (primary, standby *Cluster, address string) {
	t.Helper()
	started := func(c *Cluster, err error) *Cluster {
		t.Helper()
		if errors.Is(err, ErrMissing) && os.Getenv("CI") == "" {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Stop(); err != nil {
				t.Error(err)
			}
		})
		return c
	}
	primary = started(Start(t.Context()))
	address = primary.Fresh(t)
	return primary, started(primary.standby(t.Context())), address
}
