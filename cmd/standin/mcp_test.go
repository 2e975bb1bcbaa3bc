package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"standin/internal/jobs/job"
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
	c := newCLI(t, job.Test)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.CommandTransport{Command: exec.Command(os.Args[0], append([]string{"mcp"}, c.flags...)...)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // closed below unless the test fails
	var text strings.Builder
	id := ""
	for _, call := range agentSession {
		arguments := strings.ReplaceAll(call.arguments, "$JOB", id)
		got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: call.tool, Arguments: json.RawMessage(arguments)})
		if err != nil || got.IsError {
			t.Fatalf("%s: %+v (%v)", call.tool, got, err)
		}
		indented, err := json.MarshalIndent(got.StructuredContent, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if id == "" {
			id = jobID.FindString(string(indented))
		}
		if call.tool == "wait_for" {
			indented = []byte("…")
		}
		fmt.Fprintf(&text, "%s %s\n%s\n", call.tool, arguments, indented)
	}
	if err := session.Close(); err != nil {
		t.Errorf("end the session: %v", err)
	}
	normalized := text.String()
	for replacement, pattern := range varying {
		normalized = pattern.ReplaceAllString(normalized, replacement)
	}
	first, rest, _ := strings.Cut(normalized, "wait_for")
	compareBlock(t, first+"wait_for"+warnings.ReplaceAllString(rest, `"warning": "…"`))
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
	long(t)
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	c, dir := newCLI(t, job.Test), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "mcp"))); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{{"npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"}, {"node", "agent.mjs"}} {
		command := exec.CommandContext(t.Context(), arguments[0], arguments[1:]...)
		command.Dir = dir
		command.Env = append(os.Environ(), "STANDIN_URL="+c.values["BASE"], envAPIKey+"="+c.values["KEY"], "STANDIN_BINARY="+
			absolute(t, os.Args[0]))
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(arguments, " "), err, out)
		}
		t.Logf("%s", out)
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
