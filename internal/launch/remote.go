package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/api/resource"

	"standin/internal/jobs/runner"
)

// CallTimeout bounds one call to an engine.
const CallTimeout = 30 * time.Second

// Delays before the connection to an engine is tried again.
const (
	minRetryDelay = 250 * time.Millisecond
	maxRetryDelay = 10 * time.Second
)

// cleanUpInterval is the time between two checks for bots whose attempt is over.
const cleanUpInterval = 10 * time.Minute

// ContainerSettings are what operators choose for bots in containers. Tags describe the flags and
// environment variables of package main. Zero limits are left to the engine.
type ContainerSettings struct {
	Image       string            `env:"IMAGE" help:"Image of the bots, built from deploy/Dockerfile. Required with the launchers docker and kubernetes."`
	Pull        Pull              `env:"PULL" default:"missing" enum:"missing,always,never" help:"When the image is pulled: missing, always (before every launch) or never."`
	CPULimit    resource.Quantity `env:"CPU_LIMIT" name:"cpu-limit" default:"2" help:"CPU limit of a bot, in cores or such as 500m; 0 means no limit."`
	MemoryLimit resource.Quantity `env:"MEMORY_LIMIT" default:"3Gi" help:"Memory limit of a bot, in bytes or such as 3Gi; 0 means no limit."`
	User        string            `env:"USER" default:"10001:10001" placeholder:"UID:GID" help:"Numeric user and group of the bots; root is rejected."`
	Seccomp     string            `env:"SECCOMP" placeholder:"embedded|engine|FILE" help:"Seccomp profile of bots. Docker: embedded (deploy/seccomp.json, which allows Chromium's sandbox), engine (the engine's own, with Chromium's sandbox off), or a file; the default is embedded. Kubernetes: a profile on the nodes, relative to the kubelet's directory, that allows Chromium's sandbox; the default is the runtime's, with Chromium's sandbox off."`
}

// Pull says when the image is pulled.
type Pull string

// The values of Pull.
const (
	PullMissing Pull = "missing" // when the machine does not have it
	PullAlways  Pull = "always"  // before every launch
	PullNever   Pull = "never"
)

// UserIDs returns the numeric user and group.
func (s ContainerSettings) UserIDs() (uid, gid int64, err error) {
	if _, err := fmt.Sscanf(s.User, "%d:%d", &uid, &gid); err != nil || s.User != fmt.Sprintf("%d:%d", uid, gid) || uid <= 0 || gid < 0 {
		return 0, 0, fmt.Errorf("the bots' user is %q; it must be a numeric user and group, as in 10001:10001, and never root", s.User)
	}
	return uid, gid, nil
}

// RemoteSettings configure a Remote and the launcher built on it.
type RemoteSettings struct {
	ContainerSettings

	Instance string   // labels this service's bots
	Command  []string // arguments of the image's entrypoint, before "--config FILE"; "bot" when empty
	Bot      BotSettings

	// IsWanted reports whether an attempt may have a bot; other bots are
	// removed. When it is nil, all may run.
	IsWanted func(ctx context.Context, jobID uuid.UUID, attempt int) (bool, error)
	// OnChange is called when a bot's status changes.
	OnChange func(jobID uuid.UUID, attempt int)
	Log      *slog.Logger

	LeaveTime time.Duration // default DefaultLeaveTime
	Resync    time.Duration // time between two full lists of bots; the default depends on the engine
	Now       func() time.Time
}

// WithDefaults returns the settings with defaults for unset fields.
func (s RemoteSettings) WithDefaults(resync time.Duration) (RemoteSettings, error) {
	if s.Image == "" {
		return s, errors.New("the image of the bots is not set")
	}
	s.Pull, s.User = cmp.Or(s.Pull, PullMissing), cmp.Or(s.User, "10001:10001")
	if _, _, err := s.UserIDs(); err != nil {
		return s, err
	}
	if s.CPULimit.Sign() < 0 || s.MemoryLimit.Sign() < 0 {
		return s, errors.New("the limits of a bot must not be negative")
	}
	if s.Instance == "" {
		return s, errors.New("the instance that the bots belong to is not set")
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
	s.LeaveTime, s.Resync = cmp.Or(s.LeaveTime, DefaultLeaveTime), cmp.Or(s.Resync, resync)
	return s, nil
}

// Name returns the name of a bot's container or pod. Names are unique in an
// engine, so that an attempt never has two bots.
func (s RemoteSettings) Name(key Key) string { return "standin-" + s.Instance + "-" + key.String() }

// Labels that identify a bot's container or pod, and what belongs to it. They hold
// no secrets.
const (
	LabelInstance = "standin.instance"
	LabelJob      = "standin.job"
	LabelAttempt  = "standin.attempt"
)

// Labels returns the labels of a bot.
func (s RemoteSettings) Labels(key Key) map[string]string {
	return map[string]string{LabelInstance: s.Instance, LabelJob: key.JobID.String(), LabelAttempt: strconv.Itoa(key.Attempt)}
}

// ParseLabels is the inverse of Labels; false for what is not of this instance.
func (s RemoteSettings) ParseLabels(labels map[string]string) (Key, bool) {
	key, ok := ParseKey(labels[LabelJob] + "-" + labels[LabelAttempt])
	return key, ok && labels[LabelInstance] == s.Instance
}

// Engine runs the bots of a Remote.
type Engine interface {
	// Follow updates the tracker from a full list of bots and then from events
	// until the connection breaks. After a nil error it is called again at once.
	Follow(ctx context.Context) error
	// Remove ends a bot and waits until it has ended. It returns nil when there
	// is no such bot.
	Remove(ctx context.Context, key Key) error
}

// Remote is the part that all launchers of an engine share: it tracks the bots,
// stops them, and removes those whose attempt is over.
type Remote struct {
	*Tracker
	settings RemoteSettings
	name     string
	engine   Engine

	listed chan []Key
	cancel context.CancelFunc
	tasks  sync.WaitGroup
}

// NewRemote returns a Remote for the engine with the given name in log
// messages. Start starts it.
func NewRemote(name string, engine Engine, settings RemoteSettings) *Remote {
	return &Remote{
		Tracker: NewTracker(settings.OnChange, settings.Now), settings: settings, name: name, engine: engine,
		listed: make(chan []Key, 1),
	}
}

// Start runs the watcher, the clean-up and further tasks until Close.
func (r *Remote) Start(tasks ...func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	for _, task := range append(tasks, r.watch, r.cleanUp) {
		r.tasks.Go(func() { task(ctx) })
	}
}

// Close stops watching. The bots keep running.
func (r *Remote) Close() {
	r.cancel()
	r.tasks.Wait()
}

// Stop implements Launcher.Stop.
func (r *Remote) Stop(ctx context.Context, jobID uuid.UUID, attempt int) error {
	key := Key{jobID, attempt}
	if err := r.engine.Remove(ctx, key); err != nil {
		return err
	}
	if r.State(jobID, attempt) != NotStarted {
		r.Update(key, BotStatus{State: Gone, Reason: "it was stopped by Standin"})
	}
	return nil
}

// Discard removes a bot that could not be launched, and returns the cause. When
// the removal fails, the next Launch or Stop of the attempt finds the bot by its
// name.
func (r *Remote) Discard(ctx context.Context, key Key, cause error) error {
	defer r.LaunchFailed(key)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.settings.LeaveTime+2*CallTimeout)
	defer cancel()
	return errors.Join(cause, r.engine.Remove(ctx, key))
}

// Listed updates the tracker with a full list of bots that was requested at
// version, including those that never started.
func (r *Remote) Listed(all map[Key]BotStatus, version uint64) {
	r.UpdateAll(all, version)
	select {
	case r.listed <- slices.Collect(maps.Keys(all)):
	default: // the clean-up is busy with an earlier list
	}
}

// watch follows the engine until ctx ends.
func (r *Remote) watch(ctx context.Context) {
	task := runner.Task{Name: "watch " + r.name, Run: func(ctx context.Context) error {
		began := r.settings.Now()
		err := r.engine.Follow(ctx)
		if err == nil || ctx.Err() != nil {
			return nil //nolint:nilerr // it was stopped
		}
		r.Disconnected(fmt.Sprintf("its state is unknown since %s: %s", r.settings.Now().UTC().Format(time.RFC3339), Shorten(err.Error())))
		if r.settings.Now().Sub(began) > maxRetryDelay { // the connection had been good: a new one is tried at once
			r.settings.Log.Warn("cannot watch "+r.name, "error", err)
			return nil
		}
		return err
	}}
	watching := runner.Periodic(1, time.Now, r.settings.Log, func(context.Context) ([]runner.Task, error) { return []runner.Task{task}, nil })
	watching.MinPause, watching.MaxPause = minRetryDelay, maxRetryDelay
	watching.Work(ctx)
}

// cleanUp removes bots whose attempt is over: after the database was restored
// from a backup, after a job was deleted, or when a service ended between
// saving a job and stopping its bot.
func (r *Remote) cleanUp(ctx context.Context) {
	var last time.Time
	for {
		select {
		case keys := <-r.listed:
			if r.settings.IsWanted == nil || r.settings.Now().Sub(last) < cleanUpInterval {
				continue
			}
			last = r.settings.Now()
			for _, key := range keys {
				log := r.settings.Log.With("job", key.JobID, "attempt", key.Attempt)
				wanted, err := r.settings.IsWanted(ctx, key.JobID, key.Attempt)
				if err == nil && !wanted {
					if err = r.engine.Remove(ctx, key); err == nil {
						log.Info("removed the bot of an attempt that is over")
					}
				}
				if err != nil && ctx.Err() == nil {
					log.Warn("cannot check whether an attempt is over, or remove its bot", "error", err)
				}
			}
		case <-ctx.Done():
			return
		}
	}
}
