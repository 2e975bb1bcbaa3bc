package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// mainSettings are the settings of serve that its help shows; --help-all shows all.
var mainSettings = []string{
	"listen", "base-url", "data-dir", "database-url", "storage-url", "launcher", "max-bots", "browser", "retention",
	"captions", "chat", "transcriber-url", "mail", "oidc-issuer", "log-level",
}

// helpAll is the flag --help-all.
type helpAll bool

// BeforeReset prints the help with all settings and ends the command.
func (helpAll) BeforeReset(ctx *kong.Context) error {
	if err := ctx.PrintUsage(false); err != nil {
		return err
	}
	ctx.Exit(0)
	return nil
}

// printHelp prints the help of a command, and its examples. It shows only the main settings of
// serve without --help-all.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	command := ctx.Selected()
	if command == nil {
		return kong.DefaultHelpPrinter(options, ctx)
	}
	for _, child := range command.Children {
		child.Group = &commandGroups[len(commandGroups)-1]
	}
	if command.Name == "serve" && !slices.Contains(ctx.Args, "--help-all") {
		for _, flag := range command.Flags {
			flag.Hidden = !slices.Contains(append([]string{"help", "help-all"}, mainSettings...), flag.Name)
		}
	}
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	shown := examples[command.Path()]
	if len(shown) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(ctx.Stdout, "\nExamples:\n  %s\n", strings.Join(shown, "\n  "))
	return err
}

// meantNames are commands that people guess, which only share their meaning with those that exist.
var meantNames = map[string]string{"demo": "practice"}

// parserPlaceholder is the name of an argument at the start of an error of the parser.
var parserPlaceholder = regexp.MustCompile(`^<[a-z-]+>: (?:stat )?`)

// refusedChoice is the parser's message about a value that is not in a list.
var refusedChoice = regexp.MustCompile(`^(\S+) must be one of (\S+) but got "(.*)"$`)

// printUsageError prints why a command line cannot be parsed, what was probably meant, and where
// the help is.
func printUsageError(to io.Writer, err error) {
	path, known := "standin", []string{}
	var node *kong.Node
	if parse := (*kong.ParseError)(nil); errors.As(err, &parse) && parse.Context != nil {
		node = parse.Context.Model.Node
		if selected := parse.Context.Selected(); selected != nil {
			node, path = selected, "standin "+selected.Path()
		}
	}
	message, _, _ := strings.Cut(err.Error(), ", did you mean")
	message = parserPlaceholder.ReplaceAllString(message, "")
	unknown := ""
	if choice := refusedChoice.FindStringSubmatch(message); choice != nil {
		known = strings.Split(strings.Trim(choice[2], `",`), `","`) // without an empty one, which stands for the default
		unknown, message = choice[3], fmt.Sprintf("%s must be one of %s, not %q", choice[1], strings.Join(known, ", "), choice[3])
	}
	switch rest, isCommand := strings.CutPrefix(message, "unexpected argument "); {
	case isCommand && node != nil && len(node.Children) > 0:
		unknown, message = rest, fmt.Sprintf("unknown command %q", rest)
		for _, child := range node.Children {
			known = append(known, child.Name)
		}
	case strings.HasPrefix(message, "unknown flag --") && node != nil:
		unknown = strings.TrimPrefix(message, "unknown flag ")
		for _, group := range node.AllFlags(true) {
			for _, flag := range group {
				known = append(known, "--"+flag.Name)
			}
		}
	case strings.HasPrefix(message, `expected "<`):
		message = "missing argument" + strings.TrimPrefix(message, "expected")
	case strings.HasPrefix(message, "expected one of "):
		message = "missing command"
	}
	fmt.Fprintln(to, "standin:", message)
	if meant := cmp.Or(meantNames[unknown], closest(unknown, known, 2)); unknown != "" && meant != "" {
		fmt.Fprintf(to, "Did you mean %s?\n", meant)
	}
	fmt.Fprintf(to, "Run %s --help for its usage.\n", path)
}
