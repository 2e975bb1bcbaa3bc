package recording

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"standin/internal/ingest"
)

// SourcePart is a stretch that is to be packed: its segments, put one behind
// the other, are one fragmented MP4.
type SourcePart struct {
	Attempt   int
	Number    int
	StartedAt time.Time // zero when no report tells
	Segments  []string  // files in the order of recording; a file that is not there, or "", is a hole
}

// StretchesIn finds an attempt's stretches: the segments in a folder, named
// by ingest.SegmentName, and those that the attempt's report tells of and that
// may be missing there. The report may be the zero one.
func FindParts(folder string, attempt int, report ingest.Report) ([]SourcePart, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("look for segments: %w", err)
	}
	var stretches []SourcePart
	places := map[int]int{} // by number
	stretch := func(number int) *SourcePart {
		at, known := places[number]
		if !known {
			at = len(stretches)
			places[number] = at
			stretches = append(stretches, SourcePart{Attempt: attempt, Number: number})
		}
		return &stretches[at]
	}
	holed := map[int]bool{}
	for _, entry := range entries { // by name, so in the order of recording
		number, sequence, ok := ingest.ParseSegmentName(entry.Name())
		if !ok {
			continue
		}
		found := stretch(number)
		if sequence == len(found.Segments) {
			found.Segments = append(found.Segments, filepath.Join(folder, entry.Name()))
		} else {
			holed[number] = true
		}
	}
	for _, told := range report.Parts {
		if empty(told) {
			continue
		}
		reported := stretch(told.Number)
		reported.StartedAt = told.StartedAt
		if told.Segments > len(reported.Segments) {
			holed[told.Number] = true
		}
	}
	for number := range holed { // a stretch ends at its first hole: one is enough
		stretch(number).Segments = append(stretch(number).Segments, "")
	}
	slices.SortFunc(stretches, func(a, b SourcePart) int { return cmp.Compare(a.Number, b.Number) })
	return stretches, nil
}

// empty reports whether a stretch ended in order before anything was recorded.
func empty(stretch ingest.RecordingPart) bool { return stretch.Complete && stretch.Segments == 0 }
