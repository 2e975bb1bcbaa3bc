package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"

	"standin/internal/launch"
)

// maxInspections is how many containers are inspected at a time.
const maxInspections = 10

// Follow implements launch.Engine. It subscribes to events before it lists the
// containers, so that no change is missed between the two. The list is repeated
// because a broken connection cannot be told from one without events.
func (e engine) Follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := e.client.Events(ctx, client.EventsListOptions{
		Filters: client.Filters{}.Add("type", string(events.ContainerEventType)).Add("label", launch.LabelInstance+"="+e.Instance),
	})
	if err := e.list(ctx); err != nil {
		return err
	}
	resync := time.NewTicker(e.Resync)
	defer resync.Stop()
	for {
		select {
		case event := <-stream.Messages:
			key, ours := e.ParseLabels(event.Actor.Attributes)
			switch {
			case !ours:
			case event.Action == events.ActionStart:
				e.Update(key, launch.BotStatus{State: launch.Running})
			case event.Action == events.ActionDie:
				code, err := strconv.Atoi(event.Actor.Attributes["exitCode"])
				if err != nil {
					code = -1
				}
				status := e.inspectExit(ctx, event.Actor.ID, launch.BotStatus{State: launch.Gone, Reason: describeExit(code)})
				e.Log.Info("bot exited", "job", key.JobID, "attempt", key.Attempt, "reason", status.Reason)
				e.Update(key, status)
			}
		case err := <-stream.Err:
			if err == nil || errors.Is(err, io.EOF) {
				err = errors.New("the engine ended the event stream")
			}
			return engineError("follow the engine's events", err)
		case <-resync.C:
			if err := e.list(ctx); err != nil {
				return err
			}
		}
	}
}

// list updates the tracker with all containers of this instance. The ended ones are
// inspected in parallel, and each result is kept, also if the list cannot be finished.
func (l *Launcher) list(ctx context.Context) error {
	version := l.Version()
	listing, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	found, err := l.client.ContainerList(listing, client.ContainerListOptions{
		All: true, Filters: client.Filters{}.Add("label", launch.LabelInstance+"="+l.Instance),
	})
	if err != nil {
		return engineError("list the bots' containers", err)
	}
	all := make(map[launch.Key]launch.BotStatus)
	var inspecting errgroup.Group
	inspecting.SetLimit(maxInspections)
	for _, summary := range found.Items {
		key, ours := l.ParseLabels(summary.Labels)
		if !ours {
			continue
		}
		status := launch.BotStatus{State: botState(summary.State)}
		all[key] = status
		if status.State == launch.Gone && l.State(key.JobID, key.Attempt) != launch.Gone {
			inspecting.Go(func() error {
				status := l.inspectExit(ctx, summary.ID, launch.BotStatus{State: launch.Gone, Reason: describeExit(-1)})
				if ctx.Err() == nil {
					l.Update(key, status)
				}
				return ctx.Err()
			})
		}
	}
	if err := inspecting.Wait(); err != nil {
		return engineError("inspect the bots' containers", err)
	}
	l.Listed(all, version)
	return nil
}

// botState returns the state of a bot from that of its container.
func botState(state container.ContainerState) launch.State {
	switch state {
	case container.StateCreated:
		return launch.NotStarted
	case container.StateExited, container.StateDead, container.StateRemoving, "stopped": // the last one is Podman's
		return launch.Gone
	}
	return launch.Running
}

// inspectExit returns the status of an ended container, or fallback when the
// container cannot be inspected any more.
func (l *Launcher) inspectExit(ctx context.Context, id string, fallback launch.BotStatus) launch.BotStatus {
	ctx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	inspected, err := l.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil || inspected.Container.State == nil {
		return fallback
	}
	if status := l.containerStatus(ctx, inspected.Container); status.State == launch.Gone {
		return status
	}
	return fallback
}

// containerStatus returns the status of a container's bot. The reason of a
// failed bot includes the end of its log.
func (l *Launcher) containerStatus(ctx context.Context, found container.InspectResponse) launch.BotStatus {
	status := launch.BotStatus{State: botState(found.State.Status)}
	if status.State != launch.Gone {
		return status
	}
	status.Reason = describeExit(found.State.ExitCode)
	switch {
	case found.State.OOMKilled:
		status.Reason = "it ran out of memory and was killed"
		if found.HostConfig != nil && found.HostConfig.Memory > 0 {
			status.Reason += fmt.Sprintf("; its container may use %d MB", found.HostConfig.Memory>>20)
		}
	case found.State.Error != "":
		status.Reason += "; the Docker engine says: " + launch.Shorten(found.State.Error)
	}
	if found.State.ExitCode == 0 && !found.State.OOMKilled {
		return status
	}
	log, err := l.client.ContainerLogs(ctx, found.ID, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Tail: "10"})
	if err != nil {
		return status
	}
	defer log.Close()
	var text bytes.Buffer
	_, _ = stdcopy.StdCopy(&text, &text, io.LimitReader(log, launch.MaxLogTail)) // a truncated log is still useful
	if tail := launch.LogTail(text.Bytes()); tail != "" {
		status.Reason += "; its log ends: " + tail
	}
	return status
}

// describeExit describes an exit code; -1 stands for an unknown one.
func describeExit(code int) string {
	switch code {
	case -1:
		return "its container ended"
	case 128 + 9:
		return "its container was killed (exit code 137), as happens when a machine runs out of memory"
	case 128 + 15:
		return "its container was terminated (exit code 143)"
	}
	return fmt.Sprintf("its container ended with exit code %d", code)
}
