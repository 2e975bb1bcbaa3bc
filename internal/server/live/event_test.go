package live

import (
	"testing"

	"github.com/google/uuid"
)

func FuzzParseCursor(f *testing.F) {
	f.Add("")
	f.Add(Cursor{Entry: uuid.Max, Text: 7}.String())
	f.Add("0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80.-1")
	f.Add("urn:uuid:0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80.1")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCursor(text)
		if err != nil {
			return
		}
		if again, err := ParseCursor(c.String()); err != nil || again != c {
			t.Errorf("%q is parsed as %v, and that as %v (%v)", text, c, again, err)
		}
	})
}
