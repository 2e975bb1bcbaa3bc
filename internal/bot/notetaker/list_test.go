package notetaker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"standin/internal/bot/meeting"
)

// TestEmbedded checks that the built-in list has a date and that every pattern
// matches its own spelling.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	list := builtIn(t)
	if list.Version < 1 || list.Date == "" || len(list.notetakers) < 30 {
		t.Errorf("version %d of %q with %d notetakers", list.Version, list.Date, len(list.notetakers))
	}
}

func TestLoadReplacesTheList(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	list, err := Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := list.Match("Otter.ai"); !ok {
		t.Error("a folder without a list does not use the built-in one")
	}
	write(t, folder, "version: 2\ndate: 2027-01-01\nnotetakers: [{name: Quill, first: [Quill Bot]}]\n")
	if list, err = Load(folder); err != nil {
		t.Fatal(err)
	}
	if known, _ := list.Match("quill bot"); known != "Quill" || list.Version != 2 || list.Date != "2027-01-01" {
		t.Errorf("the operator's list is not used: %q, version %d of %s", known, list.Version, list.Date)
	}
	if _, ok := list.Match("Otter.ai"); ok {
		t.Error("the built-in list is still used")
	}
}

// TestListBesideProfiles checks that the list and page profiles can be in the same
// folder.
func TestListBesideProfiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	profile, err := os.ReadFile(filepath.Join("..", "meeting", "profiles", "meet.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "meet.yaml"), profile, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, folder, string(embedded))
	if _, err := Load(folder); err != nil {
		t.Error(err)
	}
	if _, err := meeting.Load(folder); err != nil {
		t.Error(err)
	}
}

func TestLoadRejectsMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"version: 0\ndate: 2026-11-21\nnotetakers: [{name: A, first: [Aaa]}]":                                      "version: must be 1",
		"version: 1\ndate: yesterday\nnotetakers: [{name: A, first: [Aaa]}]":                                       "date: must be a date",
		"version: 1\ndate: 2026-11-21\nnotetakers: []":                                                             "must name at least one",
		"version: 1\ndate: 2026-11-21\nnotetakers: [{first: [Aaa]}]":                                               "has no name",
		"version: 1\ndate: 2026-11-21\nnotetakers: [{name: A}]":                                                    "has no pattern",
		"version: 1\ndate: 2026-11-21\nnotetakers: [{name: A, first: [.;Ä]}]":                                      "fewer than 3 letters",
		"version: 1\ndate: 2026-11-21\nnotetakers: [{name: A, frist: [Aaa]}]":                                      "frist",
		"version: 1\ndate: 2026-11-21\nnotetakers: [{name: A, first: [Aaa]}, {name: A, whole: [Aaa]}]":             "is a duplicate",
		"version: 1\ndate: 2026-11-21\nmarks: ['()']\nnotetakers: [{name: A, first: [Aaa]}]":                       "has no letter",
		"version: 1\n---\nversion: 1":                                                                              "more than one document",
		strings.Repeat("# a\n", 64<<10+1):                                                                          "larger than",
		"version: 1\ndate: 2026-11-21\nnotetakers: [{name: A, first: [" + strings.Repeat("Aaa, ", 2001) + "Aaa]}]": "the maximum is 2000",
	} {
		folder := t.TempDir()
		write(t, folder, text)
		if _, err := Load(folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q gives %v, want %q", text, err, want)
		}
	}
}

func write(t *testing.T, folder, text string) {
	t.Helper()
	path := filepath.Join(folder, filepath.FromSlash(File))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
