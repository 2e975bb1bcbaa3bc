package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/duration"
)

// outputFlags choose the form in which a command prints its result.
type outputFlags struct {
	Output string `short:"o" enum:"table,json,yaml" default:"table" help:"Output format: table, json or yaml."`
	JSON   bool   `name:"json" help:"Print JSON, like --output json."`
}

// isTable reports whether the result is printed for people.
func (f outputFlags) isTable() bool { return f.Output != "yaml" && f.Output != "json" && !f.JSON }

func (f outputFlags) isYAML() bool { return f.Output == "yaml" && !f.JSON }

// print prints a value as JSON or YAML, or calls table to print it for people, unless getting it failed.
func (f outputFlags) print(to terminal, value any, err error, table func() error) error {
	switch {
	case err != nil:
		return err
	case f.isTable():
		return table()
	case f.isYAML():
		return printYAML(to.Out, value)
	}
	return printJSON(to.Out, value)
}

// printLine prints a value as JSON or YAML, or a line for people, unless getting it failed.
func (f outputFlags) printLine(to terminal, value any, err error, line ...any) error {
	return f.print(to, value, err, func() error { return to.println(line...) })
}

// printTable prints values as JSON or YAML, or as a table for people, unless getting them failed.
func printTable[T any](f outputFlags, to terminal, header string, values []T, err error, row func(T) []string) error {
	return f.print(to, values, err, func() error { return to.table(header, rows(values, row)) })
}

// printList prints up to limit values of a list of the API, or all if it is 0, like printTable.
func printList[T any](f outputFlags, to terminal, header string, list iter.Seq2[T, error], limit int, row func(T) []string) error {
	values, err := collect(list, limit)
	return printTable(f, to, header, values, err, row)
}

// rows returns the rows of a table, or another form of values.
func rows[T, R any](values []T, row func(T) R) []R {
	made := make([]R, len(values))
	for i, value := range values {
		made[i] = row(value)
	}
	return made
}

// printYAML writes a value as YAML, with the names and the order of its JSON.
func printYAML(w io.Writer, value any) error {
	var text bytes.Buffer
	if err := printJSONLine(&text, value); err != nil {
		return err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text.Bytes(), &document); err != nil {
		return fmt.Errorf("convert JSON to YAML: %w", err)
	}
	useBlocks(&document)
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	return encoder.Close()
}

// useBlocks replaces the braces and the quotes of JSON. Texts with characters that escapingWriter
// escapes keep their quotes, in which the escapes are YAML.
func useBlocks(node *yaml.Node) {
	if node.Kind != yaml.ScalarNode || strings.IndexFunc(node.Value, isHostile) < 0 {
		node.Style = 0
	}
	for _, child := range node.Content {
		useBlocks(child)
	}
}

// header returns the header of a table of which programs get the rows alone, a line each.
func (t terminal) header(text string) string {
	if !isTerminal(t.Out) {
		return ""
	}
	return text
}

// table prints rows below a header, if it is not empty. Empty cells are shown as dashes.
func (t terminal) table(header string, rows [][]string) error {
	writer := tabwriter.NewWriter(t.Out, 0, 0, 2, ' ', 0)
	if header != "" {
		fmt.Fprintln(writer, strings.ReplaceAll(header, "|", "\t"))
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = cmp.Or(oneLine(cell), "-")
		}
		fmt.Fprintln(writer, strings.Join(cells, "\t"))
	}
	return writer.Flush()
}

// properties prints names with their values, without those that are empty.
func (t terminal) properties(rows ...[2]string) error {
	writer := tabwriter.NewWriter(t.Out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if row[1] != "" {
			fmt.Fprintf(writer, "%s\t%s\n", row[0], oneLine(row[1]))
		}
	}
	return writer.Flush()
}

// isTerminal reports whether a stream is shown to a person.
func isTerminal(w io.Writer) bool {
	file, ok := unescaped(w).(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// time formats a time: relative to now on a terminal, in RFC 3339 elsewhere. The zero time is an
// empty text.
func (t terminal) time(at time.Time) string {
	switch {
	case at.IsZero():
		return ""
	case !isTerminal(t.Out):
		return at.UTC().Format(time.RFC3339)
	}
	return relative(at, time.Now())
}

// maybe is time for a time that may be nil.
func (t terminal) maybe(at *time.Time) string {
	if at == nil {
		return ""
	}
	return t.time(*at)
}

// relative formats a time within 30 days of now as a duration, and other times as dates.
func relative(at, now time.Time) string {
	distance := at.Sub(now)
	switch {
	case distance.Abs() > 30*24*time.Hour:
		return at.Local().Format(time.DateOnly)
	case distance.Abs() < time.Second:
		return "now"
	case distance > 0:
		return "in " + duration.HumanDuration(distance)
	}
	return duration.HumanDuration(-distance) + " ago"
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
