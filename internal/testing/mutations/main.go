// Command mutations changes one important line of the program at a time and checks that
// the short tests of its package fail. mutations.yaml lists the changes. The files of the
// working tree stay as they are: the compiler reads the changed ones (go help build,
// -overlay).
//
//	mutations [-least 38] [NAME...]
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

//go:embed mutations.yaml
var list []byte

// mutation is a change of one line.
type mutation struct {
	Name   string `yaml:"name"`
	Breaks string `yaml:"breaks"` // what it breaks, for the reader
	File   string `yaml:"file"`
	Old    string `yaml:"old"` // occurs once in the file
	New    string `yaml:"new"`
}

// failedTest matches the names of failed tests in the output of go test.
var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

func main() {
	least := flag.Int("least", 38, "how many changes must be noticed if all are made")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *least, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutations:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, least int, names []string) error {
	var mutations []mutation
	if err := yaml.UnmarshalWithOptions(list, &mutations, yaml.Strict()); err != nil {
		return fmt.Errorf("read mutations.yaml: %w", err)
	}
	dir, err := os.MkdirTemp("", "standin-mutations-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	noticed, made := 0, 0
	for _, m := range mutations {
		if len(names) > 0 && !slices.Contains(names, m.Name) {
			continue
		}
		made++
		started := time.Now()
		result, ok, err := m.test(ctx, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		if ok {
			noticed++
		}
		fmt.Printf("%-28s %-44s %3.0f s  %s\n", m.Name, path.Dir(m.File), time.Since(started).Seconds(), result)
	}
	fmt.Printf("%d of %d changes noticed\n", noticed, made)
	if len(names) == 0 && noticed < least {
		return fmt.Errorf("at least %d must be noticed", least)
	}
	return nil
}

// test runs the tests of the changed package. noticed reports whether one failed.
func (m mutation) test(ctx context.Context, dir string) (result string, noticed bool, err error) {
	content, err := os.ReadFile(m.File)
	if err != nil {
		return "", false, err
	}
	if n := bytes.Count(content, []byte(m.Old)); n != 1 || m.Old == m.New {
		return "", false, fmt.Errorf("%q occurs %d times in %s", m.Old, n, m.File)
	}
	absolute, err := filepath.Abs(m.File)
	if err != nil {
		return "", false, err
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {absolute: changed}})
	if err != nil {
		return "", false, err
	}
	if err := errors.Join(os.WriteFile(changed, bytes.Replace(content, []byte(m.Old), []byte(m.New), 1), 0o600),
		os.WriteFile(overlay, replaced, 0o600)); err != nil {
		return "", false, err
	}
	folder := "./" + path.Dir(m.File)
	if output, err := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, folder).CombinedOutput(); err != nil {
		return "", false, fmt.Errorf("it does not compile: %w: %s", err, output)
	}
	output, err := exec.CommandContext(ctx, "go", "test", "-short", "-failfast", "-timeout", "3m", "-overlay", overlay,
		folder).CombinedOutput()
	switch tests := failedTest.FindAllSubmatch(output, -1); {
	case ctx.Err() != nil:
		return "", false, ctx.Err()
	case err == nil:
		return "NOT NOTICED: " + m.Breaks, false, nil
	case len(tests) > 0:
		return string(tests[0][1]), true, nil
	case strings.Contains(string(output), "panic: "):
		return "a panic", true, nil
	}
	return "", false, fmt.Errorf("the tests did not run: %s", output)
}
