package httpapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	gotoken "go/token"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"standin/api"
	"standin/internal/server/httpapi/reference"
	"standin/internal/testing/testbrowser"
)

// TestReference opens the API reference in a browser. It must begin with how to send a bot, and show
// each operation, and a field of the manifest, on the page of its subject, which is not endless.
// The console must stay empty: a resource from another host, or a style or script
// that the page's policy blocks, would be reported there.
func TestReference(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	tab := testbrowser.OpenTab(t)
	messages := chromedp.Console(tab.Ctx)
	awaitText := func(selector string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			tab.Until(`document.querySelector(` + strconv.Quote(selector) + `)?.innerText.includes(` + strconv.Quote(text) + `)`)
		}
	}
	tab.Open(s.url + "/docs")
	awaitText("body", "Authenticate", "Send a bot", "Timeline and deliveries")
	checkSamples(tab)
	description, err := api.Load()
	if err != nil {
		t.Fatal(err)
	}
	var parsed struct {
		Paths map[string]map[string]struct {
			OperationID string
			Tags        []string
		}
	}
	_ = json.Unmarshal(description.JSON(), &parsed) // what is no operation has no tags
	operations := map[string][]string{}
	for _, item := range parsed.Paths {
		for _, one := range item {
			for _, tag := range one.Tags {
				operations[tag] = append(operations[tag], one.OperationID)
			}
		}
	}
	for tag, ids := range operations {
		tab.Click(`#subjects a[href="/docs?on=` + tag + `"]`)
		for _, id := range ids {
			tab.Until(`document.querySelector('[data-section-id="operation/` + id + `"]') !== null`)
		}
		tab.Until(`document.documentElement.scrollHeight < 60000`)
	}
	tab.Open(s.url + "/docs#tag/recordings")
	awaitText("body", "schemaVersion")
	const last = "the page is complete"
	tab.Until(`(console.log("` + last + `"), true)`)
	for message, err := range messages {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(message.Text, last) {
			break
		}
		t.Errorf("the console has %s", message)
	}
}

// checkSamples checks that each operation that a key may call has a sample in four languages, and
// that those in Go and Python can be parsed.
func checkSamples(t *testbrowser.Tab) {
	t.Helper()
	type documented struct {
		ID      string
		Samples []struct{ Label, Source string }
	}
	script := `(async () => {
		const {addSamples} = await import("/docs/assets/samples.js"), {operations} = await import("/docs/assets/operations.js");
		const description = await (await fetch("/openapi.json")).json();
		addSamples(description);
		return operations(description).filter(one => one.security === "apiKey" && one.success >= "200")
			.map(one => ({id: one.id, samples: (one.operation["x-codeSamples"] ?? []).map(({label, source}) => ({label, source}))}));
	})()`
	operations := testbrowser.Eval[[]documented](t, script)
	if len(operations) < 50 {
		t.Errorf("%d operations have samples", len(operations))
	}
	var python strings.Builder
	for _, one := range operations {
		labels := map[string]bool{}
		for _, sample := range one.Samples {
			labels[sample.Label] = true
			switch sample.Label {
			case "Go":
				if _, err := parser.ParseFile(gotoken.NewFileSet(), one.ID+".go", sample.Source, parser.AllErrors); err != nil {
					t.Error(err)
				}
			case "Python":
				fmt.Fprintf(&python, "def %s():\n    %s\n", one.ID, strings.ReplaceAll(sample.Source, "\n", "\n    "))
			}
		}
		for _, label := range []string{"curl", "Python", "TypeScript", "Go"} {
			if !labels[label] {
				t.Errorf("%s has no sample for %s", one.ID, label)
			}
		}
	}
	check := exec.CommandContext(t.Context(), "python3", "-c", "import ast, sys; ast.parse(sys.stdin.read())")
	check.Stdin = strings.NewReader(python.String())
	if output, err := check.CombinedOutput(); err != nil && !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("parse the samples in Python: %v: %s", err, output)
	}
}

// TestReferenceGroups checks that each tag of the API description is in one group, because the
// reference leaves out the others.
func TestReferenceGroups(t *testing.T) {
	t.Parallel()
	description, err := api.Load()
	if err != nil {
		t.Fatal(err)
	}
	var parsed struct {
		Groups []struct{ Tags []string } `json:"x-tagGroups"`
		Tags   []struct{ Name string }
	}
	if err := json.Unmarshal(description.JSON(), &parsed); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, group := range parsed.Groups {
		for _, tag := range group.Tags {
			count[tag]++
		}
	}
	for _, tag := range parsed.Tags {
		if count[tag.Name] != 1 {
			t.Errorf("the tag %s is in %d groups", tag.Name, count[tag.Name])
		}
	}
}

// TestReferencePolicy checks that the page may load its own files only.
func TestReferencePolicy(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	got := s.send(t, request{"GET", "/docs", "", nil, ""})
	policy := got.header.Get("Content-Security-Policy")
	if policy != reference.Policy || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Errorf("the policy is %q", policy)
	}
	for path, status := range map[string]int{
		"redoc.standalone.js": 200, "style.css": 200, "redoc.LICENSE.txt": 200, "none.js": 404, "..": 404,
	} {
		if got := s.send(t, request{"GET", "/docs/assets/" + path, "", nil, ""}); got.status != status {
			t.Errorf("%s: %d, want %d", path, got.status, status)
		}
	}
}
