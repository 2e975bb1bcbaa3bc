package store

import (
	"fmt"
	"strings"
)

// lookup is a query whether a table has a row.
type lookup struct {
	table string
	one   string // the text for one row, whose values are the arguments
	many  string // PostgreSQL's text for any number of rows, with their numbers and an array for each column; it returns the numbers of those that exist
}

// newLookup returns the lookup of rows by columns, which are listed with their types
// as in CREATE TABLE, among those that satisfy a condition.
func newLookup(table, columns, condition string) *lookup {
	numbered, arrays, one, many := []string{"number"}, []string{"(SELECT $1::bigint[])"}, condition, condition
	for i, c := range columnsOf(columns) {
		numbered = append(numbered, "wanted_"+c.name)
		arrays = append(arrays, fmt.Sprintf("(SELECT $%d::%s[])", i+2, c.kind))
		one += fmt.Sprintf(" AND %s = $%d", c.name, i+1)
		many += fmt.Sprintf(" AND %s = wanted_%s", c.name, c.name)
	}
	from := "SELECT 1 FROM " + table + " WHERE "
	return &lookup{
		table: table,
		one:   from + one + " LIMIT 1",
		many: "SELECT number FROM unnest(" + strings.Join(arrays, ", ") + ") AS wanted (" + strings.Join(numbered, ", ") + ") " +
			"WHERE (" + from + many + " LIMIT 1) = 1",
	}
}

// done returns the error of the query.
func (in *lookup) done(_ int64, err error) error {
	if err != nil {
		return fmt.Errorf("look up in %s: %w", in.table, err)
	}
	return nil
}
