package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Columns of help texts.
const (
	defaultWidth = 80 // unless the environment variable COLUMNS is set
	minWidth     = 40
	indent       = 2
	gap          = 4 // between a flag and its meaning
)

// helpWriter writes a help text with lines of limited width.
type helpWriter struct {
	strings.Builder
	width int
}

// writeHelp writes the help text of a command.
func (c *Command) writeHelp(to io.Writer) {
	w := &helpWriter{width: defaultWidth}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns >= minWidth {
		w.width = columns
	}
	fmt.Fprintf(w, "Usage: %s\n", c.usage())
	w.paragraphs(c.Help)
	if d, ok := c.target.(detailer); ok {
		w.paragraphs(d.Help())
	}
	if len(c.args) > 0 {
		w.WriteString("\nArguments:\n")
		w.table(c.args)
	}
	w.flags(c)
	if len(c.commands) > 0 {
		w.WriteString("\nCommands:\n")
		for i, leaf := range c.leaves() {
			if i > 0 {
				w.WriteString("\n")
			}
			_, usage, _ := strings.Cut(leaf.usage(), " ")
			fmt.Fprintf(w, "  %s\n", usage)
			w.wrapped(leaf.Help, 2*indent)
		}
		name, _, _ := strings.Cut(c.Path, " ")
		fmt.Fprintf(w, "\nRun \"%s COMMAND --help\" for the flags of a command.\n", name)
	}
	fmt.Fprint(to, w.String())
}

// usage returns the usage line.
func (c *Command) usage() string {
	words := []string{c.Path}
	if len(c.commands) > 0 {
		return c.Path + " COMMAND"
	}
	optional := false
	for _, f := range c.Flags {
		if f.required {
			words = append(words, f.usage())
		}
		optional = optional || !f.required
	}
	for _, f := range c.args {
		words = append(words, f.usage())
	}
	if optional {
		words = append(words, "[flags]")
	}
	return strings.Join(words, " ")
}

// helpFlag is a flag of all commands.
var helpFlag = &Field{Name: "help", short: "h", Help: "Show this help.", group: "Flags:", target: reflect.ValueOf(false)}

// flags writes the flags by group, first those without one.
func (w *helpWriter) flags(c *Command) {
	all := []*Field{helpFlag}
	if len(c.commands) == 0 {
		all = append(all, c.Flags...)
	}
	groups := []string{}
	for _, f := range all {
		if !slices.Contains(groups, f.title()) {
			groups = append(groups, f.title())
		}
	}
	for _, group := range groups {
		fmt.Fprintf(w, "\n%s\n", group)
		w.table(slices.DeleteFunc(slices.Clone(all), func(f *Field) bool { return f.title() != group }))
	}
}

// title returns the line above the flag in help texts.
func (f *Field) title() string { return cmp.Or(f.group, helpFlag.group) }

// table writes fields and their meanings in two columns. If one of them has a letter,
// it leaves room for letters in all rows.
func (w *helpWriter) table(fields []*Field) {
	short := slices.ContainsFunc(fields, func(f *Field) bool { return f.short != "" })
	names, left := make([]string, len(fields)), 0
	for i, f := range fields {
		names[i] = f.usage()
		if f.short != "" {
			names[i] = "-" + f.short + ", " + names[i]
		} else if short {
			names[i] = "    " + names[i]
		}
		if width := utf8.RuneCountInString(names[i]); width < w.width*3/8 {
			left = max(left, width)
		}
	}
	for i, f := range fields {
		rows := wrap(f.meaning(), w.width-indent-left-gap)
		if utf8.RuneCountInString(names[i]) > left {
			fmt.Fprintf(w, "%*s%s\n", indent, "", names[i])
			names[i] = ""
		}
		for _, row := range rows {
			fmt.Fprintf(w, "%*s%-*s%*s%s\n", indent, "", left, names[i], gap, "", row)
			names[i] = ""
		}
	}
}

// meaning returns the help text of a field with its environment variable.
func (f *Field) meaning() string {
	if f.Env == "" {
		return f.Help
	}
	return strings.TrimSuffix(f.Help, ".") + " ($" + f.Env + ")."
}

// paragraphs writes paragraphs, which empty lines separate.
func (w *helpWriter) paragraphs(text string) {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if paragraph != "" {
			w.WriteString("\n")
			w.wrapped(paragraph, 0)
		}
	}
}

// wrapped writes a paragraph with an indent.
func (w *helpWriter) wrapped(text string, indent int) {
	for _, row := range wrap(text, w.width-indent) {
		fmt.Fprintf(w, "%*s%s\n", indent, "", row)
	}
}

// wrap divides a text into lines of at most width characters. A longer word has a line
// of its own.
func wrap(text string, width int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}
