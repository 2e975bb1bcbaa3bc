package webhook_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"standin/api"
	"standin/internal/job"
	"standin/internal/testing/apicheck"
	"standin/internal/webhook"
)

var update = flag.Bool("update", false, "write the events to docs/webhooks.md")

// TestExamples checks that the example of each event has the schema of the API description.
func TestExamples(t *testing.T) {
	t.Parallel()
	description, err := api.Load()
	if err != nil {
		t.Fatal(err)
	}
	checker := apicheck.New(t, description)
	for _, e := range webhook.EventTypes() {
		body, err := webhook.ExampleBody(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		if err := checker.Webhook(e.Name, body); err != nil {
			t.Errorf("%s: %v\n%s", e.Name, err, body)
		}
	}
	if _, err := webhook.ExampleBody("job.unknown"); err == nil {
		t.Error("an unknown event has an example")
	}
}

// TestEventsAreDocumented compares the list of events in docs/webhooks.md that only endpoints
// receive with the code.
func TestEventsAreDocumented(t *testing.T) {
	t.Parallel()
	const path, begin, end = "../../docs/webhooks.md", "<!-- events -->\n", "<!-- /events -->"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), begin)
	listed, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no list of events", path)
	}
	var want strings.Builder
	want.WriteString("| event | sent when | `data` |\n|---|---|---|\n")
	named := job.Job{Webhooks: job.Webhooks{OnStatusChange: "https://a.test/", OnFinalize: "https://b.test/"}}
	for _, e := range webhook.EventTypes() {
		if len(webhook.Targets(named, "", e.Name)) > 0 {
			continue // the page describes what the URLs of jobs receive
		}
		fmt.Fprintf(&want, "| `%s` | %s | `%s` |\n", e.Name, e.When, exampleData(t, e.Name))
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+want.String()+end+after), 0o644); err != nil { //nolint:gosec // a public document
			t.Fatal(err)
		}
		return
	}
	if listed != want.String() {
		t.Errorf("%s is out of date; run the test with -update", path)
	}
}

// exampleData returns the fields of an example that other events do not have.
func exampleData(t *testing.T, name string) string {
	t.Helper()
	body, err := webhook.ExampleBody(name)
	if err != nil {
		t.Fatal(err)
	}
	var example struct {
		Data map[string]json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &example); err != nil {
		t.Fatal(err)
	}
	for _, common := range []string{"event", "jobId", "externalId", "job", "sequence"} {
		delete(example.Data, common)
	}
	data, err := json.Marshal(example.Data)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
