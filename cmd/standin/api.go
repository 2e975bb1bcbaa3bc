package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"standin/client"
)

// envAPIKey is the environment variable with an API key, for programs that
// cannot sign in. There is no flag for it because other users of the machine
// can read process arguments.
const envAPIKey = "STANDIN_API_KEY"

// configFlags locate the stored credentials.
type configFlags struct {
	ConfigDir string `placeholder:"DIR" help:"Directory of the stored credentials. Default: standin in the user's configuration directory."`
}

// dir returns the folder: by default, standin in the user's configuration folder.
func (f configFlags) dir() (string, error) {
	if f.ConfigDir != "" {
		return f.ConfigDir, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the configuration folder: %w", err)
	}
	return filepath.Join(dir, "standin"), nil
}

// contexts reads the services that the user signed in to. There is at least one.
func (f configFlags) contexts() (contexts, error) {
	dir, err := f.dir()
	if err != nil {
		return contexts{}, err
	}
	return loadContexts(dir)
}

// serviceFlags name a running service.
type serviceFlags struct {
	configFlags
	Context string `env:"STANDIN_CONTEXT" predictor:"context" help:"Name of the service, from standin context list. Default: the current one."`
	URL     string `env:"STANDIN_URL" placeholder:"https://…" help:"URL of the service. Default: the service you signed in to, or http://127.0.0.1:8080 with a key in the environment variable STANDIN_API_KEY."`
}

// apiFlags are the flags of commands that call a running service and print the result.
type apiFlags struct {
	serviceFlags
	outputFlags
}

// localURL is the URL of a service on this machine with the default settings.
const localURL = "http://127.0.0.1:8080"

// access returns the URL of the service and the key. The key from the environment takes
// precedence over the stored ones.
func (f serviceFlags) access() (credentials, error) {
	if key, err := secretOf(envAPIKey); key != "" || err != nil {
		return credentials{URL: cmp.Or(f.URL, localURL), APIKey: key}, err
	}
	stored, err := f.contexts()
	if err != nil {
		return credentials{}, err
	}
	name := cmp.Or(f.Context, stored.Current)
	found, ok := stored.All[name]
	switch {
	case !ok && name == "":
		return credentials{}, &hint{
			errors.New("several services are configured and none is selected"), exitUnauthorized,
			"Run standin context use NAME, or pass --context.",
		}
	case !ok:
		return credentials{}, &hint{fmt.Errorf("there is no context %q", name), exitUnauthorized, "Run standin context list to see the contexts."}
	case f.URL == "" || f.URL == found.URL:
		return found, nil
	}
	for _, other := range stored.All {
		if f.Context == "" && other.URL == f.URL {
			return other, nil
		}
	}
	return credentials{}, &hint{
		code: exitUnauthorized, error: fmt.Errorf("signed in to %s, not to %s: run standin login --url %s", found.URL, f.URL, f.URL),
	}
}

// ProvideClient returns the API client that Kong passes to the Run methods of commands.
func (f serviceFlags) ProvideClient() (*client.Client, error) {
	access, err := f.access()
	if err != nil {
		return nil, err
	}
	return client.New(access.URL, access.APIKey)
}

// collect returns the values of a list, at most limit of them if it is greater than 0.
func collect[T any](list iter.Seq2[T, error], limit int) ([]T, error) {
	values := []T{} // [] in JSON if there are none
	for value, err := range list {
		if err != nil {
			return nil, err
		}
		if values = append(values, value); len(values) == limit {
			break
		}
	}
	return values, nil
}

// readSecret reads a secret from a file, or from standard input without one, without the white
// space around it.
func readSecret(path string) (string, error) {
	content, err := readInput(cmp.Or(path, "-"), 4<<10)
	return strings.TrimSpace(string(content)), err
}

// readInput reads a file, or standard input for -, of at most limit bytes.
func readInput(path string, limit int64) ([]byte, error) {
	file := os.Stdin
	if path != "-" {
		opened, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer opened.Close() // only read
		file = opened
	}
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("larger than %d bytes", limit)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file.Name(), err)
	}
	return content, nil
}
