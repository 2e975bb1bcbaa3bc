package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"standin/client"
	"standin/internal/credentials"
)

// envAPIKey holds an API key for programs that cannot sign in. It is no flag:
// arguments are seen by everybody on the machine.
const envAPIKey = "STANDIN_API_KEY"

// configFlags say where the command line keeps its credentials.
type configFlags struct {
	ConfigDir string `env:"STANDIN_CONFIG_DIR" placeholder:"DIR" help:"Folder of the credentials. Default: standin in the user's configuration folder."`
}

func (f configFlags) dir() (string, error) {
	if f.ConfigDir != "" {
		return f.ConfigDir, nil
	}
	return credentials.DefaultDir()
}

// apiFlags are those of commands that call a running service.
type apiFlags struct {
	configFlags
	URL  string `env:"STANDIN_URL" placeholder:"https://…" help:"The service. Default: the one signed in to. The key is taken from standin login, or from the environment variable STANDIN_API_KEY."`
	JSON bool   `name:"json" help:"Print JSON, for programs."`
}

// client returns a client with the key of the environment, or else of the
// sign-in.
func (f apiFlags) client() (*client.Client, error) {
	if key := os.Getenv(envAPIKey); key != "" {
		if f.URL == "" {
			return nil, errors.New(envAPIKey + " is set, but not which service it is for: set STANDIN_URL or give --url")
		}
		return client.New(f.URL, key)
	}
	dir, err := f.dir()
	if err != nil {
		return nil, err
	}
	kept, err := credentials.Load(dir)
	if errors.Is(err, credentials.ErrNone) {
		return nil, errNotSignedIn
	}
	if err != nil {
		return nil, err
	}
	if f.URL != "" && f.URL != kept.URL {
		return nil, fmt.Errorf("signed in to %s, not to %s: run standin login --url %s", kept.URL, f.URL, f.URL)
	}
	return client.New(kept.URL, kept.APIKey)
}

// printJSON writes a value for programs.
func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// exitError ends the program with a code of its own.
type exitError struct {
	code int
	text string
}

func (e *exitError) Error() string { return e.text }

// exitJobFailed is the exit code for a job that came to nothing, as against a
// command that did.
const exitJobFailed = 3
