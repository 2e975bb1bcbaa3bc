package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Names in the directory of a document's results.
const (
	resultsFile = "results.json"
	beginMark   = "<!-- begin results -->\n"
	endMark     = "<!-- end results -->"
)

// Run describes how a row of a document was measured.
type Run struct {
	Machine string `json:"machine"`
	Date    string `json:"date"`
	Commit  string `json:"commit"`
	Command string `json:"command"`
}

// document is the content of the results file: the last results of each row.
type document struct {
	Runs    map[string]Run `json:"runs"` // by row
	Results []Result       `json:"results"`
}

// Update writes results into a Markdown document, between its marks. Results of
// other rows are kept: they are in a directory beside the document, with the
// plots.
func Update(path string, rows []Row, results []Result, run Run) error {
	dir := strings.TrimSuffix(path, ".md")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	d, err := readDocument(filepath.Join(dir, resultsFile))
	if err != nil {
		return err
	}
	d.replace(results, run)
	if err := d.write(filepath.Join(dir, resultsFile)); err != nil {
		return err
	}
	for name, chart := range charts(rows, d.Results) {
		if err := os.WriteFile(filepath.Join(dir, name), chart.SVG(), 0o644); err != nil {
			return err
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(content), beginMark)
	_, after, foundEnd := strings.Cut(rest, endMark)
	if !found || !foundEnd {
		return fmt.Errorf("%s has no marks for the results", path)
	}
	text := before + beginMark + d.markdown(rows, filepath.Base(dir)) + endMark + after
	return os.WriteFile(path, []byte(text), 0o644)
}

func readDocument(path string) (d document, err error) {
	d.Runs = make(map[string]Run)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	return d, json.Unmarshal(content, &d)
}

// replace replaces the results of the rows that were measured.
func (d *document) replace(results []Result, run Run) {
	measured := make(map[string]bool)
	for _, r := range results {
		measured[r.Row] = true
		d.Runs[r.Row] = run
	}
	d.Results = append(slices.DeleteFunc(d.Results, func(r Result) bool { return measured[r.Row] }), results...)
}

// write writes one result on each line of the file.
func (d *document) write(path string) error {
	runs, err := json.MarshalIndent(d.Runs, "", " ")
	if err != nil {
		return err
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "{\"runs\": %s,\n\"results\": [", runs)
	for i, r := range d.Results {
		if i > 0 {
			text.WriteByte(',')
		}
		row, err := json.Marshal(r)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "\n%s", row)
	}
	text.WriteString("\n]}\n")
	return os.WriteFile(path, text.Bytes(), 0o644)
}

// databases are the columns of the tables.
var databases = []string{"SQLite", "PostgreSQL"}

// markdown returns the tables and plots.
func (d *document) markdown(rows []Row, dir string) string {
	var text strings.Builder
	d.writeRuns(&text, rows)
	text.WriteString("\n| Measurement | Unit | SQLite | Limit | Ratio | PostgreSQL | Limit | Ratio |\n|---|---|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range rows {
		if _, measured := d.Runs[r.Name]; measured && !d.scaled(r) {
			d.writeRow(&text, r)
		}
	}
	d.writeGrowth(&text, rows, dir)
	return text.String()
}

// writeRuns writes how the rows were measured, once for each command.
func (d *document) writeRuns(text *strings.Builder, rows []Row) {
	var seen []Run
	for _, r := range rows {
		run, measured := d.Runs[r.Name]
		if !measured || slices.Contains(seen, run) {
			continue
		}
		seen = append(seen, run)
		var names []string
		for _, other := range rows {
			if d.Runs[other.Name] == run && !slices.Contains(names, other.Name) {
				names = append(names, other.Name)
			}
		}
		fmt.Fprintf(text, "- `%s`: rows %s; commit %s, %s, %s.\n", run.Command, strings.Join(names, ", "), run.Commit, run.Date, run.Machine)
	}
}

func (d *document) writeRow(text *strings.Builder, r Row) {
	fmt.Fprintf(text, "| %s | %s |", r.Title, r.Unit)
	if value, ok := Median(d.Results, r.Name, standin, "", 0, r.Unit); ok { // no database
		fmt.Fprintf(text, " %s | | | | | |\n", format(value))
		return
	}
	for _, database := range databases {
		cells := []string{"", "", ""}
		if value, ok := Median(d.Results, r.Name, standin, database, 0, r.Unit); ok {
			cells[0] = format(value)
		}
		for _, limitDatabase := range []string{database, ""} {
			if value, ok := Median(d.Results, r.Name, r.Limit, limitDatabase, 0, r.Unit); ok && r.Limit != "" {
				cells[1] = format(value)
				break
			}
		}
		if ratio, ok := Ratio(d.Results, r, standin, database); ok {
			cells[2] = fmt.Sprintf("%.2f", ratio)
		}
		fmt.Fprintf(text, " %s |", strings.Join(cells, " | "))
	}
	text.WriteByte('\n')
}

// scaled reports whether the results of a row have a scale.
func (d *document) scaled(r Row) bool { return len(scales(d.Results, r.Name)) > 0 }

// scales returns the scales of a row in ascending order.
func scales(results []Result, row string) (all []int) {
	for _, r := range results {
		if r.Row == row && r.Scale > 0 && !slices.Contains(all, r.Scale) {
			all = append(all, r.Scale)
		}
	}
	slices.Sort(all)
	return all
}

// writeGrowth writes the rows with a scale as tables, and their plots.
func (d *document) writeGrowth(text *strings.Builder, rows []Row, dir string) {
	for _, r := range rows {
		if !d.scaled(r) {
			continue
		}
		fmt.Fprintf(text, "\n**%s** (%s)\n\n| Number | SQLite | PostgreSQL |\n|---:|---:|---:|\n", capitalized(r.Title), r.Unit)
		for _, scale := range scales(d.Results, r.Name) {
			fmt.Fprintf(text, "| %d |", scale)
			for _, database := range databases {
				cell := ""
				if value, ok := Median(d.Results, r.Name, standin, database, scale, r.Unit); ok {
					cell = format(value)
				}
				fmt.Fprintf(text, " %s |", cell)
			}
			text.WriteByte('\n')
		}
		if len(scales(d.Results, r.Name)) > 1 {
			fmt.Fprintf(text, "\n![%s](%s/%s)\n", capitalized(r.Title), dir, chartName(r))
		}
	}
}

func capitalized(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// charts returns the plots of the rows that have several scales, by file name.
func charts(rows []Row, results []Result) map[string]Chart {
	all := make(map[string]Chart)
	for _, r := range rows {
		numbers := scales(results, r.Name)
		if len(numbers) < 2 {
			continue
		}
		chart := Chart{Title: capitalized(r.Title), Unit: r.Unit}
		for _, database := range databases {
			s := Series{Name: database}
			for _, scale := range numbers {
				if value, ok := Median(results, r.Name, standin, database, scale, r.Unit); ok {
					s.X, s.Y = append(s.X, float64(scale)), append(s.Y, value)
				}
			}
			if len(s.X) > 0 {
				chart.Series = append(chart.Series, s)
			}
		}
		all[chartName(r)] = chart
	}
	return all
}

func chartName(r Row) string {
	return r.Name + "-" + strings.NewReplacer("/", "-per-").Replace(strings.ToLower(r.Unit)) + ".svg"
}
