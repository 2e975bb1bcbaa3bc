package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"standin/client"
)

// envAPIKey is the environment variable with an API key, for programs that
// cannot sign in. There is no flag for it because other users of the machine
// can read process arguments.
const envAPIKey = "STANDIN_API_KEY"

// configFlags locate the stored credentials.
type configFlags struct {
	ConfigDir string `env:"STANDIN_CONFIG_DIR" placeholder:"DIR" help:"Directory of the stored credentials. Default: standin in the user's configuration directory."`
}

func (f configFlags) dir() (string, error) {
	if f.ConfigDir != "" {
		return f.ConfigDir, nil
	}
	return defaultConfigDir()
}

// serviceFlags name a running service.
type serviceFlags struct {
	configFlags
	URL string `env:"STANDIN_URL" placeholder:"https://…" help:"URL of the service. Default: the service you signed in to, or http://127.0.0.1:8080 with a key in the environment variable STANDIN_API_KEY."`
}

// apiFlags are the flags of commands that call a running service and print the result.
type apiFlags struct {
	serviceFlags
	outputFlags
}

// localURL is the URL of a service on this machine with the default settings.
const localURL = "http://127.0.0.1:8080"

// client returns an API client. The key from the environment takes precedence
// over the stored one.
func (f serviceFlags) client() (*client.Client, error) {
	if key := os.Getenv(envAPIKey); key != "" {
		return client.New(cmp.Or(f.URL, localURL), key)
	}
	dir, err := f.dir()
	if err != nil {
		return nil, err
	}
	stored, err := loadCredentials(dir)
	if errors.Is(err, errNoCredentials) {
		return nil, errNotSignedIn
	}
	if err != nil {
		return nil, err
	}
	if f.URL != "" && f.URL != stored.URL {
		return nil, &exitError{code: exitUnauthorized, text: fmt.Sprintf("signed in to %s, not to %s: run standin login --url %s", stored.URL, f.URL, f.URL)}
	}
	return client.New(stored.URL, stored.APIKey)
}
