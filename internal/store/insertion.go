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
	for i, column := range strings.Split(columns, ",") {
		name, kind, _ := strings.Cut(strings.TrimSpace(column), " ")
		names = append(names, name)
		values = append(values, fmt.Sprintf("$%d", i+1))
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+1, kind))
	}
	into := "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") "
	return &insertion{
		table: table,
		one:   into + "VALUES (" + strings.Join(values, ", ") + ")",
		many:  into + "SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ")",
	}
}

// done returns the error of the statement.
func (into *insertion) done(_ int64, err error) error {
	if err != nil {
		return fmt.Errorf("insert into %s: %w", into.table, err)
	}
	return nil
}
