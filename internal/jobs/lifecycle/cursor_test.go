package lifecycle

import (
	"testing"

	"standin/internal/jobs/job"
)

// FuzzCursor checks that a cursor decodes to the position that it encodes or is
// rejected.
func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Add("__________8AAAAAAAAAAAAAAAAAAAAA")
	f.Add("AAAAAAAAAAFkbHZfMDE5MmY1Yzg1YzFlN2EzMDlhNGYzZjFkMmI2YzdlODA")
	f.Add(cursor(jobList, position{1764000000000, "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80"}))
	f.Fuzz(func(t *testing.T, text string) {
		for _, list := range []byte{jobList, timelineList, deliveryList, logList, endpointList, KeyList, CalendarList, CalendarEventList} {
			last, err := readCursor(list, text)
			if err == nil && cursor(list, last) != text || err != nil && !job.ErrorIs(err, job.InvalidInput) {
				t.Errorf("%q decodes to %+v, %v", text, last, err)
			}
		}
	})
}
