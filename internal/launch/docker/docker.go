// Package docker runs bots as containers of a Docker engine, or of another
// engine with the same API: one container for each attempt.
//
// A container's name consists of the instance, the job and the attempt, so the
// engine refuses a second container for an attempt. States come from the
// engine's events and from periodic lists. An ended container stays until its
// attempt is stopped, so that its exit code and log can be read after a restart
// of the service.
package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/moby/moby/client"

	"standin/deploy"
	"standin/internal/launch"
)

const (
	pullTimeout   = 30 * time.Minute
	defaultResync = 30 * time.Second
)

// Settings configure a Launcher. The folders in Bot are folders of the engine's
// machine. Tags describe the flags and environment variables of package main.
type Settings struct {
	launch.RemoteSettings `kong:"-"`

	Host       string   `env:"HOST" placeholder:"unix:///…" help:"Address of the Docker engine. Default: DOCKER_HOST, else /var/run/docker.sock."`
	Registry   Registry `embed:"" prefix:"registry-" envprefix:"REGISTRY_"`
	Network    string   `env:"NETWORK" help:"Network of the bots. Default: the engine's default network."`
	ExtraHosts []string `env:"EXTRA_HOSTS" placeholder:"NAME:ADDRESS" help:"Additional host entries in the bots' containers, such as host.docker.internal:host-gateway."`
	Volume     string   `name:"spool-volume" env:"SPOOL_VOLUME" help:"Prefix of named volumes that keep the bots' spools until the recording is deleted, for a week at most. Default: an anonymous volume, removed with the bot."`

	PullWait time.Duration `kong:"-"` // how long a launch waits for the image; default 20 s
}

// Registry holds the credentials for pulling; empty for anonymous access.
type Registry struct {
	User     string `env:"USER" help:"User name for the image registry. Default: none."`
	Password string `env:"PASSWORD" help:"Password for the image registry. Prefer the environment variable."`
}

// Launcher starts bots as containers.
type Launcher struct {
	*launch.Remote
	Settings
	given  Settings // without defaults
	client *client.Client

	imageRequests chan chan error // see image.go
	progress      atomic.Value    // string: of pulling the image, completes the sentence "the bots' image …"
}

// New returns a launcher, which watches the engine until Close and recognizes
// the bots that run there. The engine need not be reachable yet.
func New(settings Settings) (*Launcher, error) {
	given := settings
	settings, err := given.withDefaults()
	if err != nil {
		return nil, err
	}
	client, err := newClient(settings.Host)
	if err != nil {
		return nil, err
	}
	l := &Launcher{Settings: settings, given: given, client: client, imageRequests: make(chan chan error)}
	l.progress.Store(notPulling)
	l.Remote = launch.NewRemote("the Docker engine", engine{l}, settings.RemoteSettings)
	l.Start(l.serveImage)
	return l, nil
}

// withDefaults returns the settings with defaults for unset fields.
func (s Settings) withDefaults() (Settings, error) {
	var err error
	if s.RemoteSettings, err = s.WithDefaults(defaultResync); err != nil {
		return s, err
	}
	if _, err := reference.ParseNormalizedNamed(s.Image); err != nil {
		return s, fmt.Errorf("parse the name of the bots' image %q: %w", s.Image, err)
	}
	if s.Seccomp, err = SeccompProfile(s.Seccomp); err != nil {
		return s, err
	}
	s.PullWait = cmp.Or(s.PullWait, 20*time.Second)
	return s, nil
}

// newClient returns a client, without connecting.
func newClient(host string) (*client.Client, error) {
	options := []client.Opt{client.FromEnv, client.WithUserAgent("standin")}
	if host != "" {
		options = append(options, client.WithHost(host))
	}
	client, err := client.New(options...)
	if err != nil {
		return nil, fmt.Errorf("create the client of the Docker engine: %w", err)
	}
	return client, nil
}

// Close stops watching. The bots keep running.
func (l *Launcher) Close() {
	l.Remote.Close()
	_ = l.client.Close() // closes idle connections
}

// engineError wraps an error of a call to the engine.
func engineError(action string, err error) error {
	if client.IsErrConnectionFailed(err) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: the Docker engine does not answer: %w", action, err)
	}
	return fmt.Errorf("%s: the Docker engine says: %w", action, launch.ShortError{Err: err})
}

// EngineInfo is the result of Check.
type EngineInfo struct {
	Where    string // the engine's address
	Engine   string // its name and version
	HasImage bool
}

// Check reports whether the engine answers and has the bots' image, and changes
// nothing. When Where is set, the error comes from the engine; otherwise, from
// the settings.
func Check(ctx context.Context, settings Settings) (EngineInfo, error) {
	settings.Instance = "check" // not used
	settings, err := settings.withDefaults()
	if err != nil {
		return EngineInfo{}, err
	}
	engine, err := newClient(settings.Host)
	if err != nil {
		return EngineInfo{}, err
	}
	defer engine.Close()
	found := EngineInfo{Where: engine.DaemonHost()}
	ctx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	version, err := engine.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return found, engineError("query the engine's version", err)
	}
	found.Engine = fmt.Sprintf("%s (API %s)", version.Version, version.APIVersion)
	if version.Platform.Name != "" {
		found.Engine = version.Platform.Name + " " + found.Engine
	}
	_, err = engine.ImageInspect(ctx, settings.Image)
	if err != nil && !errdefs.IsNotFound(err) {
		return found, engineError("inspect the bots' image", err)
	}
	found.HasImage = err == nil
	return found, nil
}

// Check implements launch.RemoteLauncher.
func (l *Launcher) Check(ctx context.Context) error {
	_, err := Check(ctx, l.given)
	return err
}

// EngineSeccomp is the value of Settings.Seccomp for the engine's own profile, which
// does not allow Chromium's sandbox.
const EngineSeccomp = "engine"

// SeccompProfile returns the profile of a value of Settings.Seccomp as JSON; empty
// for that of the engine.
func SeccompProfile(name string) (string, error) {
	switch name {
	case EngineSeccomp:
		return "", nil
	case "", "embedded":
		return deploy.SeccompProfile(), nil
	}
	profile, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("read the seccomp profile: %w", err)
	}
	return string(profile), nil
}
