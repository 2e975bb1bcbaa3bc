package store

import "testing"

func TestWithoutNumbers(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		`SELECT 1`: `SELECT 1`,
		`INSERT INTO a VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`: `INSERT INTO a VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		`UPDATE a SET b = $2 WHERE id = $1`:                                   `UPDATE a SET b = $2 WHERE id = $1`,
		`SELECT 1 WHERE $1 = $2 OR $1 = 3`:                                    `SELECT 1 WHERE $1 = $2 OR $1 = 3`,
	} {
		if got := withoutNumbers(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}
