package dump

import (
	"slices"
	"testing"

	"standin/internal/store"
	"standin/internal/store/sqlite"
)

// TestTables compares the tables of a dump with those of the schema.
func TestTables(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/standin.db"
	s, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.OpenExisting(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), `SELECT name FROM sqlite_schema WHERE type = 'table'
		AND name NOT LIKE 'sqlite%' AND name <> 'goose_db_version' AND name NOT LIKE 'search_texts_words%' ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var want []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		want = append(want, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(slices.Values(tables)); !slices.Equal(got, want) {
		t.Errorf("tables %v, want %v", got, want)
	}
}
