package store

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"standin/internal/job"
)

// scanBinary stores the values of a row in the variables that columns point to.
// It reports false if it does not know a type, so that pgx has to scan the row,
// which takes twice as long.
func scanBinary(fields []pgconn.FieldDescription, values [][]byte, columns []any) (known bool, err error) {
	if len(fields) != len(columns) || len(values) != len(columns) {
		return false, nil
	}
	for i, column := range columns {
		switch fields[i].DataTypeOID {
		case pgtype.TextOID:
			known, err = assignText(column, values[i])
		case pgtype.Int8OID:
			known = assignInteger(column, fields[i].Format, values[i])
		default:
			known = false
		}
		if !known {
			return false, nil
		}
		if err != nil {
			return true, fmt.Errorf("scan column %s: %w", fields[i].Name, err)
		}
	}
	return true, nil
}

// frequentTexts are values that many rows have.
var frequentTexts = textSet(defaultAutoLeave, job.DefaultDisplayName,
	string(job.Live), string(job.Meet), string(job.Teams), string(job.ZoomWeb),
	string(job.Scheduled), string(job.Completed), string(job.Cancelled))

func textSet(texts ...string) map[string]string {
	set := make(map[string]string, len(texts))
	for _, text := range texts {
		set[text] = text
	}
	return set
}

// assignText stores a text, which is nil for NULL.
func assignText(column any, value []byte) (known bool, err error) {
	if value == nil {
		into, ok := column.(nullTextColumn)
		if ok {
			*into.string = ""
		}
		return ok, nil
	}
	switch into := column.(type) {
	case *string:
		*into = string(value)
	case *[]byte:
		*into = append(make([]byte, 0, len(value)), value...)
	case *uuid.UUID:
		*into, err = uuid.ParseBytes(value)
	case timeColumn:
		return false, nil
	case textScanner:
		text, frequent := frequentTexts[string(value)] // without an allocation
		if !frequent {
			text = string(value)
		}
		err = into.scanText(text)
	default:
		return false, nil
	}
	return true, err
}

// assignInteger stores a bigint, which is nil for NULL. It returns whether it knows
// the type of the column.
func assignInteger(column any, format int16, value []byte) bool {
	if value == nil {
		into, ok := column.(timeColumn)
		if ok {
			*into.Time = time.Time{}
		}
		return ok
	}
	if format != pgtype.BinaryFormatCode || len(value) != 8 {
		return false
	}
	number := int64(binary.BigEndian.Uint64(value))
	switch into := column.(type) {
	case *int64:
		*into = number
	case *int:
		*into = int(number)
	case timeColumn:
		*into.Time = fromMillis(number)
	default:
		return false
	}
	return true
}
