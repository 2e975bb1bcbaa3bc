package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var updateConfiguration = flag.Bool("update", false, "write the generated documents again")

const (
	configurationFile = root + "docs/reference/configuration.md"
	commandsFile      = root + "docs/reference/commands.md"
)

// generatedMark begins the generated part of a document. The part before it is written by hand.
const generatedMark = "<!-- Generated; CONTRIBUTING.md says how. -->\n"

// TestConfigurationReference checks that docs/reference/configuration.md lists every setting, with
// its default, as the commands declare it. With -update it writes the file.
func TestConfigurationReference(t *testing.T) {
	t.Parallel()
	compareGenerated(t, configurationFile, configurationReference(parserOf(t, new(commands))))
}

// TestCommandReference checks that docs/reference/commands.md lists every command with an example. With
// -update it writes the file.
func TestCommandReference(t *testing.T) {
	t.Parallel()
	compareGenerated(t, commandsFile, commandReference(parserOf(t, new(commands))))
}

// compareGenerated compares the generated part of a document.
func compareGenerated(t *testing.T, file, want string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	written, got, marked := strings.Cut(string(content), generatedMark)
	if !marked {
		t.Fatalf("%s has no line %s", file, generatedMark)
	}
	if *updateConfiguration {
		if err := os.WriteFile(file, []byte(written+generatedMark+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("%s is not current: run go test ./cmd/standin -run %s -update", file, t.Name())
	}
}

// basics is the section of the settings of serve that belong to no group.
const basics = "Basics"

// configurationReference returns the settings of serve by group, and then those of the other
// commands. A setting of several commands is listed with the first one.
func configurationReference(parser *kong.Kong) string {
	var b strings.Builder
	listed := make(map[string]bool)
	for _, command := range parser.Model.Leaves(false) {
		title := command.FullPath()
		sections := make(map[string][]string)
		var titles []string
		for _, one := range command.Flags {
			if len(one.Envs) == 0 || listed[one.Envs[0]] {
				continue
			}
			listed[one.Envs[0]] = true
			if command.Name == "serve" {
				title = basics
				if one.Group != nil {
					title = strings.TrimSuffix(one.Group.Title, ":")
				}
			}
			if sections[title] == nil {
				titles = append(titles, title)
			}
			sections[title] = append(sections[title], settingRow(one))
		}
		slices.SortStableFunc(titles, func(a, b string) int { return order(a) - order(b) })
		for _, title := range titles {
			slices.Sort(sections[title])
			fmt.Fprintf(&b, "\n## %s\n\n| variable | default | meaning |\n|---|---|---|\n%s", title, strings.Join(sections[title], ""))
		}
	}
	return b.String()
}

// order puts the settings that most readers look for first.
func order(title string) int {
	first := []string{
		basics, "Jobs", "Bots", "Capacity", "Retention", "Webhooks", "Transcripts", "Speech", "Sign-in", "Mail", "API", "Metrics",
	}
	if i := slices.Index(first, title); i >= 0 {
		return i
	}
	return len(first)
}

// settingRow returns the row of a setting. The flag is named only where it cannot be guessed.
func settingRow(one *kong.Flag) string {
	standard := "–"
	if one.Default != "" {
		standard = "`" + one.Default + "`"
	}
	help := strings.ReplaceAll(one.Help, " Prefer the environment variable.", "")
	if values := one.EnumSlice(); one.Enum != "" && !strings.Contains(help, values[0]) {
		help += " One of " + strings.Join(values, ", ") + "."
	}
	if guess := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(one.Envs[0], "STANDIN_"), "_", "-")); guess != one.Name {
		help += " Flag: `--" + one.Name + "`."
	}
	return fmt.Sprintf("| `%s` | %s | %s |\n", one.Envs[0], standard, escapeCell(help))
}

// angles are placeholders in help texts, which Markdown would take for HTML.
var angles = regexp.MustCompile(`<[^>]+>`)

func escapeCell(text string) string {
	text = strings.ReplaceAll(text, "|", `\|`)
	return angles.ReplaceAllStringFunc(text, func(placeholder string) string { return "`" + placeholder + "`" })
}

// commandReference returns the commands by group, each with what it does and its first example.
func commandReference(parser *kong.Kong) string {
	var b strings.Builder
	for _, group := range commandGroups {
		var commands []*kong.Node
		for _, command := range parser.Model.Leaves(false) {
			if top := topCommand(command); top.Group != nil && top.Group.Key == group.Key {
				commands = append(commands, command)
			}
		}
		if len(commands) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n", strings.TrimSuffix(group.Title, ":"))
		for _, command := range commands {
			fmt.Fprintf(&b, "\n### %s\n\n%s\n", command.FullPath(), angles.ReplaceAllString(command.Help, "`$0`"))
			if shown := examples[command.Path()]; len(shown) > 0 {
				fmt.Fprintf(&b, "\n```text\n%s\n```\n", shown[0])
			}
		}
	}
	return b.String()
}

// topCommand returns the command of the first level that a command belongs to.
func topCommand(command *kong.Node) *kong.Node {
	for command.Parent != nil && command.Parent.Type != kong.ApplicationNode {
		command = command.Parent
	}
	return command
}
