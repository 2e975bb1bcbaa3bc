package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agentsDocument is the document with the session of TestAgentSession.
const agentsDocument = root + tutorials + "agent-mcp.md"

// agentSession are the calls of the session in the document. $JOB is the ID of the job. The result
// of wait_for, which is the job again, is left out.
var agentSession = []struct{ tool, arguments string }{
	{"send_bot", `{"meetingUrl": "https://meet.google.com/abc-defg-hij", "title": "Planning", "simulate": {"seconds": 60, "speed": 30}}`},
	{"wait_for", `{"jobId": "$JOB", "until": "ended"}`},
	{"get_transcript", `{"jobId": "$JOB", "toMinute": 0.05}`},
}

// varying matches what differs between two sessions: IDs and times.
var varying = map[string]*regexp.Regexp{
	"0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80": regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`),
	"2026-11-20T13:00:00.000Z":             regexp.MustCompile(`20\d\d-\d\d-\d\dT[\d:.]+Z`),
	"mcp-K7…":                              regexp.MustCompile(`mcp-[A-Z0-9]{26}`),
}

// warnings matches the warning of a result, which the document has once.
var warnings = regexp.MustCompile(`"warning": "(?:[^"\\]|\\.)*"`)

// TestAgentSession runs standin mcp as an agent does, and compares the session with the
// document. With -update it writes the document.
func TestAgentSession(t *testing.T) {
	t.Parallel()
	d := newTestCLI(t)
	command := exec.Command(os.Args[0], "mcp", "--config-dir", d.config)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // closed below unless the test fails
	var text strings.Builder
	id := ""
	for _, call := range agentSession {
		arguments := map[string]any{}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(call.arguments, "$JOB", id)), &arguments); err != nil {
			t.Fatal(err)
		}
		got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: call.tool, Arguments: arguments})
		if err != nil || got.IsError {
			t.Fatalf("%s: %+v (%v)", call.tool, got, err)
		}
		var result struct{ Job struct{ JobID string } }
		fields, err := json.Marshal(got.StructuredContent)
		if err != nil || json.Unmarshal(fields, &result) != nil {
			t.Fatal(err)
		}
		if id == "" {
			id = result.Job.JobID
		}
		if call.tool == "wait_for" {
			fmt.Fprintf(&text, "%s %s\n…\n", call.tool, strings.ReplaceAll(call.arguments, "$JOB", id))
			continue
		}
		indented, err := json.MarshalIndent(got.StructuredContent, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%s %s\n%s\n", call.tool, strings.ReplaceAll(call.arguments, "$JOB", id), indented)
	}
	if err := session.Close(); err != nil {
		t.Errorf("end the session: %v", err)
	}
	first, rest, _ := strings.Cut(normalized(text.String()), "wait_for")
	compareBlock(t, first+"wait_for"+warnings.ReplaceAllString(rest, `"warning": "…"`))
}

// normalized replaces what differs between two sessions.
func normalized(text string) string {
	for replacement, pattern := range varying {
		text = pattern.ReplaceAllString(text, replacement)
	}
	return text
}

// compareBlock compares the text block of the document with a session.
func compareBlock(t *testing.T, session string) {
	t.Helper()
	content, err := os.ReadFile(agentsDocument)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(content), "```text\n")
	block, after, _ := strings.Cut(rest, "```\n")
	if *updateConfiguration {
		if err := os.WriteFile(agentsDocument, []byte(before+"```text\n"+session+"```\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if block != session {
		t.Errorf("the session differs from the one in %s; if that is intended, run the test with -update:\n%s", agentsDocument, session)
	}
}

// TestTypeScriptAgent runs the official TypeScript client against standin mcp and POST
// /mcp. It installs the client with npm.
func TestTypeScriptAgent(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("installs packages with npm")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	d := newTestCLI(t)
	stored, err := loadCredentials(d.config)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "mcp"))); err != nil {
		t.Fatal(err)
	}
	binary, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{{"npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"}, {"node", "agent.mjs"}} {
		command := exec.CommandContext(t.Context(), arguments[0], arguments[1:]...)
		command.Dir = dir
		command.Env = append(os.Environ(), "STANDIN_URL="+d.base, envAPIKey+"="+stored.APIKey, "STANDIN_BINARY="+binary)
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(arguments, " "), err, out)
		}
		t.Logf("%s", out)
	}
}

// TestAgentWithoutKey starts standin mcp without credentials. Nothing is written to
// standard output, which belongs to the protocol.
func TestAgentWithoutKey(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), os.Args[0], "mcp", "--config-dir", t.TempDir())
	command.Env = append(os.Environ(), envAPIKey+"=")
	out, err := command.Output()
	exit := new(exec.ExitError)
	if !errors.As(err, &exit) || exit.ExitCode() != exitUnauthorized || len(out) > 0 || !strings.Contains(string(exit.Stderr), "standin login") {
		t.Errorf("%v, stdout %q, stderr %q", err, out, exit.Stderr)
	}
}
