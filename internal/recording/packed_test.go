package recording

import (
	"slices"
	"testing"
	"time"

	"standin/internal/ingest"
)

// TestPackedFromReport: where a part is in a bot's file is what the bot tells;
// what cannot be so is not believed.
func TestPackedFromReport(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return recordingStart.Add(time.Duration(seconds) * time.Second) }
	part := func(number, from, to int) ingest.RecordingPart {
		return ingest.RecordingPart{Number: number, StartedAt: at(from), EndedAt: at(to), Segments: 2}
	}
	file := File{Name: "recording.mp4", Kind: Video, DurationMs: 5000}
	report := ingest.Report{Parts: []ingest.RecordingPart{part(0, 0, 3), part(1, 10, 16)}}
	unusable := ReportedPart{Number: 0, Loss: LossUnusable}
	second := ReportedPart{Number: 1, File: file.Name, LengthMs: 5000}
	type fileRange struct {
		number         int
		file           string
		offset, length time.Duration
	}
	guessed := []fileRange{{0, file.Name, 0, 3 * time.Second}, {1, file.Name, 3 * time.Second, 6 * time.Second}}
	for name, test := range map[string]struct {
		reported []ReportedPart
		want     []fileRange
	}{
		"nothing of the first was usable": {[]ReportedPart{unusable, second}, []fileRange{{0, "", 0, 0}, {1, file.Name, 0, 5 * time.Second}}},
		"both are there": {
			[]ReportedPart{{Number: 0, File: file.Name, LengthMs: 1500}, {Number: 1, File: file.Name, OffsetMs: 1500, LengthMs: 3500}},
			[]fileRange{{0, file.Name, 0, 1500 * time.Millisecond}, {1, file.Name, 1500 * time.Millisecond, 3500 * time.Millisecond}},
		},
		"it does not tell":         {nil, guessed},
		"a part that nobody knows": {[]ReportedPart{second, {Number: 7, File: file.Name}}, guessed},
		"a file that is not there": {[]ReportedPart{{Number: 1, File: "other.mp4", LengthMs: 1}}, guessed},
		"longer than its file":     {[]ReportedPart{{Number: 1, File: file.Name, OffsetMs: 4000, LengthMs: 5000}}, guessed},
		"before its file":          {[]ReportedPart{{Number: 1, File: file.Name, OffsetMs: -1, LengthMs: 50}}, guessed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []fileRange
			for _, s := range packedFromReport(FinalReport{Report: report, Media: []File{file}, PackedParts: test.reported}).Parts {
				got = append(got, fileRange{s.Number, s.File, s.Offset, s.Length})
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("parts are at %v, want %v", got, test.want)
			}
		})
	}
}
