package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/uuid"
	"github.com/moby/moby/api/types/volume"
	"github.com/moby/moby/client"

	"standin/internal/launch"
)

// Spools returns the jobs of which the engine has spools: named volumes, and anonymous
// ones whose container was removed without them. The time is that of a job's newest
// spool.
func (l *Launcher) Spools(ctx context.Context) (map[uuid.UUID]time.Time, error) {
	found, err := l.volumes(ctx)
	if err != nil {
		return nil, err
	}
	jobs := make(map[uuid.UUID]time.Time)
	for _, one := range found {
		key, ours := l.ParseLabels(one.Labels)
		if !ours {
			continue
		}
		created, err := time.Parse(time.RFC3339, one.CreatedAt)
		if err != nil {
			return nil, fmt.Errorf("read when the volume %s was created: %w", one.Name, err)
		}
		if created.After(jobs[key.JobID]) {
			jobs[key.JobID] = created
		}
	}
	return jobs, nil
}

// RemoveSpools removes the spools of a job's bots, except those that a container uses.
// It may be repeated.
func (l *Launcher) RemoveSpools(ctx context.Context, jobID uuid.UUID) error {
	found, err := l.volumes(ctx, launch.LabelJob+"="+jobID.String())
	if err != nil {
		return err
	}
	for _, one := range found {
		if _, ours := l.ParseLabels(one.Labels); ours {
			err = errors.Join(err, l.removeVolume(ctx, one.Name))
		}
	}
	return err
}

func (l *Launcher) removeVolume(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	_, err := l.client.VolumeRemove(ctx, name, client.VolumeRemoveOptions{})
	if err == nil || errdefs.IsNotFound(err) || errdefs.IsConflict(err) { // a conflict: it is in use
		return nil
	}
	return engineError("remove the volume "+name, err)
}

// volumes returns the volumes of this instance's bots that have more labels.
func (l *Launcher) volumes(ctx context.Context, labels ...string) ([]volume.Volume, error) {
	ctx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	filters := client.Filters{}.Add("label", append(labels, launch.LabelInstance+"="+l.Instance)...)
	found, err := l.client.VolumeList(ctx, client.VolumeListOptions{Filters: filters})
	if err != nil {
		return nil, engineError("list the spools of bots", err)
	}
	return found.Items, nil
}
