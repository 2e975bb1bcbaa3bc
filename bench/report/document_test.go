package report

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUpdate: the tables of a document show medians, ratios round by round and
// plots, and rows that were measured before are kept.
func TestUpdate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "performance.md")
	if err := os.WriteFile(path, []byte("before\n"+beginMark+"old\n"+endMark+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rows := []Row{
		{Name: "create", Title: "create", Unit: "req/s", Limit: "one-table"},
		{Name: "stored", Title: "create, by stored jobs", Unit: "req/s"},
	}
	first := []Result{
		{Row: "create", Program: standin, Database: "SQLite", Round: 0, Metrics: Metrics{"req/s": 100}},
		{Row: "create", Program: standin, Database: "SQLite", Round: 1, Metrics: Metrics{"req/s": 300}},
		{Row: "create", Program: "one-table", Database: "SQLite", Round: 0, Metrics: Metrics{"req/s": 200}},
		{Row: "create", Program: "one-table", Database: "SQLite", Round: 1, Metrics: Metrics{"req/s": 300}},
	}
	second := []Result{
		{Row: "stored", Program: standin, Database: "SQLite", Scale: 1000, Metrics: Metrics{"req/s": 50}},
		{Row: "stored", Program: standin, Database: "SQLite", Scale: 10_000, Metrics: Metrics{"req/s": 40}},
	}
	if err := Update(path, rows, first, Run{Command: "make bench"}); err != nil {
		t.Fatal(err)
	}
	if err := Update(path, rows, second, Run{Command: "make bench ARGS=more"}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []string{
		"before\n", "\nafter\n", "| create | req/s | 200.0 | 250.0 | 0.75 |", "| 1000 | 50.0 |  |", "`make bench`: rows create",
		"performance/stored-req-per-s.svg",
	} {
		if !strings.Contains(string(content), wanted) {
			t.Errorf("%q is missing in:\n%s", wanted, content)
		}
	}
	svg, err := os.ReadFile(filepath.Join(filepath.Dir(path), "performance", "stored-req-per-s.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(svg, new(struct {
		XMLName xml.Name `xml:"svg"`
	})); err != nil {
		t.Errorf("the plot is not XML: %v", err)
	}
}
