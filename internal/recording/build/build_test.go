package build

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
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

// readJSON decodes a file of testdata.
func readJSON(t *testing.T, name string, value any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err == nil {
		err = json.Unmarshal(text, value)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestManifests checks what manifests say about the recordings in testdata/manifests.json: gaps
// with their reasons, faults, evidence of speech, and what TestManifestMatchesRecording does not
// generate.
func TestManifests(t *testing.T) {
	t.Parallel()
	type description struct {
		Partial      bool
		Gaps         []recording.Gap
		MediaFaults  []recording.MediaFault
		SpeechSource recording.SpeechSource
	}
	var recordings []struct {
		Name    string
		Reports []ingest.Report
		Parts   []struct {
			PackedPart
			LengthMs int64
		}
		BotLost   bool
		StoppedAt time.Time // as the service observed it
		Want      description
	}
	readJSON(t, "manifests.json", &recordings)
	for _, r := range recordings {
		input, packed := testInput(), Packed{}
		input.BotLost, input.ObservedTimeline.RecordingStoppedAt = r.BotLost, recording.Instant{Time: r.StoppedAt}
		for _, part := range r.Parts {
			part.File, part.Length = "recording.mp4", time.Duration(part.LengthMs)*time.Millisecond
			packed.Parts, packed.Files = append(packed.Parts, part.PackedPart), []recording.File{testFile()}
		}
		m := newManifest(input, r.Reports, packed, testBase)
		checkSchema(t, m)
		if got := (description{m.Partial, m.Gaps, m.MediaFaults, m.SpeechSource}); !reflect.DeepEqual(got, r.Want) {
			t.Errorf("%s: %+v, want %+v", r.Name, got, r.Want)
		}
	}
}

func TestBuildSeveralAttempts(t *testing.T) {
	t.Parallel()
	input := testInput()
	input.Job.Metadata = json.RawMessage(`{"room":"4"}`)
	var meeting struct {
		Consents []recording.Consent
		Reports  []ingest.Report
		Packed   Packed
	}
	readJSON(t, "several-attempts.input.json", &meeting)
	input.Consents = meeting.Consents
	manifest := newManifest(input, meeting.Reports, meeting.Packed, "https://standin.example.com/")
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
