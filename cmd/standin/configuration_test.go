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

var updateConfiguration = flag.Bool("update", false, "write "+configurationFile+" again")

const configurationFile = "../../docs/configuration.md"

// TestConfigurationReference checks that docs/configuration.md lists every setting, with
// its default, as the commands declare it. With -update it writes the file.
func TestConfigurationReference(t *testing.T) {
	t.Parallel()
	want := configurationReference(parserOf(t, new(commands)))
	if *updateConfiguration {
		if err := os.WriteFile(configurationFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(configurationFile)
	if err != nil || string(got) != want {
		t.Errorf("%s is not current (%v): run go test ./cmd/standin -run TestConfigurationReference -update", configurationFile, err)
	}
}

// configurationReference returns the settings by command. A setting of several commands
// is listed with the first one.
func configurationReference(parser *kong.Kong) string {
	var b strings.Builder
	b.WriteString(`# Configuration

Generated from the commands in ` + "`cmd/standin`" + ` by ` + "`go test ./cmd/standin -run TestConfigurationReference -update`" + `.

Each setting is an environment variable and a flag. The flag has precedence. An empty variable is the same as one that is not set. Without a
default, a setting is empty or off. Set secrets by the environment: other users of the machine can read arguments.
`)
	listed := make(map[string]bool)
	for _, command := range parser.Model.Leaves(false) {
		rows := settingRows(command, listed)
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| variable | flag | default | meaning |\n|---|---|---|---|\n", command.FullPath(), command.Help)
		b.WriteString(strings.Join(rows, ""))
	}
	return b.String()
}

// settingRows returns the rows of the settings that are not listed yet.
func settingRows(command *kong.Node, listed map[string]bool) []string {
	var rows []string
	for _, one := range command.Flags {
		if len(one.Envs) == 0 || listed[one.Envs[0]] {
			continue
		}
		listed[one.Envs[0]] = true
		standard := "–"
		if one.Default != "" {
			standard = "`" + one.Default + "`"
		}
		help := one.Help
		if values := one.EnumSlice(); one.Enum != "" && !strings.Contains(help, values[0]) {
			help += " One of " + strings.Join(values, ", ") + "."
		}
		rows = append(rows, fmt.Sprintf("| `%s` | `--%s` | %s | %s |\n", one.Envs[0], one.Name, standard, escapeCell(help)))
	}
	slices.Sort(rows)
	return rows
}

// angles are placeholders in help texts, which Markdown would take for HTML.
var angles = regexp.MustCompile(`<[^>]+>`)

func escapeCell(text string) string {
	text = strings.ReplaceAll(text, "|", `\|`)
	return angles.ReplaceAllStringFunc(text, func(placeholder string) string { return "`" + placeholder + "`" })
}
