package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

const commandLineFile = "testdata/commandline.txt"

// parserOf returns the parser of a command or of all commands.
func parserOf(t *testing.T, grammar any) *kong.Kong {
	t.Helper()
	parser, err := newParser(grammar, kong.Writers(t.Output(), t.Output()), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

// TestCommandLine checks that no command, flag, environment variable, default or help
// text changes by accident. With -update it writes the file again.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, command := range parserOf(t, new(commands)).Model.Leaves(false) {
		fmt.Fprintf(&all, "%s: %s\n", command.FullPath(), command.Help)
		if command.Detail != "" {
			fmt.Fprintf(&all, "%q\n", command.Detail)
		}
		for _, arg := range command.Positional {
			fmt.Fprintln(&all, describeValue("<"+arg.Name+">", arg))
		}
		var flags []string
		for _, flag := range command.Flags {
			name := "--" + flag.Name
			if flag.Short != 0 {
				name += " -" + string(flag.Short)
			}
			flags = append(flags, describeValue(name, flag.Value))
		}
		slices.Sort(flags)
		fmt.Fprintln(&all, strings.Join(flags, "\n"))
	}
	if *updateConfiguration {
		if err := os.WriteFile(commandLineFile, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(commandLineFile)
	if err != nil {
		t.Fatal(err)
	}
	if all.String() != string(want) {
		t.Errorf("the command line differs from %s; if that is intended, run the test with -update", commandLineFile)
	}
}

// describeValue describes a flag or an argument on one line.
func describeValue(name string, value *kong.Value) string {
	text := "  " + name
	if value.Tag.Negatable != "" {
		text += " negatable"
	}
	if value.Required {
		text += " required"
	}
	if len(value.Tag.Envs) > 0 {
		text += " $" + strings.Join(value.Tag.Envs, " $")
	}
	if value.Default != "" {
		text += fmt.Sprintf(" default %q", value.Default)
	}
	if value.Enum != "" {
		text += fmt.Sprintf(" one of %q", value.EnumSlice())
	}
	return text + ": " + value.Help
}

// TestHelp checks that --help of each command prints its help text and those of its
// flags, with their environment variables.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, node := range parserOf(t, new(commands)).Model.Leaves(false) {
		path := strings.Fields(node.Path())
		help := "--help"
		if node.Name == "serve" {
			help = "--help-all"
		}
		code, out, stderr := command(append(path, help)...)
		if code != 0 || stderr != "" {
			t.Errorf("%s --help: exit code %d: %s", path, code, stderr)
		}
		help = strings.Join(strings.Fields(out), " ")
		wanted := append([]string{node.Help, node.Detail}, examples[node.Path()]...)
		for _, flag := range node.Flags {
			wanted = append(wanted, kong.DefaultHelpValueFormatter(flag.Value))
		}
		for _, want := range wanted {
			if !strings.Contains(help, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s --help does not contain %q", path, want)
			}
		}
		for _, flag := range node.Flags {
			if !strings.Contains(help, "--"+flag.Name) && !strings.Contains(help, "--[no-]"+flag.Name) {
				t.Errorf("%s --help does not contain --%s", path, flag.Name)
			}
		}
	}
	_, jobs, _ := command("jobs", "--help")
	if code, same, _ := command("help", "jobs"); code != 0 || same != jobs {
		t.Errorf("standin help jobs differs from standin jobs --help:\n%s", same)
	}
}

// TestExamples checks that each command has examples, and that they parse.
func TestExamples(t *testing.T) {
	t.Parallel()
	parser := parserOf(t, new(commands))
	unused := maps.Clone(examples)
	for _, command := range parser.Model.Leaves(false) {
		if delete(unused, command.Path()); len(examples[command.Path()]) == 0 {
			t.Errorf("%s has no example", command.Path())
		}
		for _, example := range examples[command.Path()] {
			for part := range strings.SplitSeq(example, " | ") {
				_, rest, found := strings.Cut(part, "standin ")
				if _, err := parser.Parse(wordsOf(strings.Trim(restOfLine.ReplaceAllString(rest, ""), ")"))); !found ||
					err != nil && !strings.Contains(err.Error(), "no such file") && !strings.HasPrefix(part, "STANDIN_") {
					t.Errorf("the example %q does not run standin: %v", part, err)
				}
			}
		}
	}
	if len(unused) > 0 {
		t.Errorf("there are examples of commands that do not exist: %v", unused)
	}
}

// TestGroups checks that the help of standin lists the commands in groups, and that of serve only
// the main settings.
func TestGroups(t *testing.T) {
	t.Parallel()
	for args, wanted := range map[string]struct {
		has, lacks []string
	}{
		"": {
			[]string{"Get started:", "Use the API:", "Administer:", "Operate:", "teams ", "--version"}, []string{"jobs create", "consumers"},
		},
		"jobs --help":      {[]string{"Commands:", "jobs create"}, []string{"Use the API:"}},
		"serve --help":     {[]string{"--listen", "--base-url", "--retention", "--help-all"}, []string{"--docker-host", "--prelaunch"}},
		"serve --help-all": {[]string{"Launcher docker:", "--docker-host", "Webhooks:", "Mail:", "--prelaunch"}, nil},
	} {
		code, out, _ := command(strings.Fields(args)...)
		contained := func(text string) bool { return strings.Contains(out, text) }
		if code != 0 || slices.ContainsFunc(wanted.lacks, contained) ||
			slices.ContainsFunc(wanted.has, func(text string) bool { return !contained(text) }) {
			t.Errorf("standin %s: exit code %d, want %q but not %q:\n%s", args, code, wanted.has, wanted.lacks, out)
		}
	}
}
