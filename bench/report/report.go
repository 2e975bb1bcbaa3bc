// Package report prints and stores the results of the benchmarks.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// Metrics are the values that one load measured, by unit.
type Metrics map[string]float64

// Result is what one round measured.
type Result struct {
	Row      string  `json:"row"`
	Program  string  `json:"program"`
	Database string  `json:"database,omitempty"` // empty without one
	Scale    int     `json:"scale,omitempty"`    // size that the row varies
	Round    int     `json:"round"`
	Metrics  Metrics `json:"metrics"`
}

// Row describes a row of the table.
type Row struct {
	Name, Title string
	Unit        string // of the metric that is shown
	Limit       string // the program that Standin is divided by; empty for none
}

// standin is the program in whose ratio a row is interested.
const standin = "standin"

// Table prints the medians of all programs, and the median of the ratios of
// Standin to its limit, round by round.
func Table(out io.Writer, rows []Row, results []Result) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "measurement\tdatabase\tprogram\tmedian\tunit\tof the limit\tother metrics")
	for _, r := range rows {
		for _, key := range contestants(r.Name, results) {
			own := rounds(results, r.Name, key)
			if len(values(own, r.Unit)) == 0 {
				continue
			}
			title := r.Title
			if key.scale > 0 {
				title += fmt.Sprintf(": %d", key.scale)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", title, key.database, key.program,
				format(median(values(own, r.Unit))), r.Unit, ratioText(results, r, key), others(own, r.Unit))
		}
	}
	w.Flush() //nolint:errcheck // as for other output
}

// contestant identifies a program in a row.
type contestant struct {
	program, database string
	scale             int
}

// contestants returns the programs of a row in the order of the results.
func contestants(row string, results []Result) (keys []contestant) {
	for _, r := range results {
		key := contestant{r.Program, r.Database, r.Scale}
		if r.Row == row && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	slices.SortStableFunc(keys, func(a, b contestant) int { return strings.Compare(b.database, a.database) })
	return keys
}

// rounds returns the metrics of a contestant by round.
func rounds(results []Result, row string, key contestant) map[int]Metrics {
	found := make(map[int]Metrics)
	for _, r := range results {
		if r.Row == row && r.Program == key.program && r.Database == key.database && r.Scale == key.scale {
			found[r.Round] = r.Metrics
		}
	}
	return found
}

func values(rounds map[int]Metrics, unit string) (all []float64) {
	for _, m := range rounds {
		if value, found := m[unit]; found {
			all = append(all, value)
		}
	}
	return all
}

// Ratio returns the median of Standin's ratios to the limit of a row, round by
// round; ok is false without a limit.
func Ratio(results []Result, r Row, program, database string) (ratio float64, ok bool) {
	own, limits := rounds(results, r.Name, contestant{program, database, 0}), rounds(results, r.Name, contestant{r.Limit, database, 0})
	if len(limits) == 0 {
		limits = rounds(results, r.Name, contestant{r.Limit, "", 0})
	}
	var all []float64
	for round, m := range own {
		if limit := limits[round][r.Unit]; limit > 0 {
			all = append(all, m[r.Unit]/limit)
		}
	}
	return median(all), len(all) > 0
}

// Median returns the median of a metric of a program.
func Median(results []Result, row, program, database string, scale int, unit string) (float64, bool) {
	all := values(rounds(results, row, contestant{program, database, scale}), unit)
	return median(all), len(all) > 0
}

func ratioText(results []Result, r Row, key contestant) string {
	if ratio, ok := Ratio(results, r, key.program, key.database); ok && key.program != r.Limit {
		return fmt.Sprintf("%.2f", ratio)
	}
	return ""
}

// others formats the other metrics of a row.
func others(rounds map[int]Metrics, unit string) string {
	units := make(map[string]bool)
	for _, m := range rounds {
		for u := range m {
			units[u] = u != unit
		}
	}
	var parts []string
	for _, u := range slices.Sorted(maps.Keys(units)) {
		if units[u] {
			parts = append(parts, format(median(values(rounds, u)))+" "+u)
		}
	}
	return strings.Join(parts, ", ")
}

func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	middle := len(all) / 2
	if len(all)%2 == 0 {
		return (all[middle-1] + all[middle]) / 2
	}
	return all[middle]
}

// format formats a value with three significant digits.
func format(value float64) string {
	switch {
	case value >= 1000:
		return fmt.Sprintf("%.0f", value)
	case value >= 10:
		return fmt.Sprintf("%.1f", value)
	default:
		return fmt.Sprintf("%.3g", value)
	}
}

// WriteFiles writes results.json and, for each binary of Standin, a file in the
// format of benchstat: standin.txt and, in a comparison, base.txt.
func WriteFiles(dir string, results []Result) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	files := map[string][]byte{"results.json": append(text, '\n')}
	for _, program := range []string{standin, "base"} {
		if lines := Benchstat(results, program); lines != "" {
			files[program+".txt"] = []byte(lines)
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Benchstat returns the results of a program as lines of Go's benchmark format,
// one for each round.
func Benchstat(results []Result, program string) string {
	var lines strings.Builder
	for _, r := range results {
		if r.Program != program {
			continue
		}
		fmt.Fprintf(&lines, "Benchmark%s%s/%s", strings.ToUpper(r.Row[:1]), r.Row[1:], r.Database)
		if r.Scale > 0 {
			fmt.Fprintf(&lines, "/%d", r.Scale)
		}
		lines.WriteString(" 1")
		for _, unit := range slices.Sorted(maps.Keys(r.Metrics)) {
			fmt.Fprintf(&lines, " %g %s", r.Metrics[unit], unit)
		}
		lines.WriteByte('\n')
	}
	if lines.Len() == 0 {
		return ""
	}
	return "Unit req/s better=higher\nUnit deliveries/s better=higher\nUnit jobs/s better=higher\n" + lines.String()
}
