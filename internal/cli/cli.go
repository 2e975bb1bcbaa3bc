// Package cli builds a command line from structs. The fields of a struct are its
// subcommands, flags and arguments; their tags describe them (see Field). Cobra parses
// the arguments and completes them in shells.
//
// The package reads structs by their fields and uses methods only through interfaces.
// A call of reflect.Value.Method or MethodByName would make the linker keep every
// exported method of the program.
package cli

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Terminal holds the output streams of a command.
type Terminal struct {
	Out, Err io.Writer // results; everything else
	Screen   io.Writer // Err without escaping, for output that moves the cursor
}

// Runner is a command that can be run. A command without subcommands implements it.
type Runner interface {
	Run(ctx context.Context, to Terminal) error
}

// Commands can implement these interfaces too.
type (
	detailer  interface{ Help() string }    // paragraphs after the help text of the tag
	validator interface{ Validate() error } // a check of the parsed flags; its error is a usage error
)

// Subcommand is a command that is not a field.
type Subcommand struct {
	Name, Help string
	Command    any // a pointer to a struct
}

// App is a command line. It parses one list of arguments.
type App struct{ root *Command }

// New returns the command line of a program. command is a pointer to a struct; New sets
// its fields to their defaults. New returns an error if a tag, a type or a default is
// not supported.
func New(name, help string, command any, extra ...Subcommand) (*App, error) {
	root, err := newCommand(name, help, command)
	if err != nil {
		return nil, err
	}
	for _, one := range extra {
		if err := root.add(one, false); err != nil {
			return nil, err
		}
	}
	return &App{root: root}, nil
}

// Parse parses arguments and the environment and returns the selected command with its
// fields set. It returns nil if it printed a help text or completions instead. All
// errors are usage errors.
func (a *App) Parse(args []string, to Terminal) (Runner, error) {
	p := &parser{completes: len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd)}
	root := p.program(a.root)
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	root.SetOut(to.Out)
	root.SetErr(to.Err)
	err := root.Execute()
	return p.selected, err
}

// WriteCompletions writes the script that makes a shell (bash, zsh or fish) ask the
// program for completions.
func (a *App) WriteCompletions(shell string, w io.Writer) error {
	root := new(parser).program(a.root)
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(w, true)
	case "zsh":
		return root.GenZshCompletion(w)
	case "fish":
		return root.GenFishCompletion(w, true)
	}
	return errors.New("no completions for the shell " + shell)
}

// Commands returns the commands that can be run, in the order of the help text.
func (a *App) Commands() []*Command { return a.root.leaves() }
