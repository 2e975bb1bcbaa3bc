package meeting

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"standin/internal/jobs/job"
)

var update = flag.Bool("update", false,
	"write the table of facts to docs/internals/platforms.md, and the records of pages to testdata/records")

// fact is an entry of facts.yaml, whose comment describes it.
type fact struct {
	ID       string   `yaml:"id"`
	Platform string   `yaml:"platform"`
	Fact     string   `yaml:"fact"`
	Source   string   `yaml:"source"`
	Date     string   `yaml:"date"`
	Entry    string   `yaml:"entry"`
	Tests    []string `yaml:"tests"`
}

const (
	factsDocument = "../../../docs/internals/platforms.md"
	factsStart    = "<!-- facts -->\n"
	factsEnd      = "<!-- /facts -->"
)

// TestFacts checks that every fact is complete, that its test and profile entry exist,
// and that the table in the documentation is made from the list.
func TestFacts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("facts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var facts []fact
	if err := yaml.Unmarshal(text, &facts); err != nil {
		t.Fatal(err)
	}
	tests, ids := testFunctions(t), make(map[string]bool)
	var table strings.Builder
	table.WriteString("\n| fact about the live page | source | profile entry | test |\n|---|---|---|---|\n")
	for _, one := range facts {
		if ids[one.ID] || !regexp.MustCompile(`^(meet|teams|zoom|all)-[a-z0-9-]+$`).MatchString(one.ID) ||
			!strings.HasPrefix(one.ID, one.Platform+"-") {
			t.Errorf("%s: the id is used twice, or does not begin with its platform", one.ID)
		}
		ids[one.ID] = true
		if one.Fact == "" || one.Source == "" || one.Entry == "" || len(one.Tests) == 0 ||
			!regexp.MustCompile(`^20\d\d(-\d\d){0,2}$`).MatchString(one.Date) {
			t.Errorf("%s: incomplete: %+v", one.ID, one)
		}
		for _, name := range one.Tests {
			if name != "fieldpages" && !tests[name] {
				t.Errorf("%s: no test %s", one.ID, name)
			}
		}
		checkEntry(t, one)
		platform := map[string]string{"meet": "Meet", "teams": "Teams", "zoom": "Zoom", "all": "all"}[one.Platform]
		fmt.Fprintf(&table, "| %s: %s | %s, %s | %s | %s |\n", platform, one.Fact, one.Source, one.Date, one.Entry, strings.Join(one.Tests, ", "))
	}
	table.WriteString("\n")
	checkFactsTable(t, table.String())
}

// checkFactsTable checks that the document has the table, or writes it.
func checkFactsTable(t *testing.T, table string) {
	t.Helper()
	document, err := os.ReadFile(factsDocument)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, started := strings.Cut(string(document), factsStart)
	current, after, ended := strings.Cut(rest, factsEnd)
	if !started || !ended {
		t.Fatalf("%s has no place for the table", factsDocument)
	}
	if *update {
		if err := os.WriteFile(factsDocument, []byte(before+factsStart+table+factsEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if current != table {
		t.Errorf("%s is not current; run go test ./internal/bot/meeting -run TestFacts -update", factsDocument)
	}
}

// checkEntry checks that the names of a fact's entry are in a profile or in words.yaml.
func checkEntry(t *testing.T, one fact) {
	t.Helper()
	profiles, err := embeddedProfiles()
	if err != nil {
		t.Fatal(err)
	}
	known := string(wordsFile)
	for platform, name := range map[job.Platform]string{job.Meet: "meet", job.Teams: "teams", job.ZoomWeb: "zoom"} {
		if one.Platform == name || one.Platform == "all" {
			known += string(profiles[platform].text)
		}
	}
	for _, match := range regexp.MustCompile("`([a-zA-Z]+)(?:\\.[a-zA-Z]+)?`").FindAllStringSubmatch(one.Entry, -1) {
		if name := match[1]; name != "words" && !strings.Contains(known, name+":") && !strings.Contains(known, name+"]") {
			t.Errorf("%s: no entry %s", one.ID, name)
		}
	}
}

// testFunctions returns the names of all tests below internal/bot.
func testFunctions(t *testing.T) map[string]bool {
	t.Helper()
	found := make(map[string]bool)
	pattern := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, match := range pattern.FindAllStringSubmatch(string(text), -1) {
			found[match[1]] = true
		}
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("%d tests: %v", len(found), err)
	}
	return found
}
