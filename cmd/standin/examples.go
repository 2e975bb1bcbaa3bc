package main

import (
	_ "embed"
	"strings"
)

//go:embed examples.txt
var exampleText string

// examples are command lines in the help of each command, by its path.
var examples = func() map[string][]string {
	byCommand := make(map[string][]string)
	for section := range strings.SplitSeq(strings.TrimSpace(exampleText), "\n\n") {
		path, lines, _ := strings.Cut(strings.TrimPrefix(section, "# "), "\n")
		byCommand[path] = strings.Split(lines, "\n")
	}
	return byCommand
}()
