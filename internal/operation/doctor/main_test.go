package doctor

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/recording/build"
	"standin/internal/testing/storetest"
)

// cluster is the tests' PostgreSQL; nil where it is not installed.
var cluster *storetest.Cluster

func TestMain(m *testing.M) {
	os.Exit(storetest.Main(m, func(c *storetest.Cluster) { cluster = c }))
}

// limited returns a context with a timeout.
func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// needTools skips a test that starts a browser with -short, and if its tools are missing; in CI
// it fails it then.
func needTools(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("long: make check-long")
	}
	_, noBrowser := browser.Find("")
	_, noFFmpeg := build.FindTools()
	for _, err := range []error{noBrowser, noFFmpeg} {
		switch {
		case err != nil && os.Getenv("CI") != "":
			t.Fatal(err)
		case err != nil:
			t.Skip(err)
		}
	}
}

// expect checks the state of a check and texts that it must contain.
func expect(t *testing.T, check Check, state State, texts ...string) {
	t.Helper()
	if check.State != state {
		t.Errorf("%s is %s, want %s: %s", check.Name, check.State, state, check.Found)
	}
	for _, text := range texts {
		if !strings.Contains(check.Found+"\n"+check.Fix, text) {
			t.Errorf("%s does not contain %q: %s; fix: %s", check.Name, text, check.Found, check.Fix)
		}
	}
	if check.Found == "" || (check.Fix == "") != (check.State == OK) {
		t.Errorf("%s found %q and has the fix %q", check.Name, check.Found, check.Fix)
	}
}

// untouched fails the test if the folder's content has changed at its end.
func untouched(t *testing.T, folder string) {
	t.Helper()
	before := tree(t, folder)
	t.Cleanup(func() {
		if after := tree(t, folder); !slices.Equal(before, after) {
			t.Errorf("the folder held %q and now holds %q", before, after)
		}
	})
}

func tree(t *testing.T, folder string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		paths = append(paths, strings.TrimPrefix(path, folder))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
