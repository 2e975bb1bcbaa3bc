package store

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// textRow is a row of one text.
type textRow string

func (r textRow) Scan(columns ...any) error {
	*columns[0].(*string) = string(r)
	return nil
}

// FuzzPackedRow checks that a packed row is scanned as it was packed, and that
// other texts are errors.
func FuzzPackedRow(f *testing.F) {
	f.Add("text", int64(12), int64(0), `{"a":1}`, "x\x00y")
	f.Add("", int64(-1), int64(1_700_000_000_123), "", "")
	id := uuid.New()
	f.Fuzz(func(t *testing.T, text string, number, ms int64, data, other string) {
		text, data = strings.ReplaceAll(text, "\x00", ""), strings.ReplaceAll(data, "\x00", "")
		at := ""
		if ms != 0 {
			at = jsonOf(t, ms)
		}
		row := textRow(strings.Join([]string{text, jsonOf(t, number), at, data, id.String(), escapeNUL(other)}, "\x00"))
		var (
			gotText, gotOther string
			gotNumber         int64
			gotAt             time.Time
			gotData           []byte
			gotID             uuid.UUID
		)
		columns := []any{&gotText, &gotNumber, timeColumn{&gotAt}, &gotData, &gotID, escapedColumn{&gotOther}}
		if err := (packedRow{row}).Scan(columns...); err != nil {
			t.Fatal(err)
		}
		if gotText != text || gotNumber != number || string(gotData) != data || gotID != id || gotOther != other {
			t.Errorf("scanned %q %d %q %s %q", gotText, gotNumber, gotData, gotID, gotOther)
		}
		if ms == 0 != gotAt.IsZero() || ms != 0 && gotAt.UnixMilli() != ms {
			t.Errorf("scanned the time %v, want %d ms", gotAt, ms)
		}
		if err := (packedRow{row + "\x00"}).Scan(columns...); err == nil {
			t.Error("a row with one more column was scanned")
		}
		if err := (packedRow{row}).Scan(append(columns, new(string))...); err == nil {
			t.Error("a row with one column less was scanned")
		}
	})
}

// TestDefaultAutoLeave checks the JSON that is not decoded.
func TestDefaultAutoLeave(t *testing.T) {
	t.Parallel()
	if got := jsonOf(t, job.DefaultAutoLeave()); got != defaultAutoLeave {
		t.Errorf("defaultAutoLeave is %s, want %s", defaultAutoLeave, got)
	}
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
