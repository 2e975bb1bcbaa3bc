package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
)

// parsedDescription returns the parsed description and a compiler for its schemas.
func parsedDescription(t *testing.T) (any, *jsonschema.Compiler) {
	t.Helper()
	compiler, err := newCompiler()
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	return value, compiler
}

// walk visits a value and every value inside it, each with its JSON Pointer.
func walk(pointer string, value any, visit func(pointer string, value any)) {
	visit(pointer, value)
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			walk(pointer+"/"+escapePointer(key), inner, visit)
		}
	case []any:
		for i, inner := range value {
			walk(fmt.Sprintf("%s/%d", pointer, i), inner, visit)
		}
	}
}

// TestExamplesMatchSchemas checks every default, and every example of a body, a
// parameter, a header or a schema.
func TestExamplesMatchSchemas(t *testing.T) {
	t.Parallel()
	root, compiler := parsedDescription(t)
	checked := 0
	checkAt := func(where, schemaAt string, example any) {
		checked++
		schema, err := compiler.Compile(descriptionURL + "#" + schemaAt)
		if err != nil {
			t.Errorf("%s: compile %s: %v", where, schemaAt, err)
			return
		}
		if err := schema.Validate(example); err != nil {
			t.Errorf("%s: %v", where, err)
		}
	}
	walk("", root, func(pointer string, value any) {
		if strings.Contains(pointer, "/examples/") || strings.HasSuffix(pointer, "/properties") {
			return // a value, or the names of fields
		}
		object, ok := value.(map[string]any)
		if !ok {
			return
		}
		if _, ok := object["schema"]; ok {
			if example, ok := object["example"]; ok {
				checkAt(pointer+"/example", pointer+"/schema", example)
			}
			examples, _ := object["examples"].(map[string]any)
			for name, example := range examples {
				checkAt(pointer+"/examples/"+name, pointer+"/schema", exampleValue(t, root, example))
			}
			return
		}
		if examples, ok := object["examples"].([]any); ok {
			for i, example := range examples {
				checkAt(fmt.Sprintf("%s/examples/%d", pointer, i), pointer, example)
			}
		}
		if value, ok := object["default"]; ok {
			checkAt(pointer+"/default", pointer, value)
		}
	})
	if checked < 40 {
		t.Errorf("only %d examples and defaults were found", checked)
	}
}

// exampleValue returns the value of an Example Object or of the one that it refers to.
func exampleValue(t *testing.T, root, example any) any {
	t.Helper()
	fields := example.(map[string]any)
	if ref, ok := fields["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/components/examples/")
		components := root.(map[string]any)["components"].(map[string]any)
		fields, ok = components["examples"].(map[string]any)[name].(map[string]any)
		if !ok {
			t.Fatalf("example %s does not exist", ref)
		}
	}
	return fields["value"]
}

// TestEveryBodyHasAnExample checks JSON bodies with a named schema.
func TestEveryBodyHasAnExample(t *testing.T) {
	t.Parallel()
	root, _ := parsedDescription(t)
	walk("", root, func(pointer string, value any) {
		body, ok := value.(map[string]any)
		if !ok || !strings.HasSuffix(pointer, "/content/application~1json") {
			return
		}
		schema, _ := body["schema"].(map[string]any)
		if _, named := schema["$ref"]; named && body["examples"] == nil {
			t.Errorf("%s has no example", pointer)
		}
	})
}

// TestEveryFieldIsDescribed checks that every field has a description, but in conditions.
func TestEveryFieldIsDescribed(t *testing.T) {
	t.Parallel()
	root, _ := parsedDescription(t)
	walk("", root, func(pointer string, value any) {
		fields, ok := value.(map[string]any)
		if !ok || !strings.HasSuffix(pointer, "/properties") || regexp.MustCompile("/(if|then|else)/").MatchString(pointer) {
			return
		}
		for name, field := range fields {
			schema, _ := field.(map[string]any)
			if schema["description"] == nil && schema["$ref"] == nil {
				t.Errorf("%s/%s has no description", pointer, name)
			}
		}
	})
}

// TestReferencesResolve checks that the target of every reference exists.
func TestReferencesResolve(t *testing.T) {
	t.Parallel()
	root, _ := parsedDescription(t)
	known := map[string]bool{}
	walk("", root, func(pointer string, _ any) { known["#"+pointer] = true })
	walk("", root, func(pointer string, value any) {
		object, ok := value.(map[string]any)
		if !ok {
			return
		}
		if ref, ok := object["$ref"].(string); ok && !known[ref] {
			t.Errorf("%s refers to %s, which does not exist", pointer, ref)
		}
	})
}

// TestEnumsMatchDomain compares the enums of the description with the constants of
// the domain.
func TestEnumsMatchDomain(t *testing.T) {
	t.Parallel()
	root, _ := parsedDescription(t)
	schemas := root.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)
	property := func(schema, name string) any {
		return schemas[schema].(map[string]any)["properties"].(map[string]any)[name]
	}
	for _, test := range []struct {
		name   string
		schema any
		want   []string
	}{
		{"JobStatus", schemas["JobStatus"], texts(job.Statuses())},
		{"FailureCode", schemas["FailureCode"], texts(job.FailureCodes())},
		{"Platform", schemas["Platform"], texts([]job.Platform{job.Meet, job.Teams, job.ZoomWeb, job.ZoomSDK})},
		{"kind of IngestEvent", property("IngestEvent", "kind"), texts(job.BotTriggers())},
		{"reason of IngestResult", property("IngestResult", "reason"), texts([]job.Reason{
			job.Duplicate, job.OutOfOrder, job.StaleAttempt, job.Terminal,
		})},
		{"reason of TimelineEntry", withoutNull(property("TimelineEntry", "reason")), texts([]job.Reason{
			job.Duplicate, job.OutOfOrder, job.StaleAttempt, job.Terminal,
		})},
		{"platform of CalendarInvite", property("CalendarInvite", "platform"), texts([]job.Platform{job.Meet, job.Teams, job.ZoomWeb})},
		{"CommandKind", schemas["CommandKind"], texts([]ingest.CommandKind{
			ingest.RequestRecordingPermission, ingest.PauseRecording, ingest.ResumeRecording, ingest.StopRecording,
			ingest.LeaveCall, ingest.SendChatMessage, ingest.PinParticipant, ingest.PlayAudio, ingest.Speak, ingest.StopOutput,
			ingest.SetCamera, ingest.ShareScreen,
		})},
		{"OutputFailure", schemas["OutputFailure"], texts([]ingest.OutputFailure{
			ingest.StoppedByHost, ingest.Interrupted, ingest.NoDevice, ingest.DeviceRefused, ingest.OutputUnavailable,
		})},
	} {
		var got []string
		for _, value := range test.schema.(map[string]any)["enum"].([]any) {
			got = append(got, value.(string))
		}
		slices.Sort(got)
		slices.Sort(test.want)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s\n got %q\nwant %q", test.name, got, test.want)
		}
	}
}

// withoutNull returns a schema with an enum without its null.
func withoutNull(schema any) any {
	var rest []any
	for _, value := range schema.(map[string]any)["enum"].([]any) {
		if value != nil {
			rest = append(rest, value)
		}
	}
	return map[string]any{"enum": rest}
}

func texts[T ~string](values []T) []string {
	var out []string
	for _, value := range values {
		out = append(out, string(value))
	}
	return out
}

// TestRequestsHaveNoDefaults: a generator makes a field with a default required, or sends
// the default, which overrides the settings of the team.
func TestRequestsHaveNoDefaults(t *testing.T) {
	t.Parallel()
	d, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	var check func(path string, schema *jsonschema.Schema)
	check = func(path string, schema *jsonschema.Schema) {
		schema = resolve(schema)
		if schema.Default != nil {
			t.Errorf("%s has a default", path)
		}
		for name, property := range schema.Properties {
			check(path+"."+name, property)
		}
		if items := itemsOf(schema); items != nil {
			check(path, items)
		}
	}
	for operation, body := range d.bodies {
		check(operation, body.schema)
	}
}

// TestPatchBoundsMatchJobCreate compares the settings of AutoLeavePatch and their
// bounds with AutoLeaveConfig. A patch has no defaults.
func TestPatchBoundsMatchJobCreate(t *testing.T) {
	t.Parallel()
	root, _ := parsedDescription(t)
	schemas := root.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)
	settings := func(schema string) map[string]any {
		return schemas[schema].(map[string]any)["properties"].(map[string]any)
	}
	patched := settings("AutoLeavePatch")
	for name, setting := range settings("AutoLeaveConfig") {
		for _, keyword := range []string{"type", "minimum", "maximum"} {
			want := setting.(map[string]any)[keyword]
			if got, ok := patched[name].(map[string]any); !ok || fmt.Sprint(got[keyword]) != fmt.Sprint(want) {
				t.Errorf("%s of %s is %v, want %v", keyword, name, patched[name], want)
			}
		}
	}
	if len(patched) != len(settings("AutoLeaveConfig")) {
		t.Errorf("AutoLeavePatch has %d settings, want %d", len(patched), len(settings("AutoLeaveConfig")))
	}
}

// TestDefaultsMatchDomain compares the documented defaults with those that are
// applied.
func TestDefaultsMatchDomain(t *testing.T) {
	t.Parallel()
	root, _ := parsedDescription(t)
	schemas := root.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)
	documented := func(schema, field string, value any) {
		properties := schemas[schema].(map[string]any)["properties"].(map[string]any)
		description, _ := properties[field].(map[string]any)["description"].(string)
		if want := fmt.Sprintf("Default: %v.", value); !strings.HasSuffix(strings.TrimSpace(description), want) {
			t.Errorf("the description of %s.%s does not end with %q", schema, field, want)
		}
	}
	text, err := json.Marshal(job.DefaultAutoLeave())
	if err != nil {
		t.Fatal(err)
	}
	var settings map[string]any
	if err := json.Unmarshal(text, &settings); err != nil {
		t.Fatal(err)
	}
	for name, value := range settings {
		documented("AutoLeaveConfig", name, value)
	}
	documented("JobCreate", "displayName", job.DefaultDisplayName)
}

// TestStreamsMatchDomain checks that the schema of streams takes the options that the service takes.
func TestStreamsMatchDomain(t *testing.T) {
	t.Parallel()
	d, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	schema := itemsOf(resolve(resolve(d.bodies["createJob"].schema).Properties["streams"]))
	taken := 0
	events := []job.StreamEvent{
		"", job.TranscriptEvents, job.CaptionEvents, job.ChatEvents, job.ParticipantsEvents, job.SpeakingEvents,
	}
	for _, format := range []job.StreamFormat{"", job.StreamStandin, job.StreamRecall, job.StreamAttendee, job.StreamMeetingBaaS} {
		for _, rate := range []int{0, 8000, 16_000, 24_000, 48_000} {
			for _, audio := range []job.StreamAudio{"", job.StreamMixed, "participants", "both"} {
				for _, event := range events {
					for _, send := range []bool{false, true} {
						options := job.StreamOptions{URL: "wss://agent.example.com/", Format: format, SampleRate: rate, Audio: audio, Send: send}
						body := map[string]any{"url": options.URL, "send": send}
						for name, value := range map[string]string{"format": string(format), "audio": string(audio)} {
							if value != "" {
								body[name] = value
							}
						}
						if rate != 0 {
							body["sampleRate"] = json.Number(strconv.Itoa(rate))
						}
						if event != "" {
							options.Events, body["events"] = []job.StreamEvent{event}, []any{string(event)}
						}
						name, problem := options.Check()
						if err := schema.Validate(body); (err == nil) != (name == "") {
							t.Errorf("%v: the schema has the issues %v, the service %s %s", body, err, name, problem)
						}
						if name == "" {
							taken++
						}
					}
				}
			}
		}
	}
	if taken == 0 {
		t.Error("no options are taken")
	}
}

// TestTextsAreBounded checks that every text of a request has a maximum length.
func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	d, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	unbounded := map[string]bool{
		"createJob.displayName": true, "createJobs.jobs.displayName": true, "patchJob.displayName": true, // cut
		"ingestTexts.texts.id": true, "ingestTexts.texts.language": true, // the patterns have bounds
	}
	seen := 0
	var check func(path string, schema *jsonschema.Schema)
	check = func(path string, schema *jsonschema.Schema) {
		schema = resolve(schema)
		if schema.Types != nil && slices.Contains(schema.Types.ToStrings(), "string") {
			seen++
			form := schema.Format != nil && slices.Contains([]string{"uuid", "date-time"}, schema.Format.Name)
			if bounded := schema.MaxLength != nil || schema.Enum != nil || form; bounded == unbounded[path] {
				t.Errorf("%s: bounded %v", path, bounded)
			}
		}
		for name, property := range schema.Properties {
			check(path+"."+name, property)
		}
		if items := itemsOf(schema); items != nil {
			check(path, items)
		}
	}
	for operation, body := range d.bodies {
		check(operation, body.schema)
	}
	for operation, parameters := range d.queries {
		for _, parameter := range parameters {
			check(operation+"."+parameter.name, parameter.schema)
		}
	}
	if seen < 40 {
		t.Errorf("only %d texts were found", seen)
	}
}

// TestSchemaNames checks that no schema is named New and the name of another one: generators give
// such names to functions.
func TestSchemaNames(t *testing.T) {
	t.Parallel()
	root, _ := parsedDescription(t)
	schemas := root.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)
	for name := range schemas {
		if other, isNew := strings.CutPrefix(name, "New"); isNew && schemas[other] != nil {
			t.Errorf("the schema %s is named like a function that makes a %s", name, other)
		}
	}
}

// TestListsHavePages checks that every list has a limit and a cursor, and the next one.
func TestListsHavePages(t *testing.T) {
	t.Parallel()
	root, _ := parsedDescription(t)
	lists := 0
	walk("", root, func(pointer string, value any) {
		operation, _ := value.(map[string]any)
		id, _ := operation["operationId"].(string)
		if !strings.HasPrefix(id, "list") || id == "listenToJob" {
			return
		}
		lists++
		text := fmt.Sprint(operation)
		for _, part := range []string{"parameters/Cursor]", "parameters/Limit]", "Page]", "nextCursor:"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %q", id, part)
			}
		}
	})
	if lists < 8 {
		t.Errorf("only %d lists", lists)
	}
}

// escapePointer escapes a key for a JSON Pointer in a URL fragment (RFC 6901, sections 3
// and 6).
func escapePointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(key)
}

// itemsOf returns the schema of the items of a list; nil without one.
func itemsOf(schema *jsonschema.Schema) *jsonschema.Schema {
	if schema == nil {
		return nil
	}
	return schema.Items2020
}
