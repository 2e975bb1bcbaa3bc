package store

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// selectLists are what queries of jobs select.
type selectLists struct {
	view, record string // viewColumns and jobColumns
	packed       bool   // each list is a single packed column
}

// plainLists select each column.
var plainLists = selectLists{view: viewColumns, record: jobColumns}

// packedLists select a single column, because the SQLite driver takes locks and
// allocates for every value that it returns: twenty jobs take a third of the time.
var packedLists = selectLists{view: pack(viewColumns), record: pack(jobColumns), packed: true}

// pack returns an expression that joins the values of columns with NUL. Stored
// texts contain no NUL (see escapeNUL). NULL becomes an empty text.
func pack(columns string) string {
	names := strings.FieldsFunc(columns, func(r rune) bool { return r == ',' || r <= ' ' })
	for i, name := range names {
		names[i] = "ifnull(" + name + ", '')"
	}
	return "concat_ws(char(0), " + strings.Join(names, ", ") + ")"
}

// unpacked returns scan for the rows of q's select lists.
func unpacked[T any](q *Queries, scan func(scanner) (T, error)) func(scanner) (T, error) {
	if !q.selects.packed {
		return scan
	}
	return func(row scanner) (T, error) { return scan(packedRow{row}) }
}

// packedRow scans the values of a packed column.
type packedRow struct{ row scanner }

// Scan implements scanner.
func (p packedRow) Scan(columns ...any) error {
	var rest string
	if err := p.row.Scan(&rest); err != nil {
		return err
	}
	for i, column := range columns {
		value, after, more := strings.Cut(rest, "\x00")
		if more != (i < len(columns)-1) {
			return fmt.Errorf("scan a packed row of %d columns: column %d is the last one, or not", len(columns), i)
		}
		if err := assign(column, value); err != nil {
			return fmt.Errorf("scan column %d of a packed row: %w", i, err)
		}
		rest = after
	}
	return nil
}

// assign stores a value of a packed row in the variable that column points to.
func assign(column any, value string) (err error) {
	switch into := column.(type) {
	case *string:
		*into = value
	case *[]byte:
		*into = []byte(value)
	case *int:
		*into, err = strconv.Atoi(value)
	case *int64:
		*into, err = strconv.ParseInt(value, 10, 64)
	case *uuid.UUID:
		*into, err = uuid.Parse(value)
	case textScanner:
		err = into.scanText(value)
	default:
		err = fmt.Errorf("columns of type %T are not supported", column)
	}
	return err
}

// textScanner scans a column from its text.
type textScanner interface{ scanText(value string) error }
