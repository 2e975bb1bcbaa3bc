package build

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/recording"
)

var recordingStart = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// at returns the time that many seconds after recordingStart.
func at(seconds float64) time.Time {
	return recordingStart.Add(time.Duration(seconds * float64(time.Second)))
}

// testInput returns the service's data about a job.
func testInput() ManifestInput {
	return ManifestInput{Job: job.Job{
		ID: uuid.MustParse("0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80"), ExternalID: "weekly-17", Platform: job.Meet,
		MeetingURL: "https://meet.google.com/abc-defg-hij", DisplayName: "Standin",
	}}
}

// testFile returns the description of a recording of 10 s.
func testFile() recording.File {
	return recording.File{
		Name: "recording.mp4", Kind: recording.Video, ContentType: "video/mp4", Codecs: "avc1.42E01F,opus", Bytes: 9,
		SHA256:     "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		DurationMs: 10000, Width: 1280, Height: 720,
	}
}

// packedPart returns a part with length seconds in the file. Times are seconds
// after recordingStart.
func packedPart(attempt, number int, startedAt, length float64) PackedPart {
	return PackedPart{
		Attempt: attempt, Number: number, StartedAt: at(startedAt), File: "recording.mp4",
		Length: time.Duration(length * float64(time.Second)),
	}
}

// endedBy returns a part with an end reason.
func endedBy(part ingest.RecordingPart, reason string) ingest.RecordingPart {
	part.EndedBy = reason
	return part
}

// completePart returns a part that ended normally.
func completePart(number int, from, to float64) ingest.RecordingPart {
	return ingest.RecordingPart{Number: number, StartedAt: at(from), EndedAt: at(to), Segments: 3, Complete: true}
}

// openPart returns a part without an end.
func openPart(number int, from float64) ingest.RecordingPart {
	return ingest.RecordingPart{Number: number, StartedAt: at(from), Segments: 3}
}

// leftReport returns the report of a bot that left the meeting.
func leftReport(attempt int, parts ...ingest.RecordingPart) ingest.Report {
	return ingest.Report{Attempt: attempt, LeftAt: at(100), EndReason: "host_ended", Parts: parts}
}

// lostReport returns the report of a lost bot.
func lostReport(attempt int, parts ...ingest.RecordingPart) ingest.Report {
	return ingest.Report{Attempt: attempt, Parts: parts}
}

// newManifest returns the manifest of a job.
func newManifest(input ManifestInput, reports []ingest.Report, packed Packed, baseURL string) recording.Manifest {
	return newBuilder(input, reports, packed).manifest(baseURL)
}

func TestBuildListsMediaFaults(t *testing.T) {
	t.Parallel()
	report := leftReport(0, completePart(0, 0, 10))
	report.LeftAt = at(9)
	report.MediaFaults = []ingest.MediaFault{
		{Kind: "frozen_picture", From: at(5)}, // until the bot left
		{Kind: "no_sound", From: at(-1), To: at(3)},
		{Kind: "no_sound", From: at(-4), To: at(-2)}, // before the recording
		{From: at(6), To: at(7)},
	}
	manifest := newManifest(testInput(), []ingest.Report{report}, Packed{Parts: []PackedPart{packedPart(0, 0, 0, 10)}, Files: []recording.File{testFile()}}, "http://localhost")
	want := []recording.MediaFault{{Kind: "no_sound", StartMs: 0, EndMs: 3000}, {Kind: "frozen_picture", StartMs: 5000, EndMs: 9000}}
	if !slices.Equal(manifest.MediaFaults, want) || manifest.Partial {
		t.Errorf("faults %+v, partial %v; want %+v", manifest.MediaFaults, manifest.Partial, want)
	}
}

// TestBuildReportsGaps checks the reasons of gaps, and what TestManifestMatchesRecording does not
// generate.
func TestBuildReportsGaps(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reports []ingest.Report
		packed  []PackedPart
		botLost bool
		stopped float64 // when the service observed the end of the recording; 0 for never
		partial bool
		gaps    []recording.Gap
	}{
		"unreported pause": {
			reports: []ingest.Report{leftReport(0, completePart(0, 0, 10), completePart(1, 30, 40))},
			packed:  []PackedPart{packedPart(0, 0, 0, 10), packedPart(0, 1, 30, 10)},
			gaps:    []recording.Gap{{StartMs: 10000, EndMs: 30000, Reason: recording.GapNotRecording}},
		},
		"browser replaced after a complete part": {
			reports: []ingest.Report{leftReport(0, endedBy(completePart(0, 0, 10), "browser_crashed"), completePart(1, 16, 20))},
			packed:  []PackedPart{packedPart(0, 0, 0, 10), packedPart(0, 1, 16, 4)},
			partial: true, gaps: []recording.Gap{{StartMs: 10000, EndMs: 16000, Reason: "browser_crashed"}},
		},
		"second attempt": {
			reports: []ingest.Report{lostReport(0, openPart(0, 0)), leftReport(1, completePart(0, 25, 40))},
			packed:  []PackedPart{packedPart(0, 0, 0, 10), packedPart(1, 0, 25, 15)},
			partial: true, gaps: []recording.Gap{{StartMs: 10000, EndMs: 25000, Reason: recording.GapBotLost}},
		},
		"second attempt without a gap": {
			reports: []ingest.Report{lostReport(0, completePart(0, 0, 10)), leftReport(1, completePart(0, 10, 20))},
			packed:  []PackedPart{packedPart(0, 0, 0, 10), packedPart(1, 0, 10, 10)},
			partial: true,
		},
		"lost after the recording was stopped": {
			reports: []ingest.Report{lostReport(0, completePart(0, 0, 10))}, botLost: true, stopped: 10,
			packed: []PackedPart{packedPart(0, 0, 0, 10)},
		},
		"lost after leaving": {
			reports: []ingest.Report{leftReport(0, completePart(0, 0, 10))}, botLost: true,
			packed: []PackedPart{packedPart(0, 0, 0, 10)},
		},
		"part without segments": {
			reports: []ingest.Report{leftReport(0, completePart(0, 0, 10), ingest.RecordingPart{Number: 1, StartedAt: at(10), Complete: true})},
			packed:  []PackedPart{packedPart(0, 0, 0, 10)},
		},
		"recording without media": {
			reports: []ingest.Report{leftReport(0, completePart(0, 0, 10))},
			partial: true, gaps: []recording.Gap{{StartMs: 0, EndMs: 10000, Reason: recording.GapMediaLost}},
		},
		"never recorded": {
			reports: []ingest.Report{leftReport(0)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			input := testInput()
			input.BotLost = test.botLost
			if test.stopped > 0 {
				input.ObservedTimeline.RecordingStoppedAt = recording.Instant{Time: at(test.stopped)}
			}
			packed := Packed{Parts: test.packed}
			if slices.ContainsFunc(test.packed, func(s PackedPart) bool { return s.File != "" }) {
				packed.Files = []recording.File{testFile()}
			}
			manifest := newManifest(input, test.reports, packed, "https://standin.example.com")
			checkSchema(t, manifest)
			if manifest.Partial != test.partial {
				t.Errorf("partial = %v, want %v", manifest.Partial, test.partial)
			}
			if !slices.Equal(manifest.Gaps, test.gaps) {
				t.Errorf("gaps = %v, want %v", manifest.Gaps, test.gaps)
			}
		})
	}
}

func TestBuildSeveralAttempts(t *testing.T) {
	t.Parallel()
	input := testInput()
	input.Job.Metadata = json.RawMessage(`{"room":"4"}`)
	input.Consents = []recording.Consent{
		{CommandID: "0192f5c8-5c1e-7a30-9a4f-000000000001", RequestedAt: recording.Instant{Time: at(1)}, Outcome: recording.ConsentGranted, RespondedAt: recording.Instant{Time: at(2)}},
		{CommandID: "0192f5c8-5c1e-7a30-9a4f-000000000002", RequestedAt: recording.Instant{Time: at(3)}},
	}
	first := ingest.Report{
		Attempt: 0, BotVersion: "1.0", JoinedAt: at(-9), AdmittedAt: at(-5), Parts: []ingest.RecordingPart{openPart(0, 0.25)},
		People: []ingest.Person{
			{ID: "p1", Name: "Ada", JoinedAt: at(-5)},
			{ID: "p2", Name: "Bob", JoinedAt: at(-5), LeftAt: at(4)},
		},
		Speech: []ingest.Speech{
			{PersonID: "p1", From: at(-3), To: at(-1)},
			{PersonID: "p1", From: at(-1), To: at(1.25)},
			{PersonID: "p9", From: at(3), To: at(4)},
		},
	}
	second := ingest.Report{
		Attempt: 1, BotVersion: "1.1", JoinedAt: at(15), AdmittedAt: at(18), LeftAt: at(41), EndReason: "alone",
		Parts: []ingest.RecordingPart{completePart(0, 20.25, 40)},
		People: []ingest.Person{
			{ID: "p1", Name: "Ada", JoinedAt: at(18), LeftAt: at(30)},
			{ID: "p2", Name: "Cleo", JoinedAt: at(22)},
		},
		Speech: []ingest.Speech{{PersonID: "p2", From: at(24.25), To: at(25.25)}},
	}
	packed := Packed{Files: []recording.File{testFile()}, Parts: []PackedPart{packedPart(0, 0, 0.25, 8), packedPart(1, 0, 20.25, 19.75)}}
	manifest := newManifest(input, []ingest.Report{second, first}, packed, "https://standin.example.com/")
	checkSchema(t, manifest)
	want, err := os.ReadFile(filepath.Join("testdata", "several-attempts.json"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(manifest, "", "\t")
	if err != nil || string(got)+"\n" != string(want) {
		t.Errorf("the manifest is\n%s\n(%v)", got, err)
	}
}

// checkSchema validates a manifest against the published schema.
func checkSchema(t *testing.T, manifest recording.Manifest) {
	t.Helper()
	if err := validate(publishedSchema(t, "manifest"), marshal(manifest)); err != nil {
		t.Errorf("manifest does not match its schema: %v\n%s", err, marshal(manifest))
	}
}

// publishedSchema returns a schema of the API.
func publishedSchema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	type key string
	return once(t, key(name), func() (*jsonschema.Schema, error) {
		compiler := jsonschema.NewCompiler()
		compiler.AssertFormat()
		return compiler.Compile(filepath.Join("..", "..", "..", "api", name+".schema.json"))
	})
}

// validate returns an error if a text does not match a schema.
func validate(schema *jsonschema.Schema, text string) error {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// marshal returns the JSON of a value, or the text of an error.
func marshal(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
