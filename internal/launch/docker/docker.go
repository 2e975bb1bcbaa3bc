// Package docker runs bots as containers of a Docker engine (or of one that
// speaks its API), one container for each attempt. It knows nothing of jobs
// but what a bot must be told.
//
// A container's name is made of the instance, the job and the attempt, so that
// the engine itself refuses a second one for an attempt. What the containers
// do is watched by the engine's events; nobody asks the engine for a bot's
// state. Ended containers stay until their attempt is stopped, so that what
// became of them can be read after a restart too.
package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/distribution/reference"
	"github.com/google/uuid"
	"github.com/moby/moby/client"

	"standin/internal/launch"
)

// Bounds of calls to the engine.
const (
	callTime = 30 * time.Second // one call, and not what it waits for
	pullTime = 30 * time.Minute // an image, however large it is
)

// Pull says when an image is pulled.
type Pull string

// The ways to pull.
const (
	PullMissing Pull = "missing" // when the engine does not have it
	PullAlways  Pull = "always"  // before every launch
	PullNever   Pull = "never"
)

// Settings are what a Launcher is made of.
type Settings struct {
	Host     string // of the engine, as in unix:///var/run/docker.sock; from the environment when empty
	Instance string // labels this service's bots, so that it takes up no other's
	Image    string
	Pull     Pull
	Registry Registry
	Command  []string // to the image's entrypoint; "bot" when empty
	Network  string   // the engine's default when empty
	Hosts    []string // further names, as in host.docker.internal:host-gateway
	Limits   Limits
	User     string // uid:gid in numbers
	Seccomp  string // a profile, as JSON; the engine's when empty
	Volume   string // named, for what bots have yet to hand in; each has one of its own when empty

	Bot  launch.BotSettings // its folders are the engine's machine's
	More []string           // variables that bots are told beside it
	// Wanted reports whether an attempt may have a bot. Those of others are
	// ended. Nothing is, when it is nil.
	IsWanted func(ctx context.Context, jobID uuid.UUID, attempt int) (bool, error)
	OnChange func(jobID uuid.UUID, attempt int) // a bot is not as it was
	Log      *slog.Logger

	LeaveTime time.Duration // launch.DefaultLeaveTime when 0
	PullWait  time.Duration // how long a launch waits for an image; 20 s when 0
	Resync    time.Duration // how often the engine is asked for all that it has; 30 s when 0
	Now       func() time.Time
}

// Limits are those of one bot's container. Those that are 0 are the engine's.
type Limits struct {
	CPUs        float64
	MemoryBytes int64 // swap included: there is none
	Processes   int64
	ShmBytes    int64 // of /dev/shm, in which Chromium keeps what it draws
	TmpBytes    int64 // of /tmp
}

// Registry is who pulls images; nobody in particular when it is empty.
type Registry struct{ User, Password string }

// Launcher starts bots as containers.
type Launcher struct {
	settings Settings
	engine   *client.Client
	watched  *launch.Tracker
	asked    chan chan error // for the image; see image.go
	progress progress
	listed   chan []listed // for the reaper

	stop  context.CancelFunc
	parts sync.WaitGroup
}

// New returns a launcher, which watches the engine from now on and takes up
// the bots that it finds there. An engine that is away is no error: it is
// looked for until Close.
func New(settings Settings) (*Launcher, error) {
	settings, err := settings.complete()
	if err != nil {
		return nil, err
	}
	engine, err := connect(settings.Host)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &Launcher{
		settings: settings, engine: engine, stop: stop,
		asked: make(chan chan error), listed: make(chan []listed, 1),
		watched: launch.NewTracker(settings.OnChange, settings.Now),
	}
	l.parts.Go(func() { l.watch(ctx) })
	l.parts.Go(func() { l.reap(ctx) })
	l.parts.Go(func() { l.fetch(ctx) })
	return l, nil
}

// complete fills in what was left out, and finds what cannot be.
func (s Settings) complete() (Settings, error) {
	if _, err := reference.ParseNormalizedNamed(s.Image); err != nil {
		return s, fmt.Errorf("the bots' image %q: %w", s.Image, err)
	}
	if _, _, err := s.ids(); err != nil {
		return s, err
	}
	switch s.Pull {
	case "":
		s.Pull = PullMissing
	case PullMissing, PullAlways, PullNever:
	default:
		return s, fmt.Errorf("images cannot be pulled %q", s.Pull)
	}
	if s.Instance == "" {
		return s, errors.New("the bots' containers need the instance that they belong to")
	}
	if len(s.Command) == 0 {
		s.Command = []string{"bot"}
	}
	if s.OnChange == nil {
		s.OnChange = func(uuid.UUID, int) {}
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	for _, left := range []struct {
		given *time.Duration
		usual time.Duration
	}{
		{&s.LeaveTime, launch.DefaultLeaveTime}, {&s.PullWait, 20 * time.Second}, {&s.Resync, 30 * time.Second},
	} {
		if *left.given == 0 {
			*left.given = left.usual
		}
	}
	return s, nil
}

// ids are the user's and group's numbers.
func (s Settings) ids() (uid, gid int, err error) {
	if _, err := fmt.Sscanf(s.User, "%d:%d", &uid, &gid); err != nil || s.User != fmt.Sprintf("%d:%d", uid, gid) || uid <= 0 || gid < 0 {
		return 0, 0, fmt.Errorf("bots run as a user and a group in numbers, as in 10001:10001, and never as root; not as %q", s.User)
	}
	return uid, gid, nil
}

// Close stops watching bots; they run on.
func (l *Launcher) Close() {
	l.stop()
	l.parts.Wait()
	_ = l.engine.Close() // idle connections only
}

// State implements launch.Launcher.
func (l *Launcher) State(jobID uuid.UUID, attempt int) launch.State {
	return l.watched.State(jobID, attempt)
}

// Reason implements launch.Launcher.
func (l *Launcher) Reason(jobID uuid.UUID, attempt int) string {
	return l.watched.Reason(jobID, attempt)
}

// away words an error of a call to the engine.
func away(doing string, err error) error {
	if client.IsErrConnectionFailed(err) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: the Docker engine does not answer: %w", doing, err)
	}
	return fmt.Errorf("%s: the Docker engine says: %w", doing, brief{err})
}

// brief is an engine's error for people: bounded, and without the lead that
// the client puts before every one of them.
type brief struct{ error }

func (b brief) Error() string {
	return launch.Shorten(strings.TrimPrefix(b.error.Error(), "Error response from daemon: "))
}
func (b brief) Unwrap() error { return b.error }
