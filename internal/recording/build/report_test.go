package build

import (
	"slices"
	"testing"
	"time"

	"standin/internal/ingest"
	"standin/internal/recording"
)

// TestPackedFromReport checks that the positions of parts come from the bot's
// report, or from their lengths if the report is invalid.
func TestPackedFromReport(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return recordingStart.Add(time.Duration(seconds) * time.Second) }
	part := func(number, from, to int) ingest.RecordingPart {
		return ingest.RecordingPart{Number: number, StartedAt: at(from), EndedAt: at(to), Segments: 2}
	}
	file := recording.File{Name: "recording.mp4", Kind: recording.Video, DurationMs: 5000}
	report := ingest.Report{Parts: []ingest.RecordingPart{part(0, 0, 3), part(1, 10, 16)}}
	unusable := ReportedPart{Number: 0, Loss: LossUnusable}
	usable := ReportedPart{Number: 1, File: file.Name, LengthMs: 5000}
	type fileRange struct {
		number         int
		file           string
		offset, length time.Duration
	}
	inferred := []fileRange{{0, file.Name, 0, 3 * time.Second}, {1, file.Name, 3 * time.Second, 6 * time.Second}}
	for name, test := range map[string]struct {
		reported []ReportedPart
		want     []fileRange
	}{
		"first part unusable": {[]ReportedPart{unusable, usable}, []fileRange{{0, "", 0, 0}, {1, file.Name, 0, 5 * time.Second}}},
		"two parts": {
			[]ReportedPart{{Number: 0, File: file.Name, LengthMs: 1500}, {Number: 1, File: file.Name, OffsetMs: 1500, LengthMs: 3500}},
			[]fileRange{{0, file.Name, 0, 1500 * time.Millisecond}, {1, file.Name, 1500 * time.Millisecond, 3500 * time.Millisecond}},
		},
		"no packed parts":            {nil, inferred},
		"unknown part":               {[]ReportedPart{usable, {Number: 7, File: file.Name}}, inferred},
		"unknown file":               {[]ReportedPart{{Number: 1, File: "other.mp4", LengthMs: 1}}, inferred},
		"beyond the end of the file": {[]ReportedPart{{Number: 1, File: file.Name, OffsetMs: 4000, LengthMs: 5000}}, inferred},
		"negative offset":            {[]ReportedPart{{Number: 1, File: file.Name, OffsetMs: -1, LengthMs: 50}}, inferred},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []fileRange
			for _, part := range packedFromReport(FinalReport{Report: report, Media: []recording.File{file}, PackedParts: test.reported}).Parts {
				got = append(got, fileRange{part.Number, part.File, part.Offset, part.Length})
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("parts = %v, want %v", got, test.want)
			}
		})
	}
}
