package store

import (
	"fmt"
	"strings"
)

// insertion is a statement that inserts rows into a table.
type insertion struct {
	table string
	one   string // the text for one row, whose values are the arguments
	many  string // PostgreSQL's text for any number of rows, with an array for each column
}

// newInsertion returns the insertion into columns, which are listed with their types
// as in CREATE TABLE.
func newInsertion(table, columns string) *insertion {
	var names, values, arrays []string
	for i, c := range columnsOf(columns) {
		names = append(names, c.name)
		values = append(values, fmt.Sprintf("$%d", i+1))
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+1, c.kind))
	}
	into := "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") "
	return &insertion{
		table: table,
		one:   into + "VALUES (" + strings.Join(values, ", ") + ")",
		many:  into + "SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ")",
	}
}

type column struct{ name, kind string }

// columnsOf parses a list of columns with their types.
func columnsOf(list string) (columns []column) {
	for _, text := range strings.Split(list, ",") {
		name, kind, _ := strings.Cut(strings.TrimSpace(text), " ")
		columns = append(columns, column{name, kind})
	}
	return columns
}

// done returns the error of the statement.
func (into *insertion) done(_ int64, err error) error {
	if err != nil {
		return fmt.Errorf("insert into %s: %w", into.table, err)
	}
	return nil
}
