// Package kubernetes runs bots in a Kubernetes cluster, one Job with one pod
// for each attempt. It knows nothing of jobs but what a bot must be told.
//
// A Job's name is made of the instance, the job and the attempt, so that the
// cluster itself refuses a second one for an attempt. A Job is made suspended,
// the Secret with the bot's task is made as its property, and then it is let
// go: whatever breaks off between is taken up by the next launch, and nothing
// is ever left without an owner. What becomes of pods is watched; nobody asks
// the cluster for a bot's state.
package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"

	"standin/internal/launch"
)

// callTime bounds one call to the cluster, and not what it waits for.
const callTime = 30 * time.Second

// Settings are what a Launcher is made of.
type Settings struct {
	Cluster   *rest.Config
	Namespace string
	Instance  string // labels this service's bots, so that it takes up no other's
	Image     string
	Pull      corev1.PullPolicy // the cluster's default when empty
	Command   []string          // to the image's entrypoint; "bot" when empty
	Resources Resources
	User      int64                   // never root
	Group     int64                   // the user's, and the volumes'
	Seccomp   string                  // a profile of the nodes, by its path; the runtime's default when empty
	Template  *corev1.PodTemplateSpec // what pods are made from; nil for nothing more than a bot needs

	Bot  launch.BotSettings // its folders are the container's
	More []string           // variables that bots are told beside it
	// Wanted reports whether an attempt may have a bot. Those of others are
	// ended. Nothing is, when it is nil.
	IsWanted func(ctx context.Context, jobID uuid.UUID, attempt int) (bool, error)
	OnChange func(jobID uuid.UUID, attempt int) // a bot is not as it was
	Log      *slog.Logger

	LeaveTime time.Duration // launch.DefaultLeaveTime when 0
	LostAfter time.Duration // how long a node may take, beyond that, to say that a pod has ended; a minute when 0
	KeepEnded time.Duration // how long the cluster keeps a Job that has ended; an hour when 0
	Resync    time.Duration // how often the cluster is asked for all that it has; a minute when 0
	Now       func() time.Time
}

// Resources are those of one bot. Those that are zero are left to the
// cluster.
type Resources struct {
	CPURequest, CPULimit       resource.Quantity
	MemoryRequest, MemoryLimit resource.Quantity
	Shm                        resource.Quantity // /dev/shm, in which Chromium keeps what it draws; part of the memory
	Tmp                        resource.Quantity // /tmp
	Spool                      resource.Quantity // what has yet to be handed in
}

// Launcher starts bots as Jobs.
type Launcher struct {
	settings Settings
	cluster  cluster
	watched  *launch.Tracker
	listed   chan []launch.Key // for the reaper

	stop  context.CancelFunc
	parts sync.WaitGroup
}

// New returns a launcher, which watches the cluster from now on and takes up
// the bots that it finds there. A cluster that is away is no error: it is
// looked for until Close.
func New(settings Settings) (*Launcher, error) {
	settings, err := settings.complete()
	if err != nil {
		return nil, err
	}
	cluster, err := connect(settings.Cluster, settings.Namespace)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &Launcher{
		settings: settings, cluster: cluster, stop: stop, listed: make(chan []launch.Key, 1),
		watched: launch.NewTracker(settings.OnChange, settings.Now),
	}
	l.parts.Go(func() { l.watch(ctx) })
	l.parts.Go(func() { l.reap(ctx) })
	return l, nil
}

// complete fills in what was left out, and finds what cannot be.
func (s Settings) complete() (Settings, error) {
	switch {
	case s.Image == "":
		return s, errors.New("the bots' pods need an image")
	case s.Namespace == "":
		return s, errors.New("the bots' pods need a namespace")
	case s.Instance == "":
		return s, errors.New("the bots' pods need the instance that they belong to")
	case s.User <= 0 || s.Group <= 0:
		return s, errors.New("bots never run as root: they need the number of a user and of a group")
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
		{&s.LeaveTime, launch.DefaultLeaveTime}, {&s.LostAfter, time.Minute},
		{&s.KeepEnded, time.Hour}, {&s.Resync, time.Minute},
	} {
		if *left.given == 0 {
			*left.given = left.usual
		}
	}
	return s, nil
}

// Close stops watching bots; they run on.
func (l *Launcher) Close() {
	l.stop()
	l.parts.Wait()
}

// State implements launch.Launcher.
func (l *Launcher) State(jobID uuid.UUID, attempt int) launch.State {
	return l.watched.State(jobID, attempt)
}

// Reason implements launch.Launcher.
func (l *Launcher) Reason(jobID uuid.UUID, attempt int) string {
	return l.watched.Reason(jobID, attempt)
}

// away words an error of a call to the cluster.
func away(doing string, err error) error {
	status := apierrors.APIStatus(nil)
	if errors.As(err, &status) {
		return fmt.Errorf("%s: Kubernetes says: %w", doing, brief{err})
	}
	return fmt.Errorf("%s: Kubernetes does not answer: %w", doing, brief{err})
}

// brief is an error of the cluster's for people: bounded, and in one line.
type brief struct{ error }

func (b brief) Error() string { return launch.Shorten(b.error.Error()) }
func (b brief) Unwrap() error { return b.error }
