package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// root is the folder of the repository.
const root = "../../"

// shells are the languages of blocks with commands, each with the shell that runs
// them, and otherLanguages those of all other blocks.
var (
	shells         = map[string]string{"sh": "bash", "bash": "bash", "console": "bash", "zsh": "zsh", "fish": "fish"}
	otherLanguages = []string{"caddy", "javascript", "json", "nginx", "python", "text", "yaml"}
)

// documentedCommand is a command in a document.
type documentedCommand struct {
	shell, text string
	output      string // what the document shows, "" if it shows nothing
}

var (
	fencedBlock = regexp.MustCompile("(?ms)^ *```(.*?)\n(.*?)^ *```$")
	inlineCode  = regexp.MustCompile("`(standin [a-z][^`]*)`")
)

// documents returns the paths of all documents with commands, relative to root.
func documents(t *testing.T) (paths []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/reference/*.md", tutorials + "*.md", "deploy/*.md"} {
		found, err := filepath.Glob(root + pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d documents, %v", pattern, len(found), err)
		}
		for _, path := range found {
			paths = append(paths, strings.TrimPrefix(path, root))
		}
	}
	return paths
}

// commandsOf returns the commands in the blocks of a document.
func commandsOf(t *testing.T, document string) (found []documentedCommand) {
	t.Helper()
	content, err := os.ReadFile(root + document)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range fencedBlock.FindAllStringSubmatch(string(content), -1) {
		shell, isShell := shells[block[1]]
		switch {
		case !isShell && !slices.Contains(otherLanguages, block[1]):
			t.Errorf("%s: a block of the language %q: name one of the languages, sh for commands or text for their output\n%s", document, block[1],
				block[2])
		case block[1] == "console":
			for _, entry := range strings.Split("\n"+block[2], "\n$ ")[1:] {
				rows := strings.SplitAfter(entry, "\n")
				end := wholeCommand(t, rows)
				found = append(found, documentedCommand{shell, strings.Join(rows[:end], ""), strings.Join(rows[end:], "")})
			}
		case isShell:
			for rows := strings.SplitAfter(block[2], "\n"); len(rows) > 0; {
				end := wholeCommand(t, rows)
				if text := strings.TrimSpace(strings.Join(rows[:end], "")); text != "" {
					found = append(found, documentedCommand{shell: shell, text: text})
				}
				rows = rows[end:]
			}
		}
	}
	return found
}

// wholeCommand returns the number of rows that the first command has. It continues in
// the next row after a backslash, and in quotes.
func wholeCommand(t *testing.T, rows []string) int {
	t.Helper()
	text := ""
	for i, row := range rows {
		text += comment.ReplaceAllString(row, "\n")
		if !strings.HasSuffix(text, "\\\n") && strings.Count(text, "'")%2 == 0 && strings.Count(text, `"`)%2 == 0 {
			return i + 1
		}
	}
	t.Errorf("a command does not end:\n%s", text)
	return len(rows)
}

var comment = regexp.MustCompile(`(?:^|\s)#.*\n`)

// TestDocumentedNames checks the commands in the text, and those that TestDocumentedCommands does
// not run: commands, flags, make targets, files and values of the chart exist.
func TestDocumentedNames(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(root + "Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for document, commands := range commandsNotRun {
		found := commandsOf(t, document)
		for start := range commands {
			if !slices.ContainsFunc(found, func(c documentedCommand) bool { return strings.HasPrefix(c.text, start) }) {
				t.Errorf("%s has no command that starts with %s", document, start)
			}
		}
	}
	parsers, chart := make(map[string]*kong.Kong), chartValues(t)
	for _, document := range documents(t) {
		content, err := os.ReadFile(root + document)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range inlineCode.FindAllStringSubmatch(string(content), -1) {
			checkArguments(t, parsers, document, strings.TrimPrefix(match[1], "standin "))
		}
		for _, command := range commandsOf(t, document) {
			if isRun(document, command.text) {
				continue
			}
			for row := range strings.Lines(strings.ReplaceAll(command.text, "\\\n", " ")) {
				if match := documentedStart.FindStringSubmatch(strings.TrimSpace(row)); match != nil {
					checkArguments(t, parsers, document, match[1])
				}
				for _, target := range makeTarget.FindAllStringSubmatch(row, -1) {
					if !strings.Contains(string(makefile), "\n"+target[1]+":") {
						t.Errorf("%s: make has no target %s", document, target[1])
					}
				}
				for _, file := range repositoryFile.FindAllString(row, -1) {
					if _, err := os.Stat(root + file); err != nil {
						t.Errorf("%s: %v", document, err)
					}
				}
				for _, value := range chartValue.FindAllStringSubmatch(row, -1) {
					var set any = true
					for _, name := range slices.Backward(strings.Split(value[1], ".")) {
						set = map[string]any{name: set}
					}
					checkValues(t, document, set.(map[string]any), chart)
				}
			}
		}
	}
}

var (
	documentedStart = regexp.MustCompile(`(?:^|.* )(?:bin/|\./|-- )?standin ((?:api|backup|bot|canary|completions|consumers|context|doctor|jobs|keys|login|mail|recordings|restore|serve|setup|status|teams|users|version|webhooks)\b.*)$`)
	restOfLine      = regexp.MustCompile(`\s(?:#|\||>|<|&&|2>|;).*$`)
	wrongUse        = regexp.MustCompile(`unknown flag|unexpected|expected one of`)
	makeTarget      = regexp.MustCompile(`\bmake ([a-z-]+)`)
	repositoryFile  = regexp.MustCompile(`\b(?:deploy|internal)/[A-Za-z0-9_-]+[./][A-Za-z0-9_./-]+\b`)
	chartValue      = regexp.MustCompile(`--set ([A-Za-z.]+)=`)
)

// checkArguments parses the arguments of a command, without running it. Brackets mark
// optional arguments. parsers are those of the commands so far.
func checkArguments(t *testing.T, parsers map[string]*kong.Kong, document, arguments string) {
	t.Helper()
	arguments = restOfLine.ReplaceAllString(arguments, "")
	arguments = strings.NewReplacer("[", "", "]", "", "…", "", `"`, "", "'", "").Replace(arguments)
	words := strings.Fields(strings.TrimPrefix(arguments, "help "))
	if parsers[words[0]] == nil {
		parsers[words[0]] = parserOf(t, grammar(words[0]))
	}
	_, err := parsers[words[0]].Parse(words)
	isGroup := len(words) == 1 && err != nil && strings.Contains(err.Error(), "expected one of") // a command of several
	if err != nil && wrongUse.MatchString(err.Error()) && !isGroup {
		t.Errorf("%s: standin %s: %v", document, arguments, err)
	}
}

// chartValues returns the values of the Helm chart.
func chartValues(t *testing.T) (values map[string]any) {
	t.Helper()
	content, err := os.ReadFile(root + "deploy/helm/standin/values.yaml")
	if err == nil {
		err = yaml.Unmarshal(content, &values)
	}
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// checkValues checks that the chart has the values that a document sets.
func checkValues(t *testing.T, document string, set, known map[string]any) {
	t.Helper()
	for name, value := range set {
		standard, exists := known[name]
		if !exists {
			t.Errorf("%s: the chart has no value %s", document, name)
		}
		inner, isMap := value.(map[string]any)
		if standards, _ := standard.(map[string]any); isMap && len(standards) > 0 {
			checkValues(t, document, inner, standards)
		}
	}
}
