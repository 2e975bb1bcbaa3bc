package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// credentials are the URL of a service and the API key with which the command line
// calls it, stored in a file that only its owner can read.
type credentials struct {
	URL    string `json:"url"`
	APIKey string `json:"apiKey"`
	Email  string `json:"email,omitempty"` // of the key's owner; may be empty
}

// String omits the key, which logs and errors must not contain.
func (c credentials) String() string { return "credentials for " + c.URL }

// GoString omits the key too.
func (c credentials) GoString() string { return c.String() }

// errNoCredentials is the error when there are no credentials.
var errNoCredentials = errors.New("not signed in")

const credentialsFile = "credentials.json"

// defaultConfigDir returns the default folder, standin in the user's configuration
// folder.
func defaultConfigDir() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the configuration folder: %w", err)
	}
	return filepath.Join(dir, "standin"), nil
}

// credentialsPath returns the path of the file in a folder.
func credentialsPath(dir string) string { return filepath.Join(dir, credentialsFile) }

// loadCredentials reads the credentials, or returns errNoCredentials. It refuses a file that other
// users can read.
func loadCredentials(dir string) (credentials, error) {
	path := credentialsPath(dir)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return credentials{}, errNoCredentials
	case err != nil:
		return credentials{}, fmt.Errorf("find the credentials: %w", err)
	case info.Mode().Perm()&0o077 != 0:
		return credentials{}, fmt.Errorf("%s can be read by others; chmod 600 it, and revoke its key if others may have read it", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return credentials{}, fmt.Errorf("read the credentials: %w", err)
	}
	var stored credentials
	if err := json.Unmarshal(text, &stored); err != nil {
		return credentials{}, fmt.Errorf("%s is damaged; sign in again", path)
	}
	return stored, nil
}

// saveCredentials writes the file atomically, readable only by its owner.
func saveCredentials(dir string, c credentials) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the configuration folder: %w", err)
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the credentials: %w", err)
	}
	file, err := os.CreateTemp(dir, credentialsFile+".*") // 0600
	if err != nil {
		return fmt.Errorf("write the credentials: %w", err)
	}
	defer os.Remove(file.Name()) // fails after a successful rename
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("write the credentials: %w", err)
	}
	if err := os.Rename(file.Name(), credentialsPath(dir)); err != nil {
		return fmt.Errorf("write the credentials: %w", err)
	}
	return nil
}

// removeCredentials deletes the credentials, or returns errNoCredentials.
func removeCredentials(dir string) error {
	err := os.Remove(credentialsPath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return errNoCredentials
	}
	if err != nil {
		return fmt.Errorf("remove the credentials: %w", err)
	}
	return nil
}
