// Package credentials stores the URL and the API key with which the command line
// calls a service, in a file that only its owner can read.
package credentials

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Credentials are the URL of a service and an API key.
type Credentials struct {
	URL    string `json:"url"`
	APIKey string `json:"apiKey"`
	Email  string `json:"email,omitempty"` // of the key's owner; may be empty
}

// String omits the key, which logs and errors must not contain.
func (c Credentials) String() string { return "credentials for " + c.URL }

// GoString omits the key too.
func (c Credentials) GoString() string { return c.String() }

// ErrNone is the error when there are no credentials.
var ErrNone = errors.New("not signed in")

const fileName = "credentials.json"

// DefaultDir returns the default folder, standin in the user's configuration
// folder.
func DefaultDir() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the configuration folder: %w", err)
	}
	return filepath.Join(dir, "standin"), nil
}

// Path returns the path of the file in a folder.
func Path(dir string) string { return filepath.Join(dir, fileName) }

// Load reads the credentials, or returns ErrNone. It refuses a file that other
// users can read.
func Load(dir string) (Credentials, error) {
	path := Path(dir)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Credentials{}, ErrNone
	case err != nil:
		return Credentials{}, fmt.Errorf("find the credentials: %w", err)
	case info.Mode().Perm()&0o077 != 0:
		return Credentials{}, fmt.Errorf("%s can be read by others; chmod 600 it, and revoke its key if others may have read it", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Credentials{}, fmt.Errorf("read the credentials: %w", err)
	}
	var credentials Credentials
	if err := json.Unmarshal(text, &credentials); err != nil {
		return Credentials{}, fmt.Errorf("%s is damaged; sign in again", path)
	}
	return credentials, nil
}

// Save writes the file atomically, readable only by its owner.
func Save(dir string, c Credentials) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the configuration folder: %w", err)
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the credentials: %w", err)
	}
	file, err := os.CreateTemp(dir, fileName+".*") // 0600
	if err != nil {
		return fmt.Errorf("write the credentials: %w", err)
	}
	defer os.Remove(file.Name()) // fails after a successful rename
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("write the credentials: %w", err)
	}
	if err := os.Rename(file.Name(), Path(dir)); err != nil {
		return fmt.Errorf("write the credentials: %w", err)
	}
	return nil
}

// Remove deletes the credentials, or returns ErrNone.
func Remove(dir string) error {
	err := os.Remove(Path(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNone
	}
	if err != nil {
		return fmt.Errorf("remove the credentials: %w", err)
	}
	return nil
}
