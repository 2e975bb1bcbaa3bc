// Package credentials keeps what the command line needs to call a service: its
// address and an API key, in one file that only its owner can read. It knows
// nothing of the API.
package credentials

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Credentials are a service and the key to call it with.
type Credentials struct {
	URL    string `json:"url"`
	APIKey string `json:"apiKey"`
	Email  string `json:"email,omitempty"` // whose key it is, when the service told
}

// String hides the key, which logs and errors must not show.
func (c Credentials) String() string { return "credentials for " + c.URL }

// GoString hides the key too.
func (c Credentials) GoString() string { return c.String() }

// ErrNone says that nobody has signed in.
var ErrNone = errors.New("not signed in")

const fileName = "credentials.json"

// DefaultDir is the folder for them: standin in the user's configuration
// folder.
func DefaultDir() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the configuration folder: %w", err)
	}
	return filepath.Join(dir, "standin"), nil
}

// Path is the file in a folder.
func Path(dir string) string { return filepath.Join(dir, fileName) }

// Load reads the file; without one the error is ErrNone. A file that others can
// read is refused: its key is no secret any more.
func Load(dir string) (Credentials, error) {
	path := Path(dir)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Credentials{}, ErrNone
	case err != nil:
		return Credentials{}, fmt.Errorf("look for the credentials: %w", err)
	case info.Mode().Perm()&0o077 != 0:
		return Credentials{}, fmt.Errorf("%s can be read by others; chmod 600 it, and revoke its key if others may have read it", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Credentials{}, fmt.Errorf("read the credentials: %w", err)
	}
	var kept Credentials
	if err := json.Unmarshal(text, &kept); err != nil {
		return Credentials{}, fmt.Errorf("%s is damaged; sign in again", path)
	}
	return kept, nil
}

// Save writes the file whole or not at all, readable by its owner alone.
func Save(dir string, c Credentials) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the configuration folder: %w", err)
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the credentials: %w", err)
	}
	file, err := os.CreateTemp(dir, fileName+".*") // 0600
	if err != nil {
		return fmt.Errorf("write the credentials: %w", err)
	}
	defer os.Remove(file.Name()) // gone when all went well
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("write the credentials: %w", err)
	}
	if err := os.Rename(file.Name(), Path(dir)); err != nil {
		return fmt.Errorf("write the credentials: %w", err)
	}
	return nil
}

// Remove deletes the file; without one the error is ErrNone.
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
