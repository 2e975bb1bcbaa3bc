package main

import (
	_ "embed"
	"strings"
)

//go:embed details.txt
var detailText string

//go:embed examples.txt
var exampleText string

// details are the second paragraph of the help of commands, and examples are command lines in it, by
// the path of the command.
var details, examples = sections(detailText), sections(exampleText)

// sections returns the lines of each section of a file by its title.
func sections(file string) map[string][]string {
	byTitle := make(map[string][]string)
	for section := range strings.SplitSeq(strings.TrimSpace(file), "\n\n") {
		title, lines, _ := strings.Cut(strings.TrimPrefix(section, "# "), "\n")
		byTitle[title] = strings.Split(lines, "\n")
	}
	return byTitle
}
