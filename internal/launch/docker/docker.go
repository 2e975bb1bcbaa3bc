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
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/moby/moby/client"

	"standin/internal/launch"
)

const (
	pullTimeout   = 30 * time.Minute
	defaultResync = 30 * time.Second
)

// Settings configure a Launcher. The folders in Bot are folders of the engine's
// machine.
type Settings struct {
	launch.RemoteSettings

	Host       string // of the engine, as in unix:///var/run/docker.sock; from the environment when empty
	Pull       Pull
	Registry   Registry
	Network    string   // the engine's default when empty
	ExtraHosts []string // as in host.docker.internal:host-gateway
	Limits     Limits
	User       string // uid:gid, numeric
	Seccomp    string // a seccomp profile, as JSON; the engine's default when empty
	Volume     string // prefix of the named volumes for spools, one for each bot; anonymous volumes when empty

	PullWait time.Duration // how long a launch waits for the image; default 20 s
}

// Pull says when the image is pulled.
type Pull string

// The values of Pull.
const (
	PullMissing Pull = "missing" // when the engine does not have it
	PullAlways  Pull = "always"  // before every launch
	PullNever   Pull = "never"
)

// Registry holds the credentials for pulling; empty for anonymous access.
type Registry struct{ User, Password string }

// Limits are the limits of a bot's container; 0 is the engine's default.
type Limits struct {
	CPUs        float64
	MemoryBytes int64 // swap is disabled
	Processes   int64
	ShmBytes    int64 // size of /dev/shm, which Chromium uses for drawing
	TmpBytes    int64 // size of /tmp
}

// Launcher starts bots as containers.
type Launcher struct {
	*launch.Remote
	settings Settings
	client   *client.Client

	imageRequests chan chan error // see image.go
	pull          pullProgress
}

// New returns a launcher, which watches the engine until Close and recognizes
// the bots that run there. The engine need not be reachable yet.
func New(settings Settings) (*Launcher, error) {
	settings, err := settings.withDefaults()
	if err != nil {
		return nil, err
	}
	client, err := newClient(settings.Host)
	if err != nil {
		return nil, err
	}
	l := &Launcher{settings: settings, client: client, imageRequests: make(chan chan error)}
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
	if _, _, err := s.userIDs(); err != nil {
		return s, err
	}
	switch s.Pull {
	case "":
		s.Pull = PullMissing
	case PullMissing, PullAlways, PullNever:
	default:
		return s, fmt.Errorf("the pull policy is %q; it can be missing, always or never", s.Pull)
	}
	if s.PullWait == 0 {
		s.PullWait = 20 * time.Second
	}
	return s, nil
}

// userIDs returns the numeric user and group.
func (s Settings) userIDs() (uid, gid int, err error) {
	if _, err := fmt.Sscanf(s.User, "%d:%d", &uid, &gid); err != nil || s.User != fmt.Sprintf("%d:%d", uid, gid) || uid <= 0 || gid < 0 {
		return 0, 0, fmt.Errorf("the bots' user is %q; it must be a numeric user and group, as in 10001:10001, and never root", s.User)
	}
	return uid, gid, nil
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
