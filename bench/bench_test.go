package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"standin/bench/report"
	"standin/internal/testing/storetest"
)

// TestMain makes the test binary act as a limit program when a benchmark starts
// it as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "limit" {
		if err := run(context.Background(), os.Args[1:]); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestRows runs rows with short loads: every metric is measured on every
// database. The values do not matter.
func TestRows(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	dir := t.TempDir()
	binary := filepath.Join(dir, "standin")
	if err := build(t.Context(), binary); err != nil {
		t.Fatal(err)
	}
	o, err := parse([]string{
		"-rounds", "1", "-duration", "20ms", "-due", "20", "-bots", "20", "-stored", "2000", "-log-files", "0", "-dir", dir, "-standin",
		binary,
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := newEnv(t.Context(), o)
	if errors.Is(err, storetest.ErrMissing) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.close(); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"create", "latency", "single", "cancel", "ingest", "sender"} {
		t.Run(name, func(t *testing.T) {
			r := rows()[slices.IndexFunc(rows(), func(r row) bool { return r.name == name })]
			results, err := e.measure(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			for _, database := range []string{sqlite, postgres} {
				for _, wanted := range r.table {
					if value, ok := report.Median(results, name, standin, database, 0, wanted.Unit); !ok || value <= 0 {
						t.Errorf("%s on %s: %g %s", wanted.Title, database, value, wanted.Unit)
					}
				}
			}
		})
	}
}
