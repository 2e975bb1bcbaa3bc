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

// SourcePart is a recording part to pack. Its concatenated segments are one
// fragmented MP4.
type SourcePart struct {
	Attempt   int
	Number    int
	StartedAt time.Time // zero when no report has it
	Segments  []string  // files in recording order; "" or a missing file is a missing segment
}

// FindParts returns an attempt's parts: from the segments in a folder, named by
// ingest.SegmentName, and from the attempt's report, which may be the zero
// Report.
func FindParts(folder string, attempt int, report ingest.Report) ([]SourcePart, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("list the segments: %w", err)
	}
	var parts []SourcePart
	indexes := map[int]int{} // by number
	part := func(number int) *SourcePart {
		index, known := indexes[number]
		if !known {
			index = len(parts)
			indexes[number] = index
			parts = append(parts, SourcePart{Attempt: attempt, Number: number})
		}
		return &parts[index]
	}
	incomplete := map[int]bool{}
	for _, entry := range entries { // sorted by name, which is the recording order
		number, sequence, ok := ingest.ParseSegmentName(entry.Name())
		if !ok {
			continue
		}
		found := part(number)
		if sequence == len(found.Segments) {
			found.Segments = append(found.Segments, filepath.Join(folder, entry.Name()))
		} else {
			incomplete[number] = true
		}
	}
	for _, reported := range report.Parts {
		if isEmpty(reported) {
			continue
		}
		found := part(reported.Number)
		found.StartedAt = reported.StartedAt
		if reported.Segments > len(found.Segments) {
			incomplete[reported.Number] = true
		}
	}
	for number := range incomplete { // packing ends at the first missing segment, so one is enough
		part(number).Segments = append(part(number).Segments, "")
	}
	slices.SortFunc(parts, func(a, b SourcePart) int { return cmp.Compare(a.Number, b.Number) })
	return parts, nil
}

// isEmpty reports whether a part ended normally without any segment.
func isEmpty(part ingest.RecordingPart) bool { return part.Complete && part.Segments == 0 }
