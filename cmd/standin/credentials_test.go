package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCredentials checks that credentials are saved, loaded, replaced and removed,
// and that only the owner can read the file.
func TestCredentials(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "standin")
	if _, err := loadCredentials(dir); !errors.Is(err, errNoCredentials) {
		t.Fatalf("load without a file: %v", err)
	}
	for _, want := range []credentials{
		{URL: "https://a.example", APIKey: "standin_live_a", Email: "ada@example.com"},
		{URL: "https://b.example", APIKey: "standin_live_b"},
	} {
		if err := saveCredentials(dir, want); err != nil {
			t.Fatal(err)
		}
		if got, err := loadCredentials(dir); err != nil || got != want {
			t.Errorf("load: %+v (%v)", got, err)
		}
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, credentialsPath(dir): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v (%v), want %v", path, info.Mode(), err, want)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("remaining files: %v (%v)", entries, err)
	}
	if err := removeCredentials(dir); err != nil {
		t.Error(err)
	}
	if err := removeCredentials(dir); !errors.Is(err, errNoCredentials) {
		t.Errorf("remove again: %v", err)
	}
}

// TestUnsafeCredentials checks that a file that others can read or that is damaged
// is rejected without revealing its content.
func TestUnsafeCredentials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := saveCredentials(dir, credentials{URL: "https://a.example", APIKey: "standin_live_secret"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(credentialsPath(dir), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := loadCredentials(dir); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others can read: %v", err)
	}
	if err := os.WriteFile(credentialsPath(dir), []byte(`{"apiKey":"standin_live_secret"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(credentialsPath(dir), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadCredentials(dir); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a damaged file: %v", err)
	}
	kept := credentials{URL: "https://a.example", APIKey: "standin_live_secret"}
	for _, text := range []string{fmt.Sprint(kept), fmt.Sprintf("%+v", kept), fmt.Sprintf("%#v", kept)} {
		if strings.Contains(text, "secret") {
			t.Errorf("the text contains the key: %s", text)
		}
	}
}

// loadCredentials reads the credentials of the current context.
func loadCredentials(dir string) (credentials, error) {
	stored, err := loadContexts(dir)
	return stored.All[stored.Current], err
}

// saveCredentials stores credentials as the current context.
func saveCredentials(dir string, c credentials) error { return saveContext(dir, "", c) }
