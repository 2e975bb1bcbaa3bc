package notetaker

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// embedded is the built-in list.
//
//go:embed notetakers.yaml
var embedded []byte

// File is the path of an operator's list in the folder of STANDIN_PROFILES. It is
// in a subfolder because package meeting reads every *.yaml file in the folder
// itself as a page profile.
const File = "notetakers/notetakers.yaml"

const (
	// maxFileBytes limits the size of a data file.
	maxFileBytes = 256 << 10
	// maxPatterns limits the patterns that every name is compared with.
	maxPatterns = 2000
	// minLetters is the minimum length of a pattern: a shorter one would match
	// people's names.
	minLetters = 3
)

// Text returns the file of the built-in list.
func Text() []byte { return embedded }

// Embedded returns the built-in list.
func Embedded() (*List, error) { return parse("embedded/notetakers.yaml", embedded) }

// Load returns the operator's list, if the folder of STANDIN_PROFILES holds a
// File, and the built-in list otherwise. An empty folder name means that there is
// none.
func Load(profilesFolder string) (*List, error) {
	if profilesFolder == "" {
		return Embedded()
	}
	path := filepath.Join(profilesFolder, filepath.FromSlash(File))
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Embedded()
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of notetakers: %w", err)
	}
	defer file.Close() // read only
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the list of notetakers %s: %w", path, err)
	}
	return parse(path, data)
}

// document is the data file. The comment at the top of notetakers.yaml explains
// its format.
type document struct {
	Version    int      `yaml:"version"`
	Date       string   `yaml:"date"`
	Marks      []string `yaml:"marks"`
	Notetakers []entry  `yaml:"notetakers"`
}

// entry is a notetaker of the data file.
type entry struct {
	Name     string   `yaml:"name"`
	Anywhere []string `yaml:"anywhere"`
	First    []string `yaml:"first"`
	Whole    []string `yaml:"whole"`
}

// datePattern matches a calendar date.
var datePattern = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// parse reads and checks a data file. source names it in errors. The error lists
// all mistakes.
func parse(source string, data []byte) (*List, error) {
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("list of notetakers %s: larger than %d bytes", source, maxFileBytes)
	}
	var read document
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&read); err != nil {
		return nil, fmt.Errorf("list of notetakers %s: %w", source, err)
	}
	if err := decoder.Decode(new(document)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("list of notetakers %s: more than one document", source)
	}
	list := &List{Version: read.Version, Date: read.Date}
	var issues []string
	expect := func(ok bool, position, format string, args ...any) {
		if !ok {
			issues = append(issues, position+": "+fmt.Sprintf(format, args...))
		}
	}
	total := 0
	fold := func(position string, patterns []string) [][]string { // splits and folds patterns like names
		folded := make([][]string, 0, len(patterns))
		for i, pattern := range patterns {
			at := fmt.Sprintf("%s[%d]", position, i)
			expect(len(pattern) <= maxBytes, at, "is longer than %d bytes", maxBytes)
			words := foldedWords(pattern)
			letters := strings.Map(func(r rune) rune {
				if isWordLetter(r) {
					return r
				}
				return -1
			}, strings.Join(words, ""))
			expect(len(letters) >= minLetters, at, "%q has fewer than %d letters", pattern, minLetters)
			folded = append(folded, words)
		}
		total += len(patterns)
		return folded
	}
	expect(read.Version > 0, "version", "must be 1 or more")
	expect(datePattern.MatchString(read.Date), "date", "must be a date such as 2026-11-21")
	expect(len(read.Notetakers) > 0, "notetakers", "must name at least one")
	for i, mark := range read.Marks {
		words := foldedWords(mark)
		expect(len(words) > 0, fmt.Sprintf("marks[%d]", i), "%q has no letter", mark)
		list.marks = append(list.marks, words)
	}
	var names []string
	for i, n := range read.Notetakers {
		position := fmt.Sprintf("notetakers[%d]", i)
		expect(strings.TrimSpace(n.Name) != "", position, "has no name")
		expect(!slices.Contains(names, n.Name), position, "%q is a duplicate", n.Name)
		names = append(names, n.Name)
		expect(len(n.Anywhere)+len(n.First)+len(n.Whole) > 0, position,
			"%q has no pattern under anywhere, first or whole", n.Name)
		list.notetakers = append(list.notetakers, notetaker{
			name:     n.Name,
			anywhere: fold(position+".anywhere", n.Anywhere),
			first:    fold(position+".first", n.First),
			whole:    fold(position+".whole", n.Whole),
		})
	}
	expect(total <= maxPatterns, "notetakers", "have %d patterns; the maximum is %d", total, maxPatterns)
	if len(issues) > 0 {
		return nil, fmt.Errorf("list of notetakers %s: %s", source, strings.Join(issues, "; "))
	}
	return list, nil
}
