package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
)

type manualCommand struct {
	Dir string `arg:"" help:"Folder for the pages. The command creates it if it does not exist."`
}

// Run writes the pages.
func (c *manualCommand) Run(parsed *kong.Context) error {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil { //nolint:gosec // everyone may read manual pages
		return err
	}
	write := func(name string, page func(io.Writer)) error {
		var text strings.Builder
		page(&text)
		return os.WriteFile(filepath.Join(c.Dir, name+".1"), []byte(text.String()), 0o644) //nolint:gosec // as the folder
	}
	if err := write("standin", func(w io.Writer) { writeOverview(w, parsed.Model) }); err != nil {
		return err
	}
	for _, command := range parsed.Model.Leaves(true) {
		if err := write(pageName(command), func(w io.Writer) { writePage(w, command) }); err != nil {
			return err
		}
	}
	return nil
}

// pageName returns the name of the manual page of a command.
func pageName(command *kong.Node) string {
	return "standin-" + strings.ReplaceAll(command.Path(), " ", "-")
}

// writeOverview writes the page of the program, which lists the commands.
func writeOverview(w io.Writer, model *kong.Application) {
	header(w, "standin", "record online meetings with a bot")
	section(w, "SYNOPSIS")
	fmt.Fprintf(w, ".B standin\n%s\n", roff("<command> [flags]"))
	section(w, "DESCRIPTION")
	fmt.Fprintln(w, roff(model.Help))
	section(w, "COMMANDS")
	for _, group := range commandGroups {
		titled := false
		for _, command := range model.Leaves(true) {
			if found := command.ClosestGroup(); found == nil || found.Key != group.Key {
				continue
			}
			if !titled {
				titled = true
				fmt.Fprintf(w, ".SS %s\n", roff(strings.TrimSuffix(group.Title, ":")))
			}
			fmt.Fprintf(w, ".TP\n.BR %s (1)\n%s\n", roff(pageName(command)), roff(command.Help))
		}
	}
	section(w, "ENVIRONMENT")
	fmt.Fprintln(w,
		roff("Each setting is a flag and an environment variable, whose name begins with STANDIN_. The pages of the commands name both."))
	section(w, "FILES")
	for _, file := range [][2]string{
		{packagedSettings, "Settings of the service, which commands on its machine read too."},
		{"./data", "Data of a service without other settings. That of the packaged service is in /var/lib/standin/data."},
		{"~/.config/standin", "The services that you signed in to."},
	} {
		fmt.Fprintf(w, ".TP\n.I %s\n%s\n", roff(file[0]), roff(file[1]))
	}
	section(w, "EXIT STATUS")
	for code, meaning := range []string{
		"Success.",
		"The command failed.",
		"Usage error.",
		"The job failed or was cancelled, or a webhook signature did not verify.",
		"Not signed in to this service, or the key was rejected.",
		"No such job or recording, or it belongs to another team.",
		"The service does not answer.",
	} {
		fmt.Fprintf(w, ".TP\n.B %d\n%s\n", code, roff(meaning))
	}
}

// writePage writes the page of a command.
func writePage(w io.Writer, command *kong.Node) {
	name := pageName(command)
	header(w, name, strings.TrimSuffix(command.Help, "."))
	section(w, "SYNOPSIS")
	fmt.Fprintf(w, ".B standin\n%s\n", roff(command.Summary()))
	section(w, "DESCRIPTION")
	fmt.Fprintln(w, roff(strings.TrimSpace(command.Help+"\n"+command.Detail)))
	if len(command.Positional) > 0 {
		section(w, "ARGUMENTS")
		for _, arg := range command.Positional {
			fmt.Fprintf(w, ".TP\n.I %s\n%s\n", roff(arg.Summary()), roff(kong.DefaultHelpValueFormatter(arg)))
		}
	}
	section(w, "OPTIONS")
	group := ""
	for _, flags := range command.AllFlags(true) {
		for _, flag := range flags {
			title := "Flags"
			if flag.Group != nil {
				title = strings.TrimSuffix(flag.Group.Title, ":")
			}
			if title != group {
				group = title
				fmt.Fprintf(w, ".SS %s\n", roff(title))
			}
			fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(flagName(flag)), roff(kong.DefaultHelpValueFormatter(flag.Value)))
		}
	}
	if shown := examples[command.Path()]; len(shown) > 0 {
		section(w, "EXAMPLES")
		fmt.Fprintf(w, ".nf\n%s\n.fi\n", roff(strings.Join(shown, "\n")))
	}
	section(w, "EXIT STATUS")
	fmt.Fprintf(w, "See\n.BR standin (1).\n")
	section(w, "SEE ALSO")
	fmt.Fprintln(w, ".BR standin (1)")
}

// flagName returns a flag as it is typed.
func flagName(flag *kong.Flag) string {
	name := "--" + flag.Name
	if flag.Tag.Negatable != "" {
		name = "--[no-]" + flag.Name
	}
	if flag.Short != 0 {
		name = "-" + string(flag.Short) + ", " + name
	}
	if !flag.IsBool() && !flag.IsCounter() {
		name += "=" + flag.FormatPlaceHolder()
	}
	return name
}

// header writes the first lines of a page. They have no date, so that the same program writes
// the same pages.
func header(w io.Writer, name, purpose string) {
	fmt.Fprintf(w, ".TH %s 1 \"\" Standin \"Standin manual\"\n", roff(strings.ToUpper(name)))
	section(w, "NAME")
	fmt.Fprintf(w, "%s \\- %s\n", roff(name), roff(purpose))
}

func section(w io.Writer, title string) { fmt.Fprintf(w, ".SH %s\n", title) }

// roff escapes a text for man(7). A line must not begin with a control character.
func roff(text string) string {
	rows := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text), "\n")
	for i, row := range rows {
		if strings.HasPrefix(row, ".") || strings.HasPrefix(row, "'") {
			rows[i] = `\&` + row
		}
	}
	return strings.Join(rows, "\n")
}
