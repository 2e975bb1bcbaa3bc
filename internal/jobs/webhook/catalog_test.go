package webhook_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"standin/api"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/testing/apicheck"
)

var update = flag.Bool("update", false, "write docs/reference/events.md")

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

// TestEventCatalogue compares the generated part of docs/reference/events.md with the code.
func TestEventCatalogue(t *testing.T) {
	t.Parallel()
	const file, mark = "../../../docs/reference/events.md", "<!-- Generated; CONTRIBUTING.md says how. -->\n"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	written, got, marked := strings.Cut(string(page), mark)
	if !marked {
		t.Fatalf("%s has no line %s", file, mark)
	}
	var want strings.Builder
	hooks := job.Job{Webhooks: job.Webhooks{OnStatusChange: "`onStatusChange`", OnFinalize: "`onFinalize`"}}
	for _, e := range webhook.EventTypes() {
		targets := "endpoints"
		if named := webhook.Targets(hooks, "", e.Name); len(named) > 0 {
			targets = strings.Join(named, ", ") + " and " + targets
		}
		fmt.Fprintf(&want, "\n## %s\n\n%s Sent to %s.\n\n```json\n%s\n```\n", e.Name, e.When, targets, example(t, e.Name))
	}
	if *update {
		if err := os.WriteFile(file, []byte(written+mark+want.String()), 0o644); err != nil { //nolint:gosec // a public document
			t.Fatal(err)
		}
		return
	}
	if got != want.String() {
		t.Errorf("%s is out of date; run the test with -update", file)
	}
}

// TestEventsOfIntegrations checks that the triggers for n8n and Zapier offer every event.
func TestEventsOfIntegrations(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"n8n/nodes/StandinTrigger/StandinTrigger.node.ts", "zapier/triggers.js"} {
		source, err := os.ReadFile("../../../integrations/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range webhook.EventTypes() {
			if !strings.Contains(string(source), "'"+e.Name+"'") {
				t.Errorf("%s does not offer %s", file, e.Name)
			}
		}
	}
}

// example returns the example of an event, indented.
func example(t *testing.T, name string) string {
	t.Helper()
	body, err := webhook.ExampleBody(name)
	if err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, body, "", "  "); err != nil {
		t.Fatal(err)
	}
	return indented.String()
}
