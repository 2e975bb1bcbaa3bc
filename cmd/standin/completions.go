package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionsCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help tells how to use what is printed.
func (completionsCommand) Help() string {
	return "Prints a script for the shell; it is made from the commands that this binary has. " +
		"bash: source <(standin completions bash), in ~/.bashrc. " +
		"zsh: standin completions zsh > \"${fpath[1]}/_standin\". " +
		"fish: standin completions fish > ~/.config/fish/completions/standin.fish."
}

// Run prints the script.
func (c *completionsCommand) Run(to terminal, parsed *kong.Context) error {
	places := completionPlaces(parsed.Model.Node, nil)
	var script string
	switch c.Shell {
	case "bash":
		script = bashCompletions(places)
	case "zsh":
		script = zshCompletions(places)
	case "fish":
		script = fishCompletions(places)
	}
	_, err := io.WriteString(to.out, script)
	return err
}

// completionPlace is a place on a command line, after some words that are
// commands, with what may come next.
type completionPlace struct {
	Path   string // the commands before, with spaces between; empty at the beginning
	Words  []completionWord
	Values []completionWord // of positional arguments with a fixed choice
}

type completionWord struct {
	Text    string // a command, or a flag with its dashes
	Help    string
	Flag    bool
	Takes   bool     // a flag that takes a value
	Choices []string // of that value; none when it is free
}

// completionPlaces walks the commands.
func completionPlaces(node *kong.Node, path []string) []completionPlace {
	place := completionPlace{Path: strings.Join(path, " ")}
	for _, group := range node.AllFlags(true) {
		for _, flag := range group {
			word := completionWord{Text: "--" + flag.Name, Help: firstSentence(flag.Help), Flag: true, Takes: !flag.IsBool(), Choices: choicesOf(flag.Value)}
			if !slices.ContainsFunc(place.Words, func(other completionWord) bool { return other.Text == word.Text }) {
				place.Words = append(place.Words, word)
			}
		}
	}
	for _, argument := range node.Positional {
		for _, choice := range choicesOf(argument) {
			place.Values = append(place.Values, completionWord{Text: choice})
		}
	}
	var below []completionPlace
	for _, child := range node.Children {
		if child.Type != kong.CommandNode || child.Hidden {
			continue
		}
		place.Words = append(place.Words, completionWord{Text: child.Name, Help: firstSentence(child.Help)})
		below = append(below, completionPlaces(child, append(slices.Clone(path), child.Name))...)
	}
	return append([]completionPlace{place}, below...)
}

// choicesOf are the values that a flag or an argument may have; none when it is
// free.
func choicesOf(value *kong.Value) []string {
	var choices []string
	for choice := range strings.SplitSeq(value.Enum, ",") {
		if choice = strings.TrimSpace(choice); choice != "" {
			choices = append(choices, choice)
		}
	}
	return choices
}

func firstSentence(help string) string {
	first, _, _ := strings.Cut(strings.ReplaceAll(help, "\n", " "), ". ")
	return strings.TrimSuffix(first, ".")
}

// shellQuoted writes a text for a shell, whatever is in it.
func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// texts are the words alone, of flags or of the others.
func texts(words []completionWord, flags bool) string {
	var list []string
	for _, word := range words {
		if word.Flag == flags {
			list = append(list, word.Text)
		}
	}
	return strings.Join(list, " ")
}

// walker is what bash and zsh share: it finds the commands among the words
// before the cursor, passing over flags and their values.
func walker(places []completionPlace) string {
	var b strings.Builder
	b.WriteString("  case \"$place $word\" in\n")
	for _, place := range places {
		for _, word := range place.Words {
			if !word.Flag {
				fmt.Fprintf(&b, "  %s) place=%s ;;\n", shellQuoted(place.Path+" "+word.Text), shellQuoted(strings.TrimSpace(place.Path+" "+word.Text)))
			}
		}
	}
	b.WriteString("  esac\n")
	return b.String()
}

func bashCompletions(places []completionPlace) string {
	var b strings.Builder
	b.WriteString("# bash completion for standin\n_standin() {\n  local place='' word i current=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\"\n" +
		"  COMPREPLY=()\n  for ((i = 1; i < COMP_CWORD; i++)); do\n  word=\"${COMP_WORDS[i]}\"\n" + walker(places) + "  done\n  case \"$place $before\" in\n")
	for _, place := range places {
		for _, word := range place.Words {
			if len(word.Choices) > 0 {
				fmt.Fprintf(&b, "  %s) COMPREPLY=($(compgen -W %s -- \"$current\")); return ;;\n", shellQuoted(place.Path+" "+word.Text), shellQuoted(strings.Join(word.Choices, " ")))
			} else if word.Takes {
				fmt.Fprintf(&b, "  %s) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n", shellQuoted(place.Path+" "+word.Text))
			}
		}
	}
	b.WriteString("  esac\n  case \"$place\" in\n")
	for _, place := range places {
		fmt.Fprintf(&b, "  %s)\n    if [[ $current == -* ]]; then COMPREPLY=($(compgen -W %s -- \"$current\")); else COMPREPLY=($(compgen -W %s -- \"$current\")); fi ;;\n",
			shellQuoted(place.Path), shellQuoted(texts(place.Words, true)), shellQuoted(strings.TrimSpace(texts(place.Words, false)+" "+texts(place.Values, false))))
	}
	b.WriteString("  esac\n}\ncomplete -F _standin standin\n")
	return b.String()
}

func zshCompletions(places []completionPlace) string {
	var b strings.Builder
	b.WriteString("#compdef standin\n_standin() {\n  local place='' word i before=\"${words[CURRENT-1]}\"\n  local -a found\n" +
		"  for ((i = 2; i < CURRENT; i++)); do\n  word=\"${words[i]}\"\n" + walker(places) + "  done\n  case \"$place $before\" in\n")
	for _, place := range places {
		for _, word := range place.Words {
			if len(word.Choices) > 0 {
				fmt.Fprintf(&b, "  %s) compadd -- %s; return ;;\n", shellQuoted(place.Path+" "+word.Text), strings.Join(quotedAll(word.Choices), " "))
			} else if word.Takes {
				fmt.Fprintf(&b, "  %s) _files; return ;;\n", shellQuoted(place.Path+" "+word.Text))
			}
		}
	}
	b.WriteString("  esac\n  case \"$place\" in\n")
	for _, place := range places {
		fmt.Fprintf(&b, "  %s) found=(", shellQuoted(place.Path))
		for _, word := range append(slices.Clone(place.Words), place.Values...) {
			b.WriteString(" " + shellQuoted(strings.ReplaceAll(word.Text, ":", `\:`)+":"+word.Help))
		}
		b.WriteString(" ) ;;\n")
	}
	b.WriteString("  esac\n  _describe -t commands standin found\n}\n" +
		"if [ \"$funcstack[1]\" = _standin ]; then _standin \"$@\"; else compdef _standin standin; fi\n")
	return b.String()
}

func quotedAll(values []string) []string {
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = shellQuoted(value)
	}
	return quoted
}

func fishCompletions(places []completionPlace) string {
	var b strings.Builder
	b.WriteString("# fish completion for standin\nfunction __standin_at\n  set -l place ''\n  for word in (commandline -opc)[2..-1]\n    switch \"$place $word\"\n")
	for _, place := range places {
		for _, word := range place.Words {
			if !word.Flag {
				fmt.Fprintf(&b, "    case %s\n      set place %s\n", shellQuoted(place.Path+" "+word.Text), shellQuoted(strings.TrimSpace(place.Path+" "+word.Text)))
			}
		}
	}
	b.WriteString("    end\n  end\n  test \"$place\" = \"$argv[1]\"\nend\ncomplete -c standin -f\n")
	for _, place := range places {
		at := "complete -c standin -n " + shellQuoted("__standin_at "+fishQuoted(place.Path))
		for _, word := range append(slices.Clone(place.Words), place.Values...) {
			switch {
			case !word.Flag:
				fmt.Fprintf(&b, "%s -a %s -d %s\n", at, fishQuoted(word.Text), fishQuoted(word.Help))
			case len(word.Choices) > 0:
				fmt.Fprintf(&b, "%s -l %s -x -a %s -d %s\n", at, strings.TrimPrefix(word.Text, "--"), fishQuoted(strings.Join(word.Choices, " ")), fishQuoted(word.Help))
			case word.Takes:
				fmt.Fprintf(&b, "%s -l %s -r -d %s\n", at, strings.TrimPrefix(word.Text, "--"), fishQuoted(word.Help))
			default:
				fmt.Fprintf(&b, "%s -l %s -d %s\n", at, strings.TrimPrefix(word.Text, "--"), fishQuoted(word.Help))
			}
		}
	}
	return b.String()
}

// fishQuoted writes a text for fish, whose single quotes know two escapes.
func fishQuoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}
