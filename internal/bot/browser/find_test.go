package browser_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"standin/internal/bot/browser"
)

// TestFind adds programs one after the other to a folder. Chromium is preferred to Google
// Chrome. An error says what to install.
func TestFind(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	for _, test := range []struct{ added, configured, want string }{
		{"", "", ""},
		{"", "my-chromium", ""},
		{"", "/nowhere/chromium", ""},
		{"google-chrome-stable", "", "google-chrome-stable"},
		{"chromium", "", "chromium"},
		{"mine", "", "chromium"},
		{"", "mine", "mine"},
		{"", filepath.Join(folder, "mine"), "mine"},
	} {
		if test.added != "" {
			if err := os.WriteFile(filepath.Join(folder, test.added), []byte("#!/bin/sh\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		path, err := browser.Find(test.configured)
		var missing *browser.NotFoundError
		switch {
		case test.want != "" && (err != nil || path != filepath.Join(folder, test.want)):
			t.Errorf("Find(%q) = %q, %v; want %s", test.configured, path, err, test.want)
		case test.want == "" && (!errors.As(err, &missing) || missing.Configured != test.configured || len(missing.Tried) == 0 ||
			!strings.Contains(err.Error(), "install") || !strings.Contains(err.Error(), test.configured)):
			t.Errorf("Find(%q) = %q, %v; want a NotFoundError with advice", test.configured, path, err)
		}
	}
}
