package store

import (
	"slices"
	"testing"
)

// TestTablesAt compares the tables found in the migrations with those of a migrated
// database.
func TestTablesAt(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), t.TempDir()+"/standin.db")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want, err := list(t.Context(), s.Queries, scanColumn[string],
		`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'goose_db_version' AND name NOT LIKE 'spoken_words%' ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	newest, err := NewestSchema()
	if err != nil {
		t.Fatal(err)
	}
	got, err := tablesAt(newest)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("tables %v, want %v (%v)", got, want, err)
	}
	if first, err := tablesAt(1); err != nil || !slices.Contains(first, "jobs") || slices.Contains(first, "users") {
		t.Errorf("tables of version 1: %v (%v)", first, err)
	}
}
