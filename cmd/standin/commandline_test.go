package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"regexp"
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
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	for _, command := range parserOf(t, new(commands)).Model.Leaves(false) {
		var out, stderr bytes.Buffer
		path := strings.Fields(command.Path())
		help := "--help"
		if command.Name == "serve" {
			help = "--help-all"
		}
		if code := run(append(path, help), &out, &stderr); code != 0 || stderr.Len() > 0 {
			t.Errorf("%s --help: exit code %d: %s", path, code, stderr.String())
		}
		help = strings.Join(strings.Fields(out.String()), " ")
		wanted := append([]string{command.Help, command.Detail}, examples[command.Path()]...)
		for _, flag := range command.Flags {
			wanted = append(wanted, kong.DefaultHelpValueFormatter(flag.Value))
		}
		for _, want := range wanted {
			if !strings.Contains(help, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s --help does not contain %q", path, want)
			}
		}
		for _, flag := range command.Flags {
			if !strings.Contains(help, "--"+flag.Name) && !strings.Contains(help, "--[no-]"+flag.Name) {
				t.Errorf("%s --help does not contain --%s", path, flag.Name)
			}
		}
	}
	var long, short bytes.Buffer
	if code := run([]string{"jobs", "--help"}, &long, t.Output()) + run([]string{"help", "jobs"}, &short, t.Output()); code != 0 || long.String() != short.String() {
		t.Errorf("standin help jobs differs from standin jobs --help:\n%s", short.String())
	}
}

// TestExamples checks that each command has examples, and that they parse.
func TestExamples(t *testing.T) {
	t.Parallel()
	parser, words := parserOf(t, new(commands)), regexp.MustCompile(`'[^']*'|[^\s']+`)
	unused := maps.Clone(examples)
	for _, command := range parser.Model.Leaves(false) {
		if delete(unused, command.Path()); len(examples[command.Path()]) == 0 {
			t.Errorf("%s has no example", command.Path())
		}
		for _, example := range examples[command.Path()] {
			for part := range strings.SplitSeq(example, " | ") {
				_, rest, found := strings.Cut(part, "standin ")
				var arguments []string
				for _, word := range words.FindAllString(restOfLine.ReplaceAllString(rest, ""), -1) {
					arguments = append(arguments, strings.Trim(word, "')"))
				}
				if _, err := parser.Parse(arguments); !found || err != nil && !strings.Contains(err.Error(), "no such file") && !strings.HasPrefix(part, "STANDIN_") {
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
		"":                 {[]string{"Get started:", "Use the API:", "Administer:", "Operate:", "teams ", "--version"}, []string{"jobs create", "consumers"}},
		"jobs --help":      {[]string{"Commands:", "jobs create"}, []string{"Use the API:"}},
		"serve --help":     {[]string{"--listen", "--base-url", "--retention", "--help-all"}, []string{"--docker-image", "--lease"}},
		"serve --help-all": {[]string{"Launcher docker:", "--docker-image", "Webhooks:", "Mail:", "--lease"}, nil},
	} {
		var out bytes.Buffer
		if code := run(strings.Fields(args), &out, t.Output()); code != 0 {
			t.Errorf("standin %s: exit code %d", args, code)
		}
		for _, text := range wanted.has {
			if !strings.Contains(out.String(), text) {
				t.Errorf("standin %s does not print %q:\n%s", args, text, out.String())
			}
		}
		for _, text := range wanted.lacks {
			if strings.Contains(out.String(), text) {
				t.Errorf("standin %s prints %q", args, text)
			}
		}
	}
}

// TestUsageErrors checks what is printed about command lines that cannot be parsed.
func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"job":                   "standin: unknown command \"job\"\nDid you mean jobs?\nRun standin --help for its usage.\n",
		"jobs lst":              "standin: unknown command \"lst\"\nDid you mean list?\nRun standin jobs --help for its usage.\n",
		"jobs waltz":            "standin: unknown command \"waltz\"\nRun standin jobs --help for its usage.\n",
		"jobs list --sttus x":   "standin: unknown flag --sttus\nDid you mean --status?\nRun standin jobs list --help for its usage.\n",
		"jobs create":           "standin: missing argument \"<meeting-url>\"\nRun standin jobs create --help for its usage.\n",
		"mail test missing.eml": "missing.eml: no such file or directory\nRun standin mail test --help for its usage.\n",
		"jobs create https://meet.google.com/abc-defg-hij --join-at soon": "--join-at: \"soon\" is not a time; write 10:00, tomorrow 10:00, +15m or 2026-11-26T10:00\nRun standin jobs create --help for its usage.\n",
	} {
		var out, stderr bytes.Buffer
		if code := run(strings.Fields(args), &out, &stderr); code != exitUsage || !strings.HasSuffix(stderr.String(), want) {
			t.Errorf("standin %s: exit code %d, %s%s\nwant %s", args, code, out.String(), stderr.String(), want)
		}
	}
}
