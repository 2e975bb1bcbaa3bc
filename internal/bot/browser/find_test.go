package browser_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"standin/internal/bot/browser"
)

func TestFindErrorIncludesInstallAdvice(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, configured := range []string{"", "my-chromium", "/nowhere/chromium"} {
		path, err := browser.Find(configured)
		var notFound *browser.NotFoundError
		if !errors.As(err, &notFound) {
			t.Fatalf("Find(%q) = %q, %v; want a NotFoundError", configured, path, err)
		}
		if notFound.Configured != configured || len(notFound.Tried) == 0 {
			t.Errorf("Find(%q) reports %+v", configured, notFound)
		}
		for _, part := range []string{"install", configured} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("Find(%q) = %q, want it to include %q", configured, err, part)
			}
		}
	}
}

// Chromium is preferred to Google Chrome.
func TestFindPrefersChromium(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	for _, name := range []string{"google-chrome-stable", "chromium"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if path, err := browser.Find(""); err != nil || path != filepath.Join(folder, name) {
			t.Errorf("Find = %q, %v; want %s", path, err, name)
		}
	}
}

func TestFind(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	for _, name := range []string{"google-chrome", "mine"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for configured, want := range map[string]string{
		"":                            "google-chrome",
		"mine":                        "mine",
		filepath.Join(folder, "mine"): "mine",
	} {
		path, err := browser.Find(configured)
		if err != nil || path != filepath.Join(folder, want) {
			t.Errorf("Find(%q) = %q, %v; want %s", configured, path, err, want)
		}
	}
}
