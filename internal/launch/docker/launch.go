package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/uuid"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"standin/internal/launch"
)

// Launch implements launch.Launcher. An attempt that has its container already
// is not given another: the one that is there is taken up.
func (l *Launcher) Launch(ctx context.Context, a launch.Assignment) error {
	if err := l.needImage(ctx); err != nil {
		return err
	}
	key := launch.Key{JobID: a.JobID, Attempt: a.Attempt}
	creating, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	created, err := l.engine.ContainerCreate(creating, l.container(key))
	if err != nil {
		return l.adopt(ctx, a, away("make the bot's container", err))
	}
	for _, warning := range created.Warnings {
		l.settings.Log.Warn("the Docker engine warns", "job", a.JobID, "attempt", a.Attempt, "warning", warning)
	}
	return l.start(ctx, created.ID, a)
}

// adopt takes up the container that an attempt has already, when none could be
// made. Engines do not agree on how they say that a name is taken, and one may
// have made the container and not been heard; so it is looked for whatever the
// error was.
func (l *Launcher) adopt(ctx context.Context, a launch.Assignment, failure error) error {
	key := launch.Key{JobID: a.JobID, Attempt: a.Attempt}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	found, err := l.engine.ContainerInspect(ctx, l.name(key), client.ContainerInspectOptions{})
	if err != nil {
		return failure
	}
	is := found.Container
	if is.Config == nil || is.State == nil || !covers(is.Config.Labels, l.labels(key)) {
		return fmt.Errorf("a container has the name %s and is none of this service's bots; remove it", l.name(key))
	}
	switch is.State.Status {
	case container.StateCreated:
		return l.start(ctx, is.ID, a)
	case container.StateRemoving:
		return errors.New("the engine is removing a container of this attempt")
	}
	l.watched.Launching(key)
	l.watched.Update(key, l.sightOf(ctx, is))
	return nil
}

// covers reports whether labels hold all that is wanted.
func covers(labels, wanted map[string]string) bool {
	held := maps.Clone(labels)
	maps.DeleteFunc(held, func(name, _ string) bool { _, ok := wanted[name]; return !ok })
	return maps.Equal(held, wanted)
}

// start tells a bot its task and starts it. A container that does not start is
// removed.
func (l *Launcher) start(ctx context.Context, id string, a launch.Assignment) error {
	key := launch.Key{JobID: a.JobID, Attempt: a.Attempt}
	l.watched.Launching(key)
	task, err := l.archive(a)
	if err != nil {
		return l.discard(ctx, key, id, err)
	}
	starting, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, err = l.engine.CopyToContainer(starting, id, client.CopyToContainerOptions{DestinationPath: spoolDir, Content: task})
	if err != nil {
		return l.discard(ctx, key, id, away("tell the bot its task", err))
	}
	if _, err := l.engine.ContainerStart(starting, id, client.ContainerStartOptions{}); err != nil {
		return l.discard(ctx, key, id, away("start the bot's container", err))
	}
	l.watched.Update(key, launch.BotStatus{State: launch.Running})
	return nil
}

// discard removes a container that was not to be, and returns why it was not.
// Where the engine does not do it, the next launch or stop finds the container
// by its name.
func (l *Launcher) discard(ctx context.Context, key launch.Key, id string, why error) error {
	defer l.watched.LaunchFailed(key)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	if err := l.remove(ctx, id); err != nil {
		return errors.Join(why, err)
	}
	return why
}

// Stop implements launch.Launcher: the bot is asked to leave its meeting and
// killed if it has not in time, and its container is removed with all that is
// in it.
func (l *Launcher) Stop(ctx context.Context, jobID uuid.UUID, attempt int) error {
	key := launch.Key{JobID: jobID, Attempt: attempt}
	if err := l.end(ctx, l.name(key)); err != nil {
		return err
	}
	if l.watched.State(jobID, attempt) != launch.NotStarted {
		l.watched.Update(key, launch.BotStatus{State: launch.Gone, Reason: "it was ended by Standin"})
	}
	return nil
}

// end stops a container and removes it. That there is none is as good.
func (l *Launcher) end(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, l.settings.LeaveTime+callTime)
	defer cancel()
	leave := int((l.settings.LeaveTime + time.Second - 1) / time.Second)
	_, err := l.engine.ContainerStop(ctx, id, client.ContainerStopOptions{Timeout: &leave})
	if err != nil && !errdefs.IsNotFound(err) {
		return away("stop the bot's container", err)
	}
	return l.remove(ctx, id)
}

// remove removes a container with its volume, and ends it if it runs.
func (l *Launcher) remove(ctx context.Context, id string) error {
	_, err := l.engine.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	switch {
	case err == nil || errdefs.IsNotFound(err):
		return nil
	case errdefs.IsConflict(err):
		return l.removed(ctx, id) // somebody removes it already
	}
	return away("remove the bot's container", err)
}

// removed waits until a container that is being removed is no more.
func (l *Launcher) removed(ctx context.Context, id string) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		_, err := l.engine.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
		if errdefs.IsNotFound(err) {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return away("wait until the bot's container is removed", ctx.Err())
		}
	}
}
