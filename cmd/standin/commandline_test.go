package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"standin/internal/cli"
)

const commandLineFile = "testdata/commandline.txt"

// TestCommandLine checks that no command, flag, environment variable, default or help
// text changes by accident. With -update it writes the file again.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	app, err := cli.New("standin", "", new(commands))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, command := range app.Commands() {
		fmt.Fprintf(&all, "%s: %s\n", command.Path, command.Help)
		if detail := command.Detail(); detail != "" {
			fmt.Fprintf(&all, "%q\n", detail)
		}
		for _, arg := range command.Args() {
			fmt.Fprintln(&all, describeValue("<"+arg.Name+">", arg))
		}
		var flags []string
		for _, flag := range command.Flags {
			flags = append(flags, describeValue("--"+flag.Name, flag))
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
func describeValue(name string, value *cli.Field) string {
	text := "  " + name
	if value.Short() != "" {
		text += " -" + value.Short()
	}
	if value.IsNegatable() {
		text += " negatable"
	}
	if value.IsRequired() {
		text += " required"
	}
	if value.Env != "" {
		text += " $" + value.Env
	}
	if value.Default != "" {
		text += fmt.Sprintf(" default %q", value.Default)
	}
	if value.Enum != nil {
		text += fmt.Sprintf(" one of %q", value.Enum)
	}
	return text + ": " + value.Help
}
