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

	"standin/internal/launch"
)

// listed is a container of this instance's, as the engine lists it.
type listed struct {
	key   launch.Key
	id    string
	ended bool
}

// watch follows the engine until ctx ends.
func (l *Launcher) watch(ctx context.Context) {
	l.watched.Watch(ctx, launch.Following{
		Engine: "the Docker engine", Now: l.settings.Now, Log: l.settings.Log,
		Follow: l.follow,
	})
}

// follow takes in what there is, and then what happens, until that breaks off.
// The events are asked for first, so that nothing falls between the two; what
// there is, is asked for again and again, because a broken connection looks
// like one on which nothing happens.
func (l *Launcher) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	happening := l.engine.Events(ctx, client.EventsListOptions{
		Filters: client.Filters{}.Add("type", string(events.ContainerEventType)).Add("label", labelInstance+"="+l.settings.Instance),
	})
	if err := l.list(ctx); err != nil {
		return err
	}
	resync := time.NewTicker(l.settings.Resync)
	defer resync.Stop()
	for {
		select {
		case event := <-happening.Messages:
			l.take(ctx, event)
		case err := <-happening.Err:
			if err == nil || errors.Is(err, io.EOF) {
				err = errors.New("the engine ended the stream of its events")
			}
			return away("follow the engine's events", err)
		case <-resync.C:
			if err := l.list(ctx); err != nil {
				return err
			}
		}
	}
}

// list takes in all that the engine has of this instance.
func (l *Launcher) list(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	mark := l.watched.Version()
	found, err := l.engine.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: client.Filters{}.Add("label", labelInstance+"="+l.settings.Instance),
	})
	if err != nil {
		return away("list the bots' containers", err)
	}
	all := make(map[launch.Key]launch.BotStatus)
	var containers []listed
	for _, summary := range found.Items {
		key, ours := l.keyOf(summary.Labels)
		if !ours {
			continue
		}
		sight := launch.BotStatus{State: stateOf(summary.State)}
		if sight.State == launch.NotStarted {
			containers = append(containers, listed{key, summary.ID, true})
			continue
		}
		if sight.State == launch.Gone && l.watched.State(key.JobID, key.Attempt) != launch.Gone {
			sight = l.look(ctx, summary.ID, sight)
		}
		all[key] = sight
		containers = append(containers, listed{key, summary.ID, sight.State == launch.Gone})
	}
	if err := ctx.Err(); err != nil {
		return away("look at the bots' containers", err)
	}
	l.watched.UpdateAll(all, mark)
	select {
	case l.listed <- containers:
	default: // the reaper is busy with what was there before
	}
	return nil
}

// stateOf is what a container's state says of its bot. One that was made and
// not started will not start by itself.
func stateOf(state container.ContainerState) launch.State {
	switch state {
	case container.StateCreated:
		return launch.NotStarted
	case container.StateExited, container.StateDead, container.StateRemoving, "stopped": // Podman's word
		return launch.Gone
	}
	return launch.Running
}

// take takes in an event.
func (l *Launcher) take(ctx context.Context, event events.Message) {
	key, ours := l.keyOf(event.Actor.Attributes)
	if !ours {
		return
	}
	switch event.Action {
	case events.ActionStart:
		l.watched.Update(key, launch.BotStatus{State: launch.Running})
	case events.ActionDie:
		code := -1
		if told, err := strconv.Atoi(event.Actor.Attributes["exitCode"]); err == nil {
			code = told
		}
		// What is known if it is removed before it can be looked at.
		known := launch.BotStatus{State: launch.Gone, Reason: exitWords(code)}
		sight := l.look(ctx, event.Actor.ID, known)
		l.settings.Log.Info("bot exited", "job", key.JobID, "attempt", key.Attempt, "why", sight.Reason)
		l.watched.Update(key, sight)
	}
}

// look asks what became of a container; what was known before is what counts
// when the engine does not say.
func (l *Launcher) look(ctx context.Context, id string, known launch.BotStatus) launch.BotStatus {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	found, err := l.engine.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil || found.Container.State == nil {
		return known
	}
	if sight := l.sightOf(ctx, found.Container); sight.State == launch.Gone {
		return sight
	}
	return known
}

// sightOf is what a container shows of its bot, with the end of its log if it
// ended badly.
func (l *Launcher) sightOf(ctx context.Context, is container.InspectResponse) launch.BotStatus {
	sight := launch.BotStatus{State: stateOf(is.State.Status)}
	if sight.State != launch.Gone {
		return sight
	}
	sight.Reason = exitWords(is.State.ExitCode)
	switch {
	case is.State.OOMKilled:
		sight.Reason = "it ran out of memory and was killed"
		if is.HostConfig != nil && is.HostConfig.Memory > 0 {
			sight.Reason += fmt.Sprintf("; its container may have %d MB", is.HostConfig.Memory>>20)
		}
	case is.State.Error != "":
		sight.Reason += "; the Docker engine says: " + launch.Shorten(is.State.Error)
	}
	if is.State.ExitCode == 0 && !is.State.OOMKilled {
		return sight
	}
	if log := l.tail(ctx, is.ID); log != "" {
		sight.Reason += "; its log ends: " + log
	}
	return sight
}

// exitWords words an exit code.
func exitWords(code int) string {
	switch code {
	case -1:
		return "its container ended"
	case 128 + 9:
		return "its container was killed (exit code 137), as happens when a machine runs out of memory"
	case 128 + 15:
		return "its container was told to end (exit code 143)"
	}
	return fmt.Sprintf("its container ended with exit code %d", code)
}

// tail is the end of a container's log; empty when there is none to be had.
func (l *Launcher) tail(ctx context.Context, id string) string {
	log, err := l.engine.ContainerLogs(ctx, id, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Tail: "10"})
	if err != nil {
		return ""
	}
	defer log.Close()
	var text bytes.Buffer
	// A log that breaks off is shown as far as it came.
	_, _ = stdcopy.StdCopy(&text, &text, io.LimitReader(log, launch.MaxLogTail))
	return launch.LogTail(text.Bytes())
}

// reapEvery is how often it is asked whether bots are wanted.
const reapEvery = 10 * time.Minute

// reap ends containers whose attempts are over: those of a database that was
// put back, of a job that was deleted, of a service that ended between its
// last two steps.
func (l *Launcher) reap(ctx context.Context) {
	var last time.Time
	for {
		select {
		case containers := <-l.listed:
			if l.settings.IsWanted == nil || l.settings.Now().Sub(last) < reapEvery {
				continue
			}
			last = l.settings.Now()
			for _, c := range containers {
				l.reapOne(ctx, c)
			}
		case <-ctx.Done():
			return
		}
	}
}

// reapOne ends a container if its attempt is over.
func (l *Launcher) reapOne(ctx context.Context, c listed) {
	log := l.settings.Log.With("job", c.key.JobID, "attempt", c.key.Attempt)
	wanted, err := l.settings.IsWanted(ctx, c.key.JobID, c.key.Attempt)
	if err == nil && !wanted {
		if err = l.end(ctx, c.id); err == nil {
			log.Info("removed the container of an attempt that is over", "ran", !c.ended)
		}
	}
	if err != nil && ctx.Err() == nil {
		log.Warn("cannot see to a container that may be of an attempt that is over", "error", err)
	}
}
