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

// embedded is the list that Standin ships.
//
//go:embed notetakers.yaml
var embedded []byte

// File is where an operator's list lies in the folder of STANDIN_PROFILES. It
// has a folder of its own there, because every *.yaml file beside it is read
// as the profile of a page.
const File = "notetakers/notetakers.yaml"

const (
	// maxFileBytes bounds a data file.
	maxFileBytes = 256 << 10
	// maxPatterns bounds what every name in a meeting is compared with.
	maxPatterns = 2000
	// fewestLetters is how long a pattern must be: a shorter one would be
	// found in names of people.
	fewestLetters = 3
)

// Embedded returns the list that Standin ships.
func Embedded() (*List, error) { return parse("embedded/notetakers.yaml", embedded) }

// Load returns the operator's list, which replaces the embedded one, when the
// folder of STANDIN_PROFILES holds a File, and the embedded one otherwise. An
// empty folder name means that there is none.
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
		return nil, fmt.Errorf("reading the list of notetakers: %w", err)
	}
	defer file.Close() // read only
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the list of notetakers %s: %w", path, err)
	}
	return parse(path, data)
}

// document is the data file; how to write one stands at the head of
// notetakers.yaml.
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

// datePattern is a calendar date.
var datePattern = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// parse reads and checks a data file. The source names it in errors, which
// tell of everything that is wrong.
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
		return nil, fmt.Errorf("list of notetakers %s: holds more than one document", source)
	}
	b := &builder{list: &List{Version: read.Version, Date: read.Date, fold: newFolding()}}
	b.build(read)
	if len(b.issues) > 0 {
		return nil, fmt.Errorf("list of notetakers %s: %s", source, strings.Join(b.issues, "; "))
	}
	return b.list, nil
}

// builder makes a list of a document and gathers what is wrong with it.
type builder struct {
	list     *List
	patterns int
	issues   []string
}

func (b *builder) expect(ok bool, place, format string, args ...any) {
	if !ok {
		b.issues = append(b.issues, place+": "+fmt.Sprintf(format, args...))
	}
}

func (b *builder) build(read document) {
	b.expect(read.Version > 0, "version", "must be 1 or more")
	b.expect(datePattern.MatchString(read.Date), "date", "must be a date such as 2026-11-21")
	b.expect(len(read.Notetakers) > 0, "notetakers", "must name at least one")
	for i, mark := range read.Marks {
		words := b.list.fold.words(mark)
		b.expect(len(words) > 0, fmt.Sprintf("marks[%d]", i), "%q holds no letter", mark)
		b.list.marks = append(b.list.marks, words)
	}
	var names []string
	for i, one := range read.Notetakers {
		place := fmt.Sprintf("notetakers[%d]", i)
		b.expect(strings.TrimSpace(one.Name) != "", place, "has no name")
		b.expect(!slices.Contains(names, one.Name), place, "%q is there twice", one.Name)
		names = append(names, one.Name)
		b.expect(len(one.Anywhere)+len(one.First)+len(one.Whole) > 0, place,
			"%q has no pattern under anywhere, first or whole", one.Name)
		b.list.notetaker = append(b.list.notetaker, notetaker{
			name:     one.Name,
			anywhere: b.fold(place+".anywhere", one.Anywhere),
			first:    b.fold(place+".first", one.First),
			whole:    b.fold(place+".whole", one.Whole),
		})
	}
	b.expect(b.patterns <= maxPatterns, "notetakers", "hold %d patterns; at most %d are taken", b.patterns, maxPatterns)
}

// fold folds patterns as names are folded.
func (b *builder) fold(place string, patterns []string) [][]string {
	folded := make([][]string, 0, len(patterns))
	for i, pattern := range patterns {
		at := fmt.Sprintf("%s[%d]", place, i)
		b.expect(len(pattern) <= maxBytes, at, "is longer than %d bytes", maxBytes)
		words := b.list.fold.words(pattern)
		letters := strings.Map(func(r rune) rune {
			if isWordLetter(r) {
				return r
			}
			return -1
		}, strings.Join(words, ""))
		b.expect(len(letters) >= fewestLetters, at, "%q has fewer than %d letters", pattern, fewestLetters)
		folded = append(folded, words)
	}
	b.patterns += len(patterns)
	return folded
}
