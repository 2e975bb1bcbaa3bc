package main

import (
	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
)

type completionsCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help describes how to install the script.
func (completionsCommand) Help() string {
	return "Prints a script that makes the shell ask this binary for completions. " +
		"bash: add source <(standin completions bash) to ~/.bashrc. " +
		"zsh: add source <(standin completions zsh) to ~/.zshrc, after compinit. " +
		"fish: standin completions fish > ~/.config/fish/completions/standin.fish."
}

// Run prints the script.
func (c *completionsCommand) Run(parsed *kong.Context) error {
	return (&kongcompletion.Completion{Shell: c.Shell, Code: true}).Run(parsed)
}
