package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var (
	fencedBlock     = regexp.MustCompile("(?ms)^```(?:sh|console)?\n(.*?)^```")
	documentedStart = regexp.MustCompile(`^(?:\$ )?(?:[A-Z_]+=\S* )*(?:sudo )?(?:bin/|\./)?standin (.*)$`)
	restOfLine      = regexp.MustCompile(`\s(?:#|\||>|<|&&|2>|;).*$`)
	wrongUse        = regexp.MustCompile(`unknown flag|unexpected argument|unknown command|expected one of`)
)

// TestDocumentedCommands checks that the commands and flags in the documentation exist.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	checked := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range fencedBlock.FindAllStringSubmatch(string(text), -1) {
			for row := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
				match := documentedStart.FindStringSubmatch(strings.TrimSpace(row))
				if match == nil {
					continue
				}
				checked++
				if err := parseDocumented(t, match[1]); err != nil && wrongUse.MatchString(err.Error()) {
					t.Errorf("%s: standin %s: %v", page, match[1], err)
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d commands were checked", checked)
	}
}

// parseDocumented parses the arguments of a command, without running it. Brackets mark
// optional arguments.
func parseDocumented(t *testing.T, arguments string) error {
	t.Helper()
	arguments = restOfLine.ReplaceAllString(arguments, "")
	arguments = strings.NewReplacer("[", "", "]", "", "…", "", `"`, "", "'", "").Replace(arguments)
	var cli commands
	parser, err := kong.New(&cli, kong.Name("standin"), kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(strings.Fields(arguments))
	return err
}
