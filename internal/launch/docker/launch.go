package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"standin/internal/base/retry"
	"standin/internal/launch"
)

// removalPollInterval is the time between two checks whether a container that
// is being removed is gone.
const removalPollInterval = 100 * time.Millisecond

// Launch implements launch.Launcher. If the attempt already has a container,
// that container is used.
func (l *Launcher) Launch(ctx context.Context, a launch.Assignment) error {
	if err := l.ensureImage(ctx); err != nil {
		return err
	}
	key := a.Key()
	createCtx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	created, err := l.client.ContainerCreate(createCtx, l.containerOptions(key))
	id := created.ID
	// A container of the attempt is looked for after any error: engines report a taken name differently, and the answer to
	// an earlier creation may have been lost.
	if err != nil {
		cause := engineError("create the bot's container", err)
		inspectCtx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
		defer cancel()
		inspected, err := l.client.ContainerInspect(inspectCtx, l.Name(key), client.ContainerInspectOptions{})
		found := inspected.Container
		if err != nil || found.Config == nil || found.State == nil {
			return cause
		}
		if owner, ours := l.ParseLabels(found.Config.Labels); !ours || owner != key {
			return fmt.Errorf("a container that is not a bot of this service has the name %s; remove it", l.Name(key))
		}
		switch found.State.Status {
		case container.StateCreated:
			id = found.ID
		case container.StateRemoving:
			return errors.New("the engine is removing an earlier container of this attempt")
		default:
			l.Launching(key)
			l.Update(key, l.containerStatus(inspectCtx, found))
			return nil
		}
	}
	for _, warning := range created.Warnings {
		l.Log.Warn("the Docker engine returned a warning", "job", a.JobID, "attempt", a.Attempt, "warning", warning)
	}
	l.Launching(key)
	archive, err := l.configArchive(a)
	if err != nil { // a container that does not start is removed
		return l.Discard(ctx, key, err)
	}
	startCtx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	_, err = l.client.CopyToContainer(startCtx, id, client.CopyToContainerOptions{DestinationPath: spoolDir, Content: archive})
	if err != nil {
		return l.Discard(ctx, key, engineError("copy the bot's configuration", err))
	}
	if _, err := l.client.ContainerStart(startCtx, id, client.ContainerStartOptions{}); err != nil {
		return l.Discard(ctx, key, engineError("start the bot's container", err))
	}
	l.Update(key, launch.BotStatus{State: launch.Running})
	return nil
}

// engine implements launch.Engine.
type engine struct{ *Launcher }

// Remove implements launch.Engine: the bot leaves its meeting, or is killed
// after LeaveTime, and its container is removed with its volume.
func (e engine) Remove(ctx context.Context, key launch.Key) error {
	ctx, cancel := context.WithTimeout(ctx, e.LeaveTime+launch.CallTimeout)
	defer cancel()
	name, leaveSeconds := e.Name(key), int((e.LeaveTime+time.Second-1)/time.Second)
	_, err := e.client.ContainerStop(ctx, name, client.ContainerStopOptions{Timeout: &leaveSeconds})
	if err != nil && !errdefs.IsNotFound(err) {
		return engineError("stop the bot's container", err)
	}
	_, err = e.client.ContainerRemove(ctx, name, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	switch {
	case err == nil || errdefs.IsNotFound(err):
		return nil
	case errdefs.IsConflict(err): // another call removes it already
		for {
			_, err := e.client.ContainerInspect(ctx, name, client.ContainerInspectOptions{})
			if errdefs.IsNotFound(err) {
				return nil
			}
			if err := retry.Sleep(ctx, removalPollInterval); err != nil {
				return engineError("wait for the removal of the bot's container", err)
			}
		}
	}
	return engineError("remove the bot's container", err)
}
