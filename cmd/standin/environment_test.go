package main

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/alecthomas/kong"
)

// TestEmptyEnvironment parses the command of each setting with all variables empty.
// Everything must be as if none were set.
func TestEmptyEnvironment(t *testing.T) { // not parallel: it changes the environment
	names := make(map[string]*kong.Node) // the first command of each variable
	for _, command := range parserOf(t, new(commands)).Model.Leaves(false) {
		for _, flag := range command.Flags {
			for _, name := range flag.Envs {
				if names[name] == nil {
					names[name] = command
				}
				t.Setenv(name, "") // restores it after the test
				if err := os.Unsetenv(name); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if len(names) < 100 {
		t.Fatalf("only %d variables: %v", len(names), names)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	parse := func(command *kong.Node) any {
		words := commandPath(command)
		parsed := grammar(words[0])
		if _, err := parserOf(t, parsed).Parse(append(words, requiredArguments(command, file)...)); err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	unset := make(map[*kong.Node]any)
	for _, command := range names {
		if unset[command] == nil {
			unset[command] = parse(command)
		}
	}
	for name := range names {
		t.Setenv(name, "")
	}
	for command, want := range unset {
		if got := parse(command); !reflect.DeepEqual(got, want) {
			t.Errorf("%s with empty variables:\n%+v\nwant\n%+v", command.Path(), got, want)
		}
	}
}

// commandPath returns the words that select a command.
func commandPath(command *kong.Node) []string {
	var words []string
	for ; command.Parent != nil; command = command.Parent {
		words = append([]string{command.Name}, words...)
	}
	return words
}

// requiredArguments returns values for what a command cannot do without.
func requiredArguments(command *kong.Node, file string) []string {
	values := map[string]string{"int64": "1"}
	var arguments []string
	add := func(prefix string, value *kong.Value) {
		if value.Required {
			text, ok := values[value.Target.Type().String()]
			if !ok {
				text = file
			}
			arguments = append(arguments, prefix+text)
		}
	}
	for _, flag := range command.Flags {
		add("--"+flag.Name+"=", flag.Value)
	}
	for _, argument := range command.Positional {
		add("", argument)
	}
	return arguments
}
