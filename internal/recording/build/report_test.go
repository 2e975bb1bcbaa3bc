package build

import (
	"slices"
	"testing"
)

// TestPackedFromReport checks that the positions of parts come from the bot's report, or from their
// lengths if the report is invalid.
func TestPackedFromReport(t *testing.T) {
	t.Parallel()
	var table struct {
		Report   FinalReport
		Cases    map[string]struct{ PackedParts, Want []ReportedPart }
		Inferred []ReportedPart
	}
	readJSON(t, "packed-parts.json", &table)
	for name, test := range table.Cases {
		report := table.Report
		report.PackedParts = test.PackedParts
		var got []ReportedPart
		for _, part := range packedFromReport(report).Parts {
			got = append(got, ReportedPart{
				Number: part.Number, File: part.File, OffsetMs: part.Offset.Milliseconds(), LengthMs: part.Length.Milliseconds(),
			})
		}
		if test.Want == nil {
			test.Want = table.Inferred
		}
		if !slices.Equal(got, test.Want) {
			t.Errorf("%s: parts %+v, want %+v", name, got, test.Want)
		}
	}
}
