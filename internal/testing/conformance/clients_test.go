package conformance_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// environ returns the environment of another client's tests.
func (w world) environ(report string) []string {
	return []string{
		"STANDIN_URL=" + w.base, "STANDIN_API_KEY=" + w.key, "STANDIN_FAULTS_URL=" + w.faults, "STANDIN_WEBHOOK_SECRET=" + w.secret,
		"STANDIN_UPLOAD_JOB=" + w.uploadJob, "STANDIN_UPLOAD_TOKEN=" + w.uploadToken, "STANDIN_TEST_REPORT=" + report,
	}
}

// TestClients runs the tests of the other clients, and fails if one of them does not
// pass every row. scripts/clients.sh installs what they need.
func TestClients(t *testing.T) {
	t.Parallel()
	if os.Getenv("STANDIN_TEST_CLIENTS") == "" {
		t.Skip("set STANDIN_TEST_CLIENTS=1 to test the clients in Python and TypeScript, or run make clients-test")
	}
	script(t, nil, "dist")
	t.Run("browser", func(t *testing.T) {
		t.Parallel()
		testInBrowser(t)
	})
	for _, language := range []string{"python", "python-sync", "typescript"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			report := filepath.Join(t.TempDir(), "report.xml")
			script(t, newWorld(t).environ(report), "conformance", language)
			passed, err := passedTests(report)
			if err != nil {
				t.Fatalf("read the report: %v", err)
			}
			for _, row := range rows(t) {
				if !slices.Contains(passed, row) {
					t.Errorf("row %s is missing, or failed", row)
				}
			}
		})
	}
}

// script runs scripts/clients.sh.
func script(t *testing.T, environ []string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "../scripts/clients.sh", args...)
	command.Dir = folder
	command.Env = append(os.Environ(), environ...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("clients.sh %s: %v\n%s", strings.Join(args, " "), err, output)
	}
}

// passedTests returns the names of the tests that passed by a report in the format of
// JUnit, without the prefix test_.
func passedTests(report string) ([]string, error) {
	content, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	var passed []string
	decoder := xml.NewDecoder(strings.NewReader(string(content)))
	for {
		token, err := decoder.Token()
		if err != nil {
			if len(passed) == 0 {
				return nil, errors.New("no test passed")
			}
			return passed, nil
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "testcase" {
			continue
		}
		var test struct {
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
			Error   *struct{} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
		}
		if err := decoder.DecodeElement(&test, &start); err != nil {
			return nil, err
		}
		if test.Failure == nil && test.Error == nil && test.Skipped == nil {
			passed = append(passed, strings.TrimPrefix(test.Name, "test_"))
		}
	}
}

// TestReadmes checks that the READMEs contain the examples, whose receivers are tested.
func TestReadmes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"python/examples/record.py", "python/examples/receiver.py", "typescript/examples/record.mjs", "typescript/examples/receiver.mjs",
	} {
		example, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		readme, err := os.ReadFile(filepath.Join(folder, filepath.Dir(filepath.Dir(name)), "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(readme, append([]byte("\n"), example...)) {
			t.Errorf("the README beside %s does not contain it", name)
		}
	}
}
