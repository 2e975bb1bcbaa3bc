package lifecycle

import (
	"testing"

	"standin/internal/job"
)

// FuzzCursor checks that a cursor decodes to the position that it encodes or is
// rejected.
func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Add("__________8AAAAAAAAAAAAAAAAAAAAA")
	f.Add("AAAAAAAAAAFkbHZfMDE5MmY1Yzg1YzFlN2EzMDlhNGYzZjFkMmI2YzdlODA")
	f.Fuzz(func(t *testing.T, text string) {
		number, id, err := readCursor(text)
		if err == nil && cursor(number, id) != text || err != nil && !job.ErrorIs(err, job.InvalidInput) {
			t.Errorf("%q decodes to %d, %s, %v", text, number, id, err)
		}
		at, err := readDeliveryCursor(text)
		if err == nil && deliveryCursor(at) != text || err != nil && !job.ErrorIs(err, job.InvalidInput) {
			t.Errorf("%q decodes to %+v, %v", text, at, err)
		}
	})
}
