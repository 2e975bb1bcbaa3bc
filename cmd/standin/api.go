package main

import (
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
	URL string `env:"STANDIN_URL" placeholder:"https://…" help:"URL of the service. Default: the service you signed in to. The key comes from standin login or from the environment variable STANDIN_API_KEY."`
}

// apiFlags are the flags of commands that call a running service and print the result.
type apiFlags struct {
	serviceFlags
	JSON bool `name:"json" help:"Print JSON."`
}

// client returns an API client. The key from the environment takes precedence
// over the stored one.
func (f serviceFlags) client() (*client.Client, error) {
	if key := os.Getenv(envAPIKey); key != "" {
		if f.URL == "" {
			return nil, errors.New(envAPIKey + " is set but the service URL is not: set STANDIN_URL or pass --url")
		}
		return client.New(f.URL, key)
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
		return nil, fmt.Errorf("signed in to %s, not to %s: run standin login --url %s", stored.URL, f.URL, f.URL)
	}
	return client.New(stored.URL, stored.APIKey)
}
