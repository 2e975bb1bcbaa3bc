package main

import "fmt"

// completionScripts make a shell ask this program for completions. It answers when
// the variable COMP_LINE is set.
var completionScripts = map[string]string{
	"bash": "complete -o default -o bashdefault -C standin standin",
	"zsh": `autoload -U +X bashcompinit && bashcompinit
complete -o default -o bashdefault -C standin standin`,
	"fish": `function __complete_standin
    set -lx COMP_LINE (commandline -cp)
    test -z (commandline -ct)
    and set COMP_LINE "$COMP_LINE "
    standin
end
complete -c standin -a "(__complete_standin)"`,
}

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
func (c *completionsCommand) Run(to terminal) error {
	_, err := fmt.Fprintln(to.Out, completionScripts[c.Shell])
	return err
}
