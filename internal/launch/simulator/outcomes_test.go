package simulator_test

import (
	"encoding/json"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/api"
	"standin/internal/base/fsutil"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
	"standin/internal/launch/simulator"
	"standin/internal/recording"
	"standin/internal/recording/build"
	"standin/internal/testing/apicheck"
)

// row is a row of the table of outcomes in docs/reference/outcomes.md.
type row struct {
	title         string
	outcome       string
	onBotDetected bool
	states        []string
	events        []string
	failure       string
	manifest      bool
	partial       bool
	end           string
}

var quoted = regexp.MustCompile("`([^`]+)`")

// words returns the texts in backticks.
func words(cell string) []string {
	var found []string
	for _, match := range quoted.FindAllStringSubmatch(cell, -1) {
		found = append(found, match[1])
	}
	return found
}

// way matches the statuses of a way that several outcomes take.
var way = regexp.MustCompile(`(?m)^- \*\*([a-z]+)\*\*: (.*)$`)

// documentedOutcomes parses the table. A failed job has the outcome's name as its failure code,
// unless the table says which.
func documentedOutcomes(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile("../../../docs/reference/outcomes.md")
	if err != nil {
		t.Fatal(err)
	}
	ways := map[string][]string{}
	for _, match := range way.FindAllStringSubmatch(string(text), -1) {
		ways[match[1]] = words(match[2])
	}
	_, table, found := strings.Cut(string(text), "| outcome | what happens |")
	if !found {
		t.Fatal("docs/reference/outcomes.md has no table of outcomes")
	}
	var rows []row
	for _, content := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(content, "|")
		if len(cells) != 7 {
			break
		}
		r := row{
			title:   strings.TrimSpace(cells[1]),
			outcome: words(cells[1])[0], onBotDetected: strings.Contains(cells[1], "onBotDetected"),
			states: words(cells[3]), events: words(cells[4]),
			manifest: strings.TrimSpace(cells[5]) != "none", partial: strings.Contains(cells[5], "partial"),
		}
		if named, isWay := ways[strings.TrimSpace(cells[3])]; isWay {
			r.states = named
		}
		if r.states[len(r.states)-1] == string(job.Failed) {
			r.failure = r.outcome
		}
		if code := words(cells[2]); len(code) > 0 {
			r.failure = code[0]
		}
		if reason := words(cells[5]); len(reason) > 0 {
			r.end = reason[0]
		}
		rows = append(rows, r)
	}
	return rows
}

var loadDescription = sync.OnceValues(api.Load)

// description returns the API description, which is loaded once.
func description(t *testing.T) *api.Description {
	t.Helper()
	loaded, err := loadDescription()
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// The table and the API description have each outcome, and there is an outcome for each
// failure code.
func TestEveryOutcomeIsDocumented(t *testing.T) {
	t.Parallel()
	var listed []string
	for _, r := range documentedOutcomes(t) {
		if !slices.Contains(listed, r.outcome) {
			listed = append(listed, r.outcome)
		}
	}
	if !slices.Equal(listed, simulator.Outcomes()) {
		t.Errorf("docs/reference/outcomes.md lists %v, the simulator knows %v", listed, simulator.Outcomes())
	}
	var parsed struct {
		Components struct {
			Schemas struct {
				Simulation struct {
					Properties struct{ Outcome struct{ Enum []string } }
				}
			}
		}
	}
	if err := json.Unmarshal(description(t).JSON(), &parsed); err != nil {
		t.Fatal(err)
	}
	if described := parsed.Components.Schemas.Simulation.Properties.Outcome.Enum; !slices.Equal(described, simulator.Outcomes()) {
		t.Errorf("the API description lists %v, the simulator knows %v", described, simulator.Outcomes())
	}
	for _, code := range job.FailureCodes() {
		if !slices.Contains(simulator.Outcomes(), string(code)) {
			t.Errorf("no outcome is named after the failure code %s", code)
		}
	}
}

// The manifest and the transcript in docs/reference/samples.md keep to their schemas.
func TestSamples(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/reference/samples.md")
	if err != nil {
		t.Fatal(err)
	}
	checker, samples := apicheck.New(t, description(t)), regexp.MustCompile("(?ms)^```json\n({.*?)^```$").FindAllSubmatch(text, -1)
	if len(samples) != 2 {
		t.Fatalf("%d samples", len(samples))
	}
	if err := checker.Manifest(samples[0][1]); err != nil {
		t.Error(err)
	}
	if err := checker.Response("GET", "/api/v1/jobs/{id}/transcript", 200, samples[1][1]); err != nil {
		t.Error(err)
	}
}

// A job for each row of the table has the documented states, webhooks and
// manifest.
func TestDocumentedOutcomes(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	e.run(t, instantClock{}, nil)
	checker := apicheck.New(t, description(t))
	t.Run("rows", func(t *testing.T) {
		for _, r := range documentedOutcomes(t) {
			t.Run(r.title, func(t *testing.T) {
				t.Parallel()
				if r.outcome == string(job.DispatchTimeout) && testing.Short() {
					t.Skip("long: make check-long")
				}
				j := e.create(t, r.outcome, func(n *lifecycle.NewJob) { n.AutoLeave.OnBotDetected = r.onBotDetected })
				received := e.receiver.waitForEvent(t, j.ID, r.events[len(r.events)-1])
				r.compareWebhooks(t, received)
				ended := e.waitForStatus(t, j.ID, job.Status(r.states[len(r.states)-1]))
				r.compareJob(t, ended)
				if r.manifest {
					r.compareManifest(t, e, checker, ended)
				}
			})
		}
	})
}

// compareWebhooks compares the row with the received webhooks.
func (r row) compareWebhooks(t *testing.T, received []message) {
	t.Helper()
	var states, events []string
	status := job.Scheduled
	for i, got := range received {
		if got.Data.Sequence != i+1 {
			t.Errorf("webhook %d has the sequence %d", i+1, got.Data.Sequence)
		}
		if got.Event != webhook.JobStatusChanged {
			events = append(events, got.Event)
			continue
		}
		if got.Data.From != status {
			t.Errorf("a change from %s follows one to %s", got.Data.From, status)
		}
		status = got.Data.To
		states = append(states, string(status))
	}
	if !slices.Equal(states, r.states) {
		t.Errorf("states:\n%v, documented are\n%v", states, r.states)
	}
	if !slices.Equal(events, r.events) {
		t.Errorf("events: %v, documented are %v", events, r.events)
	}
	for _, got := range received {
		r.compareEvent(t, got)
	}
}

// compareEvent checks what an event says beyond its name.
func (r row) compareEvent(t *testing.T, got message) {
	t.Helper()
	switch got.Event {
	case webhook.JobFailed:
		if string(got.Data.FailureCode) != r.failure || got.Data.FailureDetail == "" {
			t.Errorf("job.failed has %q: %q", got.Data.FailureCode, got.Data.FailureDetail)
		}
	case webhook.BotPermissionResponse:
		want := r.outcome == "permission_granted"
		if got.Data.Granted == nil || *got.Data.Granted != want || got.Data.Detail == "" {
			t.Errorf("the permission response is %+v, want granted %t", got.Data, want)
		}
	case webhook.BotCompetingDetected:
		if got.Data.LeftMeeting == nil || *got.Data.LeftMeeting != r.onBotDetected || got.Data.DetectedBotName == "" {
			t.Errorf("the competing bot event is %+v, want leftMeeting %t", got.Data, r.onBotDetected)
		}
	}
}

func (r row) compareJob(t *testing.T, ended job.Job) {
	t.Helper()
	if string(ended.FailureCode) != r.failure {
		t.Errorf("the failure code is %q (%s), documented is %q", ended.FailureCode, ended.FailureDetail, r.failure)
	}
	if r.manifest != (ended.ManifestURI != "") {
		t.Errorf("the manifest is %q, documented one: %t", ended.ManifestURI, r.manifest)
	}
}

// compareManifest checks the manifest and the media it names.
func (r row) compareManifest(t *testing.T, e *testEnv, checker *apicheck.Checker, ended job.Job) {
	t.Helper()
	text, err := e.storage.Manifest(t.Context(), ended.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := checker.Manifest(text); err != nil {
		t.Errorf("the manifest does not keep to its schema: %v", err)
	}
	var manifest recording.Manifest
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.End.Reason != r.end || manifest.Partial != r.partial {
		t.Errorf("the manifest has partial %t, ended by %s; documented are %t and %s", manifest.Partial, manifest.End.Reason, r.partial, r.end)
	}
	if len(manifest.Media) != 1 || len(manifest.Participants) != 3 || len(manifest.Gaps) != 0 ||
		len(manifest.Speech) == 0 && recordedTime(manifest) > time.Second {
		t.Fatalf("media, people, speech or gaps are wrong: %s", text)
	}
	media := manifest.Media[0]
	checkMedia(t, e, ended.ID, media)
	if r.outcome == "success" && !testing.Short() { // long, because it decodes the recording
		tools, err := build.FindTools()
		if err != nil {
			t.Fatal(err)
		}
		if report, err := (&build.Verifier{Recordings: e.storage, Tools: tools}).Verify(t.Context(), ended.ID); err != nil || !report.OK() {
			t.Errorf("%+v, %v", report, err)
		}
	}
	if r.partial {
		return // nobody saw the end of it
	}
	content := manifest.Timeline
	length := time.Duration(media.DurationMs) * time.Millisecond
	if recorded := recordedTime(manifest); recorded < 0 || (recorded-length).Abs() > 500*time.Millisecond {
		t.Errorf("%s were recorded, and the file has %d ms", recorded, media.DurationMs)
	}
	for _, moment := range []recording.Instant{
		content.JoinedAt, content.AdmittedAt, content.RecordingStartedAt, content.RecordingStoppedAt, content.LeftAt,
	} {
		if moment.IsZero() {
			t.Errorf("the timeline is not complete: %+v", content)
		}
	}
}

// checkMedia reads a media file and compares it with its description.
func checkMedia(t *testing.T, e *testEnv, id uuid.UUID, media recording.Media) {
	t.Helper()
	content, _, err := e.storage.OpenMedia(t.Context(), id, media.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close() // read only
	sum, err := fsutil.SHA256(content)
	if size, _ := content.Seek(0, io.SeekEnd); err != nil || size != media.Bytes || sum != media.SHA256 {
		t.Errorf("%s has %d bytes and another sum than in the manifest: %+v (%v)", media.Name, size, media, err)
	}
}
