package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"standin/internal/base/fsutil"
)

// credentials are the URL of a service and the API key with which the command line
// calls it.
type credentials struct {
	URL    string `json:"url"`
	APIKey string `json:"apiKey"`
	Email  string `json:"email,omitempty"` // of the key's owner; may be empty
}

// String omits the key, which logs and errors must not contain.
func (c credentials) String() string { return "credentials for " + c.URL }

// GoString omits the key too.
func (c credentials) GoString() string { return c.String() }

// contexts are the services that the user signed in to, by name, stored in a file that only
// its owner can read.
type contexts struct {
	Current string                 `json:"current"`
	All     map[string]credentials `json:"contexts"`

	path string // of the file
}

// credentialsPath returns the path of the file in a folder.
func credentialsPath(dir string) string { return filepath.Join(dir, "credentials.json") }

// contextName returns the name of the context of a service: its host.
func contextName(serviceURL string) string {
	if parsed, err := url.Parse(serviceURL); err == nil && parsed.Host != "" {
		return parsed.Host
	}
	return serviceURL
}

// loadContexts reads the contexts, or returns errNotSignedIn. It refuses a file that other
// users can read.
func loadContexts(dir string) (contexts, error) {
	path := credentialsPath(dir)
	stored := contexts{path: path}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return stored, errNotSignedIn
	case err != nil:
		return contexts{}, fmt.Errorf("find the credentials: %w", err)
	case info.Mode().Perm()&0o077 != 0:
		return contexts{}, fmt.Errorf("%s can be read by others; chmod 600 it, and revoke its key if others may have read it", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return contexts{}, fmt.Errorf("read the credentials: %w", err)
	}
	if err := json.Unmarshal(text, &stored); err != nil || len(stored.All) == 0 {
		return contexts{}, fmt.Errorf("%s is damaged; sign in again", path)
	}
	return stored, nil
}

// saveContext stores credentials under a name, by default the host of the service, and makes
// them current.
func saveContext(dir, name string, c credentials) error {
	stored, err := loadContexts(dir)
	if err != nil && !errors.Is(err, errNotSignedIn) {
		return err
	}
	if stored.All == nil {
		stored.All = make(map[string]credentials)
	}
	stored.Current = cmp.Or(name, contextName(c.URL))
	stored.All[stored.Current] = c
	return stored.save()
}

// save writes the file atomically, readable only by its owner.
func (c contexts) save() error {
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return fmt.Errorf("create the configuration folder: %w", err)
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the credentials: %w", err)
	}
	if err := fsutil.WriteFile(c.path, append(text, '\n')); err != nil {
		return fmt.Errorf("write the credentials: %w", err)
	}
	return nil
}
