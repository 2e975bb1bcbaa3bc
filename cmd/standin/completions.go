package main

import (
	"context"

	"standin/internal/cli"
)

type completionsCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`

	app *cli.App // the command line that this command is part of
}

// Help describes how to install the script.
func (completionsCommand) Help() string {
	return "Prints a script that makes the shell ask this binary for completions. " +
		"bash: install the package bash-completion and add source <(standin completions bash) to ~/.bashrc. " +
		"zsh: add source <(standin completions zsh) to ~/.zshrc, after compinit. " +
		"fish: standin completions fish > ~/.config/fish/completions/standin.fish."
}

// Run prints the script.
func (c *completionsCommand) Run(_ context.Context, to terminal) error {
	return c.app.WriteCompletions(c.Shell, to.Out)
}
