package storetest

import (
	"path/filepath"
	"testing"
)

// OnBoth runs a test with the address of a fresh SQLite database, and with that
// of a fresh one on the cluster, which is nil where PostgreSQL is missing.
func OnBoth(t *testing.T, cluster *Cluster, test func(t *testing.T, address string)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, filepath.Join(t.TempDir(), "standin.db"))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, cluster.Fresh(t))
	})
}

// Fresh is the address of a fresh database. Without a cluster the test is
// skipped; in CI there is one, or Main has failed.
func (c *Cluster) Fresh(t *testing.T) string {
	t.Helper()
	if c == nil {
		t.Skip(ErrMissing)
	}
	address, err := c.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return address
}
