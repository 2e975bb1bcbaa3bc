package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// parser builds Cobra's commands, which parse the arguments.
type parser struct {
	completes bool   // a shell asks for completions
	selected  Runner // nil before the end, and after help and completions
}

// program returns the Cobra command of a whole command line.
func (p *parser) program(root *Command) *cobra.Command {
	built := p.build(root, root.Path)
	built.CompletionOptions.DisableDefaultCmd = true // App.WriteCompletions writes the scripts
	built.SetHelpCommand(helpCommand())
	return built
}

// helpCommand returns the command help, which prints the help of another command.
func helpCommand() *cobra.Command {
	return &cobra.Command{Use: "help", Hidden: true, RunE: func(this *cobra.Command, args []string) error {
		found, rest, err := this.Root().Find(args)
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("unknown command %s", strings.Join(args, " "))
		}
		if err != nil {
			return err
		}
		return found.Help()
	}}
}

// build returns the Cobra command of a command and of those below it.
func (p *parser) build(c *Command, name string) *cobra.Command {
	built := &cobra.Command{Use: name, Short: c.Help, SilenceErrors: true, SilenceUsage: true, SuggestionsMinimumDistance: 2, Args: cobra.ArbitraryArgs}
	built.SetHelpFunc(func(this *cobra.Command, _ []string) { c.writeHelp(this.OutOrStdout()) })
	built.Flags().BoolP("help", "h", false, "Show this help.")
	runs := c
	if len(c.commands) > 0 {
		runs = c.standard
	}
	if runs != nil {
		p.register(runs, built)
	}
	built.RunE = func(this *cobra.Command, args []string) error {
		if runs == nil || len(c.commands) > 0 && len(args) > 0 {
			return c.unknown(this, args)
		}
		if err := runs.finish(args); err != nil {
			return err
		}
		p.selected = runs.target.(Runner)
		return nil
	}
	for _, child := range c.commands {
		built.AddCommand(p.build(child, child.Path[len(c.Path)+1:]))
	}
	return built
}

// unknown returns the error for a group without the name of one of its commands.
func (c *Command) unknown(this *cobra.Command, args []string) error {
	if len(args) > 0 {
		text := fmt.Sprintf("unknown command %q for %q", args[0], c.Path)
		if similar := this.SuggestionsFor(args[0]); len(similar) > 0 {
			text += ", did you mean " + strings.Join(similar, " or ") + "?"
		}
		return errors.New(text)
	}
	names := make([]string, len(c.commands))
	for i, child := range c.commands {
		names[i] = child.Path[len(c.Path)+1:]
	}
	return fmt.Errorf("missing command after %q: %s", c.Path, strings.Join(names, ", "))
}

// finish sets the arguments, and the flags that have an environment variable and are
// not in the arguments, and checks all values.
func (c *Command) finish(args []string) error {
	for i, f := range c.args {
		if i < len(args) {
			if err := f.Set(args[i]); err != nil {
				return fmt.Errorf("%s: %w", f.label(), err)
			}
		} else if f.required {
			return fmt.Errorf("missing argument %s", f.label())
		}
	}
	if len(args) > len(c.args) {
		return fmt.Errorf("unexpected argument %s", args[len(c.args)])
	}
	for _, f := range c.Flags {
		if text, ok := os.LookupEnv(f.Env); ok && f.Env != "" && !f.set {
			if err := f.Set(text); err != nil {
				return fmt.Errorf("%s: %w", f.Env, err)
			}
		}
	}
	return c.check()
}

// check checks what depends on several flags or on files.
func (c *Command) check() error {
	for _, f := range slices.Concat(c.args, c.Flags) {
		if f.required && !f.set {
			return fmt.Errorf("missing flag %s%s", f.label(), f.orVariable())
		}
		if err := f.checkPath(); err != nil {
			return fmt.Errorf("%s: %w", f.label(), err)
		}
		for _, other := range c.Flags {
			if f.set && !other.set && f.and != "" && f.and == other.and {
				return fmt.Errorf("%s and %s must be used together", f.label(), other.label())
			}
		}
	}
	if v, ok := c.target.(validator); ok {
		return v.Validate()
	}
	return nil
}

// flagValue makes a field a flag of Cobra.
type flagValue struct {
	*Field
	negates bool // the flag is --no-NAME
}

func (v flagValue) Set(text string) error {
	err := v.Field.Set(text)
	if err == nil && v.negates {
		v.target.SetBool(!v.target.Bool())
	}
	return err
}

// String returns nothing: help texts show the default.
func (flagValue) String() string { return "" }

// Type tells Cobra which flags to offer again after their first use.
func (v flagValue) Type() string {
	if v.isSlice() {
		return "stringArray"
	}
	return v.target.Kind().String()
}

// register adds the flags of a command, and completions of flags and arguments.
func (p *parser) register(c *Command, built *cobra.Command) {
	for _, f := range c.Flags {
		names := map[string]flagValue{f.Name: {Field: f}}
		if f.negatable {
			names["no-"+f.Name] = flagValue{Field: f, negates: true}
		}
		for name, value := range names {
			flag := built.Flags().VarPF(value, name, f.short, f.Help)
			if f.isBool() {
				flag.NoOptDefVal = "true"
			}
		}
		if p.completes { // Cobra keeps the functions of all flags forever
			_ = built.RegisterFlagCompletionFunc(f.Name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return f.completions() }) // the flag exists
		}
	}
	built.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(c.args) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.args[len(args)].completions()
	}
}

// completions returns the permitted values. For others, shells complete the names of
// files if the field is a path.
func (f *Field) completions() ([]string, cobra.ShellCompDirective) {
	isPath := f.kind != "" || f.placeholder == "DIR" || f.placeholder == "FILE" || f.Name == "dir" || strings.HasSuffix(f.Name, "-dir")
	if isPath {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return f.Enum, cobra.ShellCompDirectiveNoFileComp
}
