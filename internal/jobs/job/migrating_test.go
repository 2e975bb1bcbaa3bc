package job_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"standin/internal/jobs/job"
)

// codeSpan matches a name in a table.
var codeSpan = regexp.MustCompile("`([a-z_]+)`")

// TestMigratingTables checks that the tutorials for users of other services name statuses and
// failure codes that exist, and that those of Recall.ai name all of them.
func TestMigratingTables(t *testing.T) {
	t.Parallel()
	wanted := map[string][]string{}
	for _, status := range job.Statuses() {
		wanted["status of Standin"] = append(wanted["status of Standin"], string(status))
	}
	for _, code := range job.FailureCodes() {
		wanted["failure code of Standin"] = append(wanted["failure code of Standin"], string(code))
	}
	for _, vendor := range []string{"recall", "attendee"} {
		text, err := os.ReadFile("../../../docs/tutorials/from-" + vendor + ".md")
		if err != nil {
			t.Fatal(err)
		}
		tables := 0
		for _, table := range strings.Split(string(text), "\n\n") {
			header, rows, _ := strings.Cut(table, "\n")
			column := strings.TrimSpace(header[strings.LastIndex(strings.TrimRight(header, " |"), "|")+1:])
			names, known := wanted[strings.TrimSuffix(column, " |")]
			if !known {
				continue
			}
			tables++
			for row := range strings.Lines(rows) {
				cells := strings.Split(row, "|")
				for _, match := range codeSpan.FindAllStringSubmatch(cells[len(cells)-2], -1) {
					if !slices.Contains(names, match[1]) {
						t.Errorf("%s: Standin has no %s", strings.TrimSpace(row), match[1])
					}
				}
			}
			for _, name := range names {
				if vendor == "recall" && !strings.Contains(rows, "`"+name+"`") {
					t.Errorf("the table of Recall.ai has no %s %s", name, column)
				}
			}
		}
		if tables != 2 {
			t.Errorf("%s: %d tables of statuses and failure codes, want 2", vendor, tables)
		}
	}
}
